// Command press is a Crossbridge plugin: the pages and books of a printing press, which is a folder of files.
package main

//go:generate go run ./internal/generate

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"example.org/press/internal/kinds"
	"example.org/press/internal/serve"
	"example.org/press/internal/service"
)

const version = "0.1.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	endpoint := os.Getenv("PROVIDER_PLUGIN_ENDPOINT")
	if endpoint == "" {
		slog.Error("set PROVIDER_PLUGIN_ENDPOINT to where the bridge shall find this plugin: unix:///path, or https://host:port")
		os.Exit(1)
	}
	plugin := service.NewPlugin(version, service.Serve(kinds.Pages{}, kinds.Books{}))
	if err := serve.Serve(ctx, endpoint, plugin); err != nil {
		slog.Error(err.Error())
		os.Exit(1)
	}
}
