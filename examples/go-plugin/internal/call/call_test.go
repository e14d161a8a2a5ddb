package call

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// late is a context whose deadline has passed, and which has not heard of it yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestNothingBeginsWithoutTime(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for what, ctx := range map[string]context.Context{"cancelled": cancelled, "late": late{context.Background()}} {
		if err := EnsureTime(ctx); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("%s: %v", what, err)
		}
	}
	inTime, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := EnsureTime(inTime); err != nil {
		t.Error(err)
	}
}
