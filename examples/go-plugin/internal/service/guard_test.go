package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
	"example.org/press/internal/kinds"
)

const secret = "swordfish"

// ended is a page about which only one thing is known: how its removal ends.
type ended struct {
	kinds.Pages
	how func() (*pb.Outcome, error)
}

func (e ended) Delete(context.Context, *call.Call, string) (*pb.Outcome, error) { return e.how() }

// remove removes a page that ends so; the answer, the status and the log.
func remove(t *testing.T, how func() (*pb.Outcome, error)) (*pb.DeleteResponse, error, string) {
	t.Helper()
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	resources := Resources{Served: Serve(ended{how: how})}
	request := &pb.DeleteRequest{Target: &pb.Target{
		ResourceType:    kinds.Pages{}.Described().GetResourceType(),
		Config:          &pb.ConfigContext{ConfigId: "one", Revision: "1"},
		Owner:           &pb.ObjectRef{Name: "one", Uid: "1"},
		ExternalName:    "one",
		OwnershipMarker: "one",
	}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := Guard(ctx, request, &grpc.UnaryServerInfo{FullMethod: "/Delete"}, func(ctx context.Context, _ any) (any, error) {
		return resources.Delete(ctx, request)
	})
	response, _ := answer.(*pb.DeleteResponse)
	return response, err, log.String()
}

func TestTheLogSaysHowACallEnded(t *testing.T) {
	rejected := call.Fail(pb.FailureCode_FAILURE_CODE_CONFLICT, "Changed", "It was changed.")
	cases := map[string]func() (*pb.Outcome, error){
		"msg=done": func() (*pb.Outcome, error) { return &pb.Outcome{}, nil },
		"msg=failed call=Delete kind=Page owner=/one code=FAILURE_CODE_CONFLICT reason=Changed": func() (*pb.Outcome, error) { return nil, rejected },
		`msg=rejected call=Delete kind=Page owner=/one why="a handle"`:                          func() (*pb.Outcome, error) { return nil, call.Reject("a handle") },
	}
	for expected, how := range cases {
		if _, _, log := remove(t, how); !strings.Contains(log, expected) || strings.Count(log, "\n") != 1 {
			t.Errorf("the log says %q, and not %q", log, expected)
		}
	}
}

func TestABugIsLoggedWithItsPlaceAndNoSecret(t *testing.T) {
	answer, err, log := remove(t, func() (*pb.Outcome, error) { return nil, errors.New(secret) })
	if err != nil || answer.GetOutcome().GetFailure().GetReason() != "PluginBug" || !strings.Contains(log, "*errors.errorString") {
		t.Errorf("%v, %v, %s", answer, err, log)
	}
	if strings.Contains(answer.String()+log, secret) || strings.Contains(log, "msg=done") {
		t.Errorf("%v, %s", answer, log)
	}

	answer, err, log = remove(t, func() (*pb.Outcome, error) { panic(secret) })
	if status.Code(err) != codes.Internal || !strings.Contains(log, "guard_test.go:") {
		t.Errorf("%v, %v, %s", answer, err, log)
	}
	if strings.Contains(err.Error()+log, secret) {
		t.Errorf("%v, %s", err, log)
	}
}
