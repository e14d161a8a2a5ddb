package crossbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// owning deletes what bears this marker.
type owning struct {
	small[sized, sized]
	found string
}

func (o owning) Delete(_ context.Context, request *crossbridge.DeleteRequest[sized, sized]) (*crossbridge.Outcome[sized, sized], error) {
	return request.Completed(), request.EnsureOwned(o.found)
}

func TestWhatAnotherOwns(t *testing.T) {
	byName, byMarker := smallKind(), smallKind()
	byMarker.Recovery = []crossbridge.Recovery{crossbridge.RecoverByMarker}
	cases := []struct {
		kind   crossbridge.Kind
		found  string
		reason string
	}{
		{byName, "one", ""}, {byName, "", ""}, {byName, "another", "NotOwned"},
		{byMarker, "one", ""}, {byMarker, "", "NotOwned"}, {byMarker, "another", "NotOwned"},
	}
	for _, c := range cases {
		call, _ := deletesOf(t, plugged(crossbridge.Serve(c.kind, owning{found: c.found})), time.Minute)
		outcome, err := call()
		failure := outcome.GetFailure()
		if err != nil || failure.GetReason() != c.reason || failure != nil && failure.GetCode() != pb.FailureCode_FAILURE_CODE_NOT_FOUND {
			t.Errorf("%v, %q: %v, %v", c.kind.Recovery, c.found, outcome, err)
		}
	}
}

func codeOf(err error) crossbridge.Code {
	var failure *crossbridge.Failure
	errors.As(err, &failure)
	if failure == nil {
		return 0
	}
	return failure.Code()
}

func TestAnETagThatHoldsNoLonger(t *testing.T) {
	update := crossbridge.UpdateRequest[sized, sized]{ETag: "1"}
	if err := update.EnsureETag("1"); err != nil {
		t.Error(err)
	}
	if err := update.EnsureETag("2"); codeOf(err) != crossbridge.CodeConflict {
		t.Error(err)
	}
	none := crossbridge.DeleteRequest[sized, sized]{}
	if err := none.EnsureETag("2"); err != nil {
		t.Error(err)
	}
}

func TestATokenStandsForOneRequest(t *testing.T) {
	request := func(name, parameters string) *crossbridge.CreateRequest[sized, sized] {
		return &crossbridge.CreateRequest[sized, sized]{
			Call: crossbridge.Call{ExternalName: name}, Token: "123E4567-e89b-12d3-a456-426614174000", JSON: json.RawMessage(parameters),
		}
	}
	stored := request("a", `{"size":9007199254740993,"b":"<"}`).Digest()
	if err := request("a", `{"b":"\u003c", "size":9007199254740993}`).EnsureSameRequest(stored); err != nil {
		t.Error(err)
	}
	for _, other := range []*crossbridge.CreateRequest[sized, sized]{
		request("b", `{"size":9007199254740993,"b":"<"}`), request("a", `{"size":9007199254740992,"b":"<"}`), request("a", `{}`),
	} {
		if err := other.EnsureSameRequest(stored); codeOf(err) != crossbridge.CodeTokenReused {
			t.Error(err)
		}
	}
	// That of TypeScript, too.
	if name := request("a", "{}").NameOfToken("db-", 16); name != "db-986c0dc956dc822b" {
		t.Error(name)
	}
}
