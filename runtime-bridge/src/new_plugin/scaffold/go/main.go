package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	sdk "crossbridge.dev/sdk/go"
)

func plugin() *sdk.Plugin {
	return &sdk.Plugin{
		Name: "__NAME__.example.org", Version: "0.1.0", Settings: sdk.TypeOf[settings](),
		Kinds: []sdk.Served{sdk.Serve(kind, __KIND__{})}, CheckConfig: checkConfig, MapError: failure,
	}
}

// checkConfig rejects what each call would reject. It reports no identity: a folder has none.
func checkConfig(_ context.Context, request *sdk.ConfigRequest) (string, error) {
	_, err := folder(request.Config)
	return "", err
}

func folder(config sdk.Config) (string, error) {
	settings, err := sdk.Settings[settings](config)
	if entry, gone := os.Stat(settings.Folder); err == nil && (gone != nil || !entry.IsDir()) {
		err = sdk.InvalidConfig("the folder does not exist")
	}
	return settings.Folder, err
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
