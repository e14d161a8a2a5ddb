package crossbridge

import (
	"context"
	"log/slog"
	"time"
)

// Remaining is what is left until the deadline of the call, by the monotonic clock or the wall clock, whichever is further; 0 once it has passed. A
// process that was stopped meanwhile finds that it has.
func Remaining(ctx context.Context) time.Duration {
	end, isSet := ctx.Deadline()
	if !isSet {
		return time.Duration(1<<63 - 1)
	}
	now := time.Now()
	// Round strips the monotonic clock.
	return max(0, min(end.Sub(now), end.Round(0).Sub(now.Round(0))))
}

// EnsureTime rejects to begin anything after the deadline, or for a caller who has cancelled: ask it right before the request that counts, after every
// wait. It asks both clocks, as a process that was stopped hears of its deadline late.
func EnsureTime(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if Remaining(ctx) == 0 {
		return context.DeadlineExceeded
	}
	return nil
}

type loggerKey struct{}

// Logger of a call: it adds the call's id, kind, owner and trace to what it logs.
func Logger(ctx context.Context) *slog.Logger {
	if logger, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return logger
	}
	return slog.Default()
}
