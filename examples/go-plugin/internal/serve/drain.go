package serve

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

const (
	// Calls have deadlines of at most a minute.
	longestCall = time.Minute
	// A call may slip in before its client knows that the plugin stops.
	closeGrace = 2 * time.Second
	tick       = 50 * time.Millisecond
)

// running counts the calls that run.
type running struct{ atomic.Int64 }

func (r *running) count(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	r.Add(1)
	defer r.Add(-1)
	return next(ctx, request)
}

// drain lets the calls that run end. Streams of health and reflection last as long as their clients want: they are cut.
func drain(server *grpc.Server, calls *running) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.GracefulStop()
	}()
	longest := time.After(longestCall)
	for quiet := time.Duration(0); quiet < closeGrace; quiet += tick {
		select {
		case <-ended:
			return
		case <-longest:
			server.Stop()
			return
		case <-time.After(tick):
		}
		if calls.Load() > 0 {
			quiet = 0
		}
	}
	server.Stop()
}
