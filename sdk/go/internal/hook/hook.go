// Package hook lets the package crossbridgetest into the SDK, and nobody else.
package hook

import (
	"context"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Services of a plugin, without a socket.
type Services struct {
	Plugin    pb.PluginServiceServer
	Resource  pb.ResourceServiceServer
	Discovery pb.DiscoveryServiceServer
}

// New checks the declarations of a *crossbridge.Plugin. Set by the SDK.
var New func(plugin any) (*Services, error)

type wrapKey struct{}

// WithWrap has the context that the author's code gets wrapped. It is called in the goroutine of the author's code.
func WithWrap(ctx context.Context, wrap func(context.Context) context.Context) context.Context {
	return context.WithValue(ctx, wrapKey{}, wrap)
}

// Wrap wraps, if that is wanted.
func Wrap(ctx context.Context) context.Context {
	if wrap, ok := ctx.Value(wrapKey{}).(func(context.Context) context.Context); ok {
		return wrap(ctx)
	}
	return ctx
}

// IsWatched reports whether a test watches the call, and may end it inside.
func IsWatched(ctx context.Context) bool { return ctx.Value(wrapKey{}) != nil }
