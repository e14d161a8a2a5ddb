package main

import (
	"errors"
	"io/fs"

	sdk "crossbridge.dev/sdk/go"
)

func plugin() *sdk.Plugin {
	return &sdk.Plugin{
		Name: "__NAME__.example.org", Version: "0.1.0", Settings: sdk.TypeOf[settings](),
		Kinds: []sdk.Served{sdk.Serve(kind, __KIND__{})}, MapError: failure,
	}
}

// failure is the one place for the upstream's errors.
func failure(err error) *sdk.Failure {
	switch {
	case errors.Is(err, fs.ErrExist):
		return sdk.AlreadyExists("", "the file exists already")
	case errors.Is(err, fs.ErrNotExist):
		return sdk.NotFound("the file does not exist")
	default:
		return nil
	}
}

func main() { sdk.Main(plugin()) }
