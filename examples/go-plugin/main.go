// Command press is a Crossbridge plugin: the pages and books of a printing press, which is a folder of files.
package main

import (
	"context"

	crossbridge "crossbridge.dev/sdk/go"

	"example.org/press/internal/kinds"
	"example.org/press/internal/press"
)

const version = "0.1.0"

func plugin() *crossbridge.Plugin {
	return &crossbridge.Plugin{
		Name:     kinds.Group,
		Version:  version,
		Kinds:    []crossbridge.Served{kinds.ServePages(), kinds.ServeBooks()},
		Settings: crossbridge.TypeOf[press.Settings](),
		MapError: press.MapError,
		CheckConfig: func(_ context.Context, request *crossbridge.ConfigRequest) (string, error) {
			opened, err := press.Open(request.Config)
			return opened.Identity(), err
		},
	}
}

func main() { crossbridge.Main(plugin()) }
