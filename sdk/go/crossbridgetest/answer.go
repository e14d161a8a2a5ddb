package crossbridgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	crossbridge "crossbridge.dev/sdk/go"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Failure as the bridge gets it.
type Failure struct {
	Code       crossbridge.Code
	Effect     crossbridge.Effect
	Reason     string
	Message    string
	RetryAfter time.Duration
	// Violations by JSON Pointer.
	Violations           map[string]string
	ExistingExternalName string
}

func failureOf(wire *pb.Failure) *Failure {
	if wire == nil {
		return nil
	}
	failure := &Failure{
		Code: crossbridge.Code(wire.GetCode()), Effect: crossbridge.Effect(wire.GetEffect()), Reason: wire.GetReason(), Message: wire.GetMessage(),
		RetryAfter: wire.GetRetryAfter().AsDuration(), Violations: map[string]string{}, ExistingExternalName: wire.GetExistingExternalName(),
	}
	for _, violation := range wire.GetViolations() {
		failure.Violations[violation.GetPath()] = violation.GetMessage()
	}
	return failure
}

// Operation as the bridge gets it.
type Operation struct {
	Handle    string
	Verb      crossbridge.Verb
	PollAfter time.Duration
	// Progress from 0 to 100; nil: not reported.
	Progress       *int32
	Phase, Message string
}

// Observation as the bridge gets it.
type Observation struct {
	ExternalName, CanonicalID, ProviderState, ETag, FoundMarker, ReadyMessage string
	Ready, Deleting                                                           bool
	// UpToDate where the plugin compares; nil: it does not.
	UpToDate   *bool
	Connection map[string]string

	t                  testing.TB
	parameters, status string
}

func observationOf(t testing.TB, wire *pb.Observation) *Observation {
	if wire == nil {
		return nil
	}
	observation := &Observation{
		ExternalName: wire.GetExternalName(), CanonicalID: wire.GetCanonicalId(), ProviderState: wire.GetProviderState(), ETag: wire.GetEtag(),
		FoundMarker: wire.GetFoundMarker(), Ready: wire.GetReady(), ReadyMessage: wire.GetReadyMessage(), Deleting: wire.GetDeleting(),
		Connection: texts(wire.GetConnectionDetails()), t: t, parameters: wire.GetParameters().GetJson(), status: wire.GetStatus().GetJson(),
	}
	if wire.GetUpToDate() != pb.Tristate_TRISTATE_UNSPECIFIED {
		upToDate := wire.GetUpToDate() == pb.Tristate_TRISTATE_TRUE
		observation.UpToDate = &upToDate
	}
	return observation
}

// Parameters reads what was observed as the kind's type.
func (o *Observation) Parameters(into any) {
	o.t.Helper()
	o.read(o.parameters, into)
}

// Status reads it as the kind's type.
func (o *Observation) Status(into any) {
	o.t.Helper()
	o.read(o.status, into)
}

func (o *Observation) read(text string, into any) {
	o.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		o.t.Fatalf("what was observed is not of the type %T: %v", into, err)
	}
}

func texts(details map[string][]byte) map[string]string {
	all := map[string]string{}
	for key, value := range details {
		all[key] = string(value)
	}
	return maps.Clone(all)
}

// Answer to a call that changes something, or to a poll. Each method ends the test with what was answered instead.
type Answer struct {
	t       testing.TB
	outcome *pb.Outcome
	err     error
}

func (a *Answer) text() string {
	if a.err != nil {
		return fmt.Sprintf("the call was not processed: %v", a.err)
	}
	return brief(a.outcome)
}

func brief(message proto.Message) string {
	text, _ := protojson.Marshal(message)
	return string(text)
}

// Completed expects that it is finished; the observation after it, if there is one.
func (a *Answer) Completed() *Observation {
	a.t.Helper()
	if a.outcome.GetCompleted() == nil {
		a.t.Fatalf("not completed: %s", a.text())
	}
	return observationOf(a.t, a.outcome.GetCompleted().GetObservation())
}

// AlreadyDone expects that it was finished before.
func (a *Answer) AlreadyDone() {
	a.t.Helper()
	if !a.outcome.GetCompleted().GetAlreadyDone() {
		a.t.Fatalf("not done already: %s", a.text())
	}
}

// Operation expects that it goes on.
func (a *Answer) Operation() *Operation {
	a.t.Helper()
	wire := a.outcome.GetOperation()
	if wire == nil {
		a.t.Fatalf("no operation: %s", a.text())
	}
	return &Operation{
		Handle: wire.GetHandle(), Verb: crossbridge.Verb(wire.GetVerb()), PollAfter: wire.GetPollAfter().AsDuration(), Progress: wire.ProgressPercent,
		Phase: wire.GetPhase(), Message: wire.GetMessage(),
	}
}

// Failure expects that it failed.
func (a *Answer) Failure() *Failure {
	a.t.Helper()
	if a.outcome.GetFailure() == nil {
		a.t.Fatalf("no failure: %s", a.text())
	}
	return failureOf(a.outcome.GetFailure())
}

// Rejected expects that the call was not processed: its status.
func (a *Answer) Rejected() (codes.Code, string) {
	a.t.Helper()
	if a.err == nil {
		a.t.Fatalf("the call was processed: %s", a.text())
	}
	said := status.Convert(a.err)
	return said.Code(), said.Message()
}

// Connection details of the answer.
func (a *Answer) Connection() map[string]string { return texts(a.outcome.GetConnectionDetails()) }

// ExternalName of the answer; empty: not reported.
func (a *Answer) ExternalName() string { return a.outcome.GetExternalName() }

// ObserveAnswer is the answer to an Observe. Each method ends the test with what was answered instead.
type ObserveAnswer struct {
	t        testing.TB
	response *pb.ObserveResponse
	err      error
}

func (a *ObserveAnswer) text() string {
	if a.err != nil {
		return fmt.Sprintf("the call was not processed: %v", a.err)
	}
	return brief(a.response)
}

// Found expects that it exists.
func (a *ObserveAnswer) Found() *Observation {
	a.t.Helper()
	if a.response.GetObservation() == nil {
		a.t.Fatalf("not found: %s", a.text())
	}
	return observationOf(a.t, a.response.GetObservation())
}

// Absent expects that the upstream reports that there is no such resource; the name that it would have, where names are derived.
func (a *ObserveAnswer) Absent() string {
	a.t.Helper()
	if a.response.GetAbsent() == nil {
		a.t.Fatalf("not absent: %s", a.text())
	}
	return a.response.GetAbsent().GetExternalName()
}

// Failure expects that it could not be read.
func (a *ObserveAnswer) Failure() *Failure {
	a.t.Helper()
	if a.response.GetFailure() == nil {
		a.t.Fatalf("no failure: %s", a.text())
	}
	return failureOf(a.response.GetFailure())
}

// Rejected expects that the call was not processed: its status.
func (a *ObserveAnswer) Rejected() (codes.Code, string) {
	a.t.Helper()
	if a.err == nil {
		a.t.Fatalf("the call was processed: %s", a.text())
	}
	said := status.Convert(a.err)
	return said.Code(), said.Message()
}
