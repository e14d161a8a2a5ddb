package crossbridge_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	crossbridge "crossbridge.dev/sdk/go"
	"crossbridge.dev/sdk/go/internal/hook"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

const secretText = "swordfish"

// ending is a kind of which only one thing is known: how its deletion ends.
type ending struct {
	small[sized, sized]
	how func(ctx context.Context) error
}

func (e ending) Delete(ctx context.Context, request *crossbridge.DeleteRequest[sized, sized]) (*crossbridge.Outcome[sized, sized], error) {
	outcome := request.Completed()
	outcome.ExternalName, outcome.CanonicalID = "a-widget", "id-7"
	return outcome, e.how(ctx)
}

type logBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (l *logBuffer) Write(text []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(text)
}

func (l *logBuffer) text() string {
	l.Lock()
	defer l.Unlock()
	return l.String()
}

// deletes deletes a widget in this time; the outcome, and the log.
func deletes(t *testing.T, limit time.Duration, calls int, how func(ctx context.Context) error) (func(header ...string) (*pb.Outcome, error), *logBuffer) {
	t.Helper()
	log := &logBuffer{}
	plugin := plugged(crossbridge.Serve(smallKind(), ending{how: how}))
	plugin.Logger, plugin.MaxConcurrentCalls = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), calls
	call, _ := deletesOf(t, plugin, limit)
	return call, log
}

func deletesOf(t *testing.T, plugin *crossbridge.Plugin, limit time.Duration) (func(header ...string) (*pb.Outcome, error), *hook.Services) {
	t.Helper()
	services, err := hook.New(plugin)
	if err != nil {
		t.Fatal(err)
	}
	return func(header ...string) (*pb.Outcome, error) {
		ctx, cancel := context.WithTimeout(metadata.NewIncomingContext(context.Background(), metadata.Pairs(header...)), limit)
		defer cancel()
		response, err := services.Resource.Delete(ctx, &pb.DeleteRequest{Target: &pb.Target{
			ResourceType: &pb.ResourceType{Group: vectorGroup, Version: "v1", Kind: "Widget"},
			Config:       &pb.ConfigContext{ConfigId: "c", Revision: "1"}, Owner: &pb.ObjectRef{Namespace: "shop", Name: "one", Uid: "1"},
			ExternalName: "a-widget", OwnershipMarker: "one",
		}})
		return response.GetOutcome(), err
	}, services
}

func TestTheLogSaysHowACallEnded(t *testing.T) {
	cases := map[string]error{
		"msg=done call=Delete kind=Widget owner=shop/one external_name=a-widget":                                                                 nil,
		"msg=failed call=Delete kind=Widget owner=shop/one external_name=a-widget code=FAILURE_CODE_CONFLICT effect=EFFECT_NONE reason=Conflict": crossbridge.Conflict("it was changed"),
	}
	for expected, err := range cases {
		call, log := deletes(t, time.Minute, 0, func(context.Context) error { return err })
		if _, err := call(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.text(), expected) || strings.Count(log.text(), "\n") != 1 {
			t.Errorf("the log says %q, and not %q", log.text(), expected)
		}
	}
}

func TestWhatIsReturnedBesideAnErrorGoesAlong(t *testing.T) {
	call, _ := deletes(t, time.Minute, 0, func(context.Context) error { return errors.New("it went wrong") })
	outcome, err := call()
	if err != nil || outcome.GetFailure() == nil || outcome.GetExternalName() != "a-widget" || outcome.GetCanonicalId() != "id-7" {
		t.Errorf("%v, %v", outcome, err)
	}
}

func TestABugIsLoggedWithItsTypeOrPlaceAndNoText(t *testing.T) {
	call, log := deletes(t, time.Minute, 0, func(context.Context) error { return errors.New(secretText) })
	outcome, err := call()
	if err != nil || outcome.GetFailure().GetReason() != "Internal" || !strings.Contains(log.text(), "*errors.errorString") {
		t.Errorf("%v, %v, %s", outcome, err, log.text())
	}
	if strings.Contains(log.text(), secretText) || !strings.Contains(log.text(), "crossbridge_test.ending at ") || !strings.Contains(log.text(), "guard_test.go:") {
		t.Error(log.text())
	}
	call, log = deletes(t, time.Minute, 0, func(context.Context) error { panic(secretText) })
	outcome, err = call()
	if err != nil || outcome.GetFailure().GetReason() != "PluginPanicked" || !strings.Contains(log.text(), "guard_test.go:") {
		t.Errorf("%v, %v, %s", outcome, err, log.text())
	}
	if strings.Contains(log.text()+outcome.String(), secretText) {
		t.Error(log.text())
	}
}

func TestAnAnswerThatBreaksTheContractIsLoggedWithFieldTypeAndFile(t *testing.T) {
	log := &logBuffer{}
	plugin := plugged(crossbridge.Serve(smallKind(), stateful{}))
	plugin.Logger = slog.New(slog.NewTextHandler(log, nil))
	call, _ := deletesOf(t, plugin, time.Minute)
	outcome, err := call()
	if err != nil || outcome.GetFailure().GetReason() != "InvalidAnswer" {
		t.Errorf("%v, %v", outcome, err)
	}
	for _, word := range []string{"provider_state", "crossbridge_test.stateful at ", "guard_test.go:", "call=Delete kind=Widget"} {
		if !strings.Contains(log.text(), word) {
			t.Errorf("the log says %q, and not %q", log.text(), word)
		}
	}
}

func TestAnIDOrDetailsThatNoBridgeTakesDoNotCostTheName(t *testing.T) {
	details := crossbridge.Connection{"password": []byte("given once")}
	large := crossbridge.Connection{"password": make([]byte, 1<<20)}
	cases := []struct {
		id      string
		details crossbridge.Connection
		keptID  string
		kept    int
	}{
		{"\xff", details, "", 1}, {"id\n7", details, "", 1}, {strings.Repeat("x", 1025), details, "", 1}, {"id-7", large, "id-7", 0},
	}
	for _, one := range cases {
		kind := smallKind()
		kind.ConnectionKeys = []crossbridge.ConnectionKey{{Name: "password"}}
		call, _ := deletesOf(t, plugged(crossbridge.Serve(kind, identified{id: one.id, details: one.details})), time.Minute)
		outcome, err := call()
		if err != nil || outcome.GetFailure().GetReason() != "InvalidAnswer" || outcome.GetExternalName() != "a-widget" ||
			outcome.GetCanonicalId() != one.keptID || len(outcome.GetConnectionDetails()) != one.kept {
			t.Errorf("%.10q: %v, %v", one.id, outcome, err)
		}
	}
}

// identified is a kind with this id and these details.
type identified struct {
	small[sized, sized]
	id      string
	details crossbridge.Connection
}

func (i identified) Delete(_ context.Context, request *crossbridge.DeleteRequest[sized, sized]) (*crossbridge.Outcome[sized, sized], error) {
	outcome := request.Completed()
	outcome.ExternalName, outcome.CanonicalID, outcome.Connection = "a-widget", i.id, i.details
	return outcome, nil
}

// stateful is a kind whose state no bridge stores.
type stateful struct{ small[sized, sized] }

func (stateful) Delete(_ context.Context, request *crossbridge.DeleteRequest[sized, sized]) (*crossbridge.Outcome[sized, sized], error) {
	outcome := request.Completed()
	outcome.ProviderState = strings.Repeat("x", 5000)
	return outcome, nil
}

func TestAMappingThatPanicsSaysNothing(t *testing.T) {
	log := &logBuffer{}
	plugin := plugged(crossbridge.Serve(smallKind(), ending{how: func(context.Context) error { return errors.New("odd") }}))
	plugin.Logger = slog.New(slog.NewTextHandler(log, nil))
	plugin.MapError = func(error) *crossbridge.Failure { panic(secretText) }
	call, _ := deletesOf(t, plugin, time.Minute)
	if outcome, err := call(); err != nil || outcome.GetFailure().GetReason() != "Internal" {
		t.Errorf("%v, %v", outcome, err)
	}
	if !strings.Contains(log.text(), "MapError panicked") || strings.Contains(log.text(), secretText) {
		t.Error(log.text())
	}
}

func TestCodeThatEndsItsGoroutineIsABug(t *testing.T) {
	call, log := deletes(t, time.Minute, 0, func(context.Context) error { runtime.Goexit(); return nil })
	if outcome, err := call(); err != nil || outcome.GetFailure().GetReason() != "PluginPanicked" || !strings.Contains(log.text(), "goroutine") {
		t.Errorf("%v, %v, %s", outcome, err, log.text())
	}
}

func TestCodeThatIgnoresItsContextIsAnsweredForAndKeepsItsPermit(t *testing.T) {
	released := make(chan struct{})
	// A longer one leaves more time between the answer and the deadline.
	const limit = 4 * time.Second
	call, _ := deletes(t, limit, 1, func(context.Context) error { <-released; return nil })
	begun := time.Now()
	outcome, err := call()
	if err != nil || outcome.GetFailure().GetReason() != "DeadlineExceeded" {
		t.Fatalf("%v, %v", outcome, err)
	}
	if took := time.Since(begun); took >= limit {
		t.Errorf("the answer came after the deadline: %v", took)
	}
	// The permit is still taken.
	if _, err := call(); err == nil || !strings.Contains(err.Error(), "before the call could begin") {
		t.Error(err)
	}
	close(released)
	if outcome, err := call(); err != nil || outcome.GetCompleted() == nil {
		t.Errorf("%v, %v", outcome, err)
	}
}

func TestTheTraceOfACallGoesOnAndAMalformedOneIsPassedOver(t *testing.T) {
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	how := func(ctx context.Context) error { crossbridge.Logger(ctx).Info("hello"); return nil }
	call, log := deletes(t, time.Minute, 0, how)
	if _, err := call("traceparent", "00-"+trace+"-"+span+"-01", "crossbridge-call-id", "call-1"); err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(log.text(), "\n")
	for _, part := range []string{"msg=hello", "trace_id=" + trace, "parent_span_id=" + span, "call_id=call-1", "kind=Widget", "external_name=a-widget"} {
		if !strings.Contains(line, part) {
			t.Errorf("%q lacks %q", line, part)
		}
	}
	for _, malformed := range []string{"", "x", "00-0-0-0", "ff-" + trace + "-" + span + "-01", "00-" + strings.Repeat("0", 32) + "-" + span + "-01"} {
		call, log := deletes(t, time.Minute, 0, how)
		if _, err := call("traceparent", malformed); err != nil || strings.Contains(log.text(), "trace_id") {
			t.Errorf("%q: %v, %s", malformed, err, log.text())
		}
	}
}

// late is a context whose deadline has passed, and which has not heard of it yet.
type late struct {
	context.Context
	end time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.end, true }

func TestNothingBeginsWithoutTime(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	past := time.Now().Add(-time.Second)
	cases := map[string]struct {
		ctx   context.Context
		error error
	}{
		"cancelled":                        {cancelled, context.Canceled},
		"late by both clocks":              {late{t.Context(), past}, context.DeadlineExceeded},
		"late by the wall clock":           {late{t.Context(), past.Round(0)}, context.DeadlineExceeded},
		"in time":                          {late{t.Context(), time.Now().Add(time.Hour)}, nil},
		"without a deadline":               {t.Context(), nil},
		"in time, read by the wall clock":  {late{t.Context(), time.Now().Add(time.Hour).Round(0)}, nil},
		"as late as the wall clock allows": {late{t.Context(), time.Unix(0, 0)}, context.DeadlineExceeded},
	}
	for name, test := range cases {
		if err := crossbridge.EnsureTime(test.ctx); !errors.Is(err, test.error) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// grumpy cannot be read.
type grumpy string

func (*grumpy) UnmarshalJSON([]byte) error { panic(secretText) }

type moody struct {
	Mood *grumpy `json:"mood,omitempty"`
}

func TestATypeThatPanicsWhenItIsReadEndsItsCallOnly(t *testing.T) {
	log := &logBuffer{}
	kind := smallKind()
	kind.Examples[0].Create = moody{}
	plugin := plugged(crossbridge.Serve(kind, small[moody, sized]{}))
	plugin.Logger = slog.New(slog.NewTextHandler(log, nil))
	ctx, stop := context.WithCancel(t.Context())
	socket := filepath.Join(folderFor(t), "s")
	ended := make(chan error, 1)
	go func() { ended <- plugin.ServeAt(ctx, "unix://"+socket) }()
	client, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	target := &pb.Target{
		ResourceType: &pb.ResourceType{Group: vectorGroup, Version: "v1", Kind: "Widget"},
		Config:       &pb.ConfigContext{ConfigId: "c", Revision: "1"}, Owner: &pb.ObjectRef{Name: "one", Uid: "1"},
		ExternalName: "a-widget", OwnershipMarker: "one",
	}
	desired := &pb.DesiredState{Parameters: &pb.Document{Json: `{"mood":"bad"}`}}
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for range 2 {
		_, err := pb.NewResourceServiceClient(client).Update(within, &pb.UpdateRequest{Target: target, Desired: desired}, grpc.WaitForReady(true))
		if status.Code(err) != codes.Internal || strings.Contains(err.Error(), secretText) {
			t.Errorf("of an Update: %v", err)
		}
		observed, err := pb.NewResourceServiceClient(client).Observe(within, &pb.ObserveRequest{Target: target, Desired: desired})
		if err != nil || observed.GetFailure().GetReason() != "PluginPanicked" {
			t.Errorf("of an Observe: %v, %v", observed, err)
		}
	}
	if text := log.text(); strings.Contains(text, secretText) || strings.Count(text, "guard_test.go:") != 4 {
		t.Errorf("the log: %s", text)
	}
	client.Close()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
