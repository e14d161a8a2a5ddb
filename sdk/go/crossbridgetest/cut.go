package crossbridgetest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Most points of one creation at which the plugin is killed.
const mostPoints = 1000

// Cut is where a call was cut.
type Cut int

const (
	// Inside: it did not go on.
	Inside Cut = iota
	// Ended: it came to its end, and its answer is lost.
	Ended
)

// cutter ends the goroutine of the author's code at a point.
type cutter struct {
	mutex     sync.Mutex
	goroutine string
	// left counts the points until it is cut.
	left int
	cut  bool
}

type cutterKey struct{}

// wrap is called in the goroutine of the author's code.
func (c *cutter) wrap(ctx context.Context) context.Context {
	c.goroutine = goroutine()
	c.point()
	return &watched{context.WithValue(ctx, cutterKey{}, c), c}
}

// point is one at which the call may be cut. Other goroutines pass.
func (c *cutter) point() {
	if goroutine() != c.goroutine {
		return
	}
	c.mutex.Lock()
	ends := c.left == 0
	c.left--
	c.cut = c.cut || ends
	c.mutex.Unlock()
	if ends {
		runtime.Goexit()
	}
}

// goroutine names the one that asks.
func goroutine() string {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	name, _, _ := bytes.Cut(text, []byte(" ["))
	return string(name)
}

// watched is a context at which each question is a point.
type watched struct {
	context.Context
	cutter *cutter
}

func (w *watched) Done() <-chan struct{} {
	w.cutter.point()
	return w.Context.Done()
}

func (w *watched) Err() error {
	w.cutter.point()
	return w.Context.Err()
}

func (w *watched) Deadline() (time.Time, bool) {
	w.cutter.point()
	return w.Context.Deadline()
}

// Point is one at which a call can be cut: a fake upstream has one before and one after each thing that it does. In calls that are not cut it does nothing.
func Point(ctx context.Context) {
	if cutter, ok := ctx.Value(cutterKey{}).(*cutter); ok {
		cutter.point()
	}
}

// Transport has a [Point] before each request, and one after its answer has come, so that the upstream has done it and only the plugin does not know.
func Transport(base http.RoundTripper) http.RoundTripper { return transport{base} }

type transport struct{ base http.RoundTripper }

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	Point(request.Context())
	response, err := t.base.RoundTrip(request)
	Point(request.Context())
	return response, err
}

// CutAt makes a call and ends it at the point of this number: 0, before it has begun; 1, at its first point, and so on. A call of fewer points goes to its
// end, and its answer is lost.
func (r *Resource) CutAt(point int, call func(*Resource) *Answer) Cut {
	r.harness.t.Helper()
	cut := &cutter{left: point}
	r.cut = cut
	defer func() { r.cut = nil }()
	call(r)
	cut.mutex.Lock()
	defer cut.mutex.Unlock()
	if cut.cut {
		return Inside
	}
	return Ended
}

// KilledInCreate is the kit's durable/killed-in-create-one-resource at every point: the plugin is killed before Create, at each of its points, and at its
// end, each time with another resource; it is started anew and asked again as the bridge would; and count says how many of it the upstream then has. At last
// it is removed. The test ends at the first point after which there is not exactly one. It returns how many points there were.
func (h *Harness) KilledInCreate(resource func(number int) *Resource, count func(*Resource) int) int {
	h.t.Helper()
	for point := range mostPoints {
		thing := resource(point)
		cut := thing.CutAt(point, (*Resource).Create)
		h.Restart()
		thing.Recover()
		if there := count(thing); there != 1 {
			h.t.Fatalf("durable/killed-in-create-one-resource: killed %s, there are %d", place(cut, point), there)
		}
		thing.Follow(thing.Delete()).Completed()
		if cut == Ended {
			return point
		}
	}
	h.t.Fatalf("Create has more than %d points", mostPoints)
	return 0
}

func place(cut Cut, point int) string {
	switch {
	case cut == Ended:
		return "when Create had ended and its answer was lost"
	case point == 0:
		return "before Create began"
	}
	return fmt.Sprintf("at point %d of Create", point)
}

// Recover resolves a creation with an unknown outcome as the bridge would by the first recovery that the kind declares: it observes, by name or marker, or
// asks again with the same token, and follows the operation if there is one. It ends the test if a repeat fails otherwise than by ALREADY_EXISTS or CONFLICT,
// if the name is then unknown, or if the kind declares no recovery.
func (r *Resource) Recover() {
	t := r.harness.t
	t.Helper()
	ways := r.kind.GetCapabilities().GetCreateRecovery()
	if len(ways) == 0 {
		t.Fatalf("%s declares no recovery: a person is asked", r.kind.GetResourceType().GetKind())
	}
	if ways[0] != pb.CreateRecovery_CREATE_RECOVERY_CLIENT_TOKEN {
		time.Sleep(window(r.kind))
		observed := r.Observe()
		switch {
		case observed.response.GetObservation() != nil:
			return
		case observed.response.GetAbsent() == nil:
			t.Fatalf("it cannot be observed: %s", observed.text())
		}
	}
	// Once to resolve it, once more to see that it is resolved.
	for range 2 {
		answer := r.Follow(r.Repeat())
		failure := failureOf(answer.outcome.GetFailure())
		if answer.err != nil || failure != nil && failure.Code != crossbridge.CodeAlreadyExists && failure.Code != crossbridge.CodeConflict {
			t.Fatalf("a repeat failed: %s", answer.text())
		}
		time.Sleep(window(r.kind))
	}
	if r.ExternalName() == "" {
		t.Fatal("after the repeat its name is unknown")
	}
}
