package crossbridge

import (
	"context"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

const (
	deadlineKey = "crossbridge-deadline-ms"
	callIDKey   = "crossbridge-call-id"
	traceKey    = "traceparent"
	// Kept back of each deadline at most, for the answer's way; and a share of what is left.
	longestReserve = 200 * time.Millisecond
	reserveShare   = 20
)

var traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// callMetadata is what the metadata of a call holds.
type callMetadata struct {
	id    string
	trace string
	// deadline is the absolute one; nil: not sent.
	deadline *time.Time
}

func readMetadata(ctx context.Context) (callMetadata, error) {
	first := func(key string) string {
		if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	read := callMetadata{id: first(callIDKey), trace: first(traceKey)}
	if parts := traceParent.FindStringSubmatch(read.trace); parts == nil || parts[1] == "ff" ||
		strings.Trim(parts[2], "0") == "" || strings.Trim(parts[3], "0") == "" {
		read.trace = ""
	}
	if text := first(deadlineKey); text != "" {
		milliseconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || milliseconds < 0 {
			return read, reject(codes.InvalidArgument, "the metadata %s is malformed: it must be Unix milliseconds", deadlineKey)
		}
		at := time.UnixMilli(milliseconds)
		read.deadline = &at
	}
	return read, nil
}

// bound is the context within which a call may work: until a little before the earlier of the two deadlines; and how long before.
func (m callMetadata) bound(ctx context.Context, changes bool) (context.Context, context.CancelFunc, time.Duration, error) {
	now := time.Now()
	left := longestCall
	end, isSet := ctx.Deadline()
	switch {
	case changes && !isSet:
		return nil, nil, 0, reject(codes.FailedPrecondition, "a call that changes something needs a deadline of at most 60 s")
	case changes && end.Sub(now) > longestCall:
		return nil, nil, 0, reject(codes.FailedPrecondition, "the deadline is more than 60 s ahead: what takes longer is an operation")
	case isSet:
		left = min(left, end.Sub(now))
	}
	if m.deadline != nil {
		left = min(left, m.deadline.Sub(now.Round(0)))
	}
	if left <= 0 {
		return nil, nil, 0, reject(codes.FailedPrecondition, "the call's deadline has passed: nothing was done")
	}
	reserve := min(longestReserve, left/reserveShare)
	bounded, cancel := context.WithDeadline(ctx, now.Add(left-reserve))
	return bounded, cancel, reserve, nil
}

// logger of a call.
func (m callMetadata) logger(base *slog.Logger, rpc string) *slog.Logger {
	logger := base.With("call", rpc)
	if m.id != "" {
		logger = logger.With("call_id", m.id)
	}
	if parts := traceParent.FindStringSubmatch(m.trace); parts != nil {
		logger = logger.With("trace_id", parts[2], "parent_span_id", parts[3])
	}
	return logger
}
