package crossbridgetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"crossbridge.dev/sdk/go/internal/hook"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

const (
	callTimeout = 30 * time.Second
	// Between two polls, where the operation sets no PollAfter.
	pause = 10 * time.Millisecond
	// How long an operation is followed, where the kind sets no limit.
	patience = time.Minute
)

// Resource is one managed resource in the test's hands. Beside its desired state it holds what the plugin's answers reported, and what a bridge stores:
// token, name, state, etag, the handle of an operation. A call that is cut teaches it nothing.
type Resource struct {
	harness *Harness
	kind    *pb.ResourceKind
	target  *pb.Target
	desired *pb.DesiredState
	token   string
	// given is the name that its creation is sent with; empty where the user does not give it.
	given  string
	etag   string
	handle string
	cut    *cutter
}

// Resource of this kind and desired state, a struct or a map, that is not created yet.
func (h *Harness) Resource(kind string, parameters any) *Resource {
	h.t.Helper()
	published := h.kind(kind)
	id := uuid()
	namespace := ""
	if published.GetNamespaced() {
		namespace = "lab"
	}
	return &Resource{
		harness: h, kind: published, token: uuid(), desired: &pb.DesiredState{Parameters: document(h.t, parameters)},
		target: &pb.Target{
			ResourceType: published.GetResourceType(), Config: h.config, OwnershipMarker: "cb-lab-" + id,
			Owner: &pb.ObjectRef{Namespace: namespace, Name: "thing", Uid: id, Generation: 1},
		},
	}
}

func uuid() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	return fmt.Sprintf("%x-%x-%x-%x-%x", random[:4], random[4:6], random[6:8], random[8:10], random[10:])
}

// Named sets the external name that the user gives.
func (r *Resource) Named(name string) *Resource {
	r.given, r.target.ExternalName = name, name
	return r
}

// Sensitive sets the value of a sensitive field, by its JSON Pointer.
func (r *Resource) Sensitive(pointer, value string) *Resource {
	if r.desired.SensitiveValues == nil {
		r.desired.SensitiveValues = map[string]string{}
	}
	r.desired.SensitiveValues[pointer] = value
	return r
}

// SetParameters replaces the desired parameters.
func (r *Resource) SetParameters(parameters any) {
	r.harness.t.Helper()
	r.desired.Parameters = document(r.harness.t, parameters)
	r.target.Owner.Generation++
}

// On has the further calls sent to another replica.
func (r *Resource) On(replica *Harness) *Resource {
	moved := *r
	moved.harness = replica
	moved.target, moved.desired = proto.CloneOf(r.target), proto.CloneOf(r.desired)
	return &moved
}

// ExternalName that is known by now; empty: none.
func (r *Resource) ExternalName() string { return r.target.GetExternalName() }

// OwnershipMarker of its calls.
func (r *Resource) OwnershipMarker() string { return r.target.GetOwnershipMarker() }

// Token of its creation.
func (r *Resource) Token() string { return r.token }

// Observe sends one, and keeps name, state and etag.
func (r *Resource) Observe() *ObserveAnswer {
	r.harness.t.Helper()
	ctx, cancel := r.context()
	defer cancel()
	request := &pb.ObserveRequest{Target: proto.CloneOf(r.target), Desired: proto.CloneOf(r.desired)}
	response, err := r.harness.current().Resource.Observe(ctx, request)
	if observation := response.GetObservation(); observation != nil && !r.wasCut() {
		r.learn(observation.GetExternalName(), observation.GetProviderState())
		r.etag = observation.GetEtag()
	}
	return &ObserveAnswer{r.harness.t, response, err}
}

// Create asks for its creation, for the first time.
func (r *Resource) Create() *Answer {
	r.harness.t.Helper()
	return r.create(false)
}

// Repeat asks again, as a bridge that does not know how the first call ended.
func (r *Resource) Repeat() *Answer {
	r.harness.t.Helper()
	return r.create(true)
}

func (r *Resource) create(unknown bool) *Answer {
	ctx, cancel := r.context()
	defer cancel()
	target := proto.CloneOf(r.target)
	target.ExternalName = r.given
	response, err := r.harness.current().Resource.Create(ctx, &pb.CreateRequest{
		Target: target, Desired: proto.CloneOf(r.desired), ClientRequestToken: r.token, OutcomeUnknown: unknown,
	})
	return r.learned(response.GetOutcome(), err)
}

// Update sends the desired state.
func (r *Resource) Update() *Answer {
	r.harness.t.Helper()
	ctx, cancel := r.context()
	defer cancel()
	response, err := r.harness.current().Resource.Update(ctx, &pb.UpdateRequest{
		Target: proto.CloneOf(r.target), Desired: proto.CloneOf(r.desired), Etag: r.etag,
	})
	return r.learned(response.GetOutcome(), err)
}

// Delete asks to remove it.
func (r *Resource) Delete() *Answer {
	r.harness.t.Helper()
	ctx, cancel := r.context()
	defer cancel()
	response, err := r.harness.current().Resource.Delete(ctx, &pb.DeleteRequest{
		Target: proto.CloneOf(r.target), Desired: proto.CloneOf(r.desired), Etag: r.etag,
	})
	return r.learned(response.GetOutcome(), err)
}

// Poll asks once where its operation has got to.
func (r *Resource) Poll() *Answer {
	r.harness.t.Helper()
	ctx, cancel := r.context()
	defer cancel()
	response, err := r.harness.current().Resource.PollOperation(ctx, &pb.PollOperationRequest{
		Target: proto.CloneOf(r.target), Desired: proto.CloneOf(r.desired), Handle: r.handle,
	})
	return r.learned(response.GetOutcome(), err)
}

// Follow polls until the operation has ended, no sooner than it asks for; the last answer. What is no operation is its own end.
func (r *Resource) Follow(answer *Answer) *Answer {
	r.harness.t.Helper()
	limit := r.kind.GetTimeouts().GetCreateTimeout().AsDuration()
	if limit == 0 {
		limit = patience
	}
	for end := time.Now().Add(limit); answer.outcome.GetOperation() != nil; answer = r.Poll() {
		if time.Now().After(end) {
			r.harness.t.Fatalf("the operation did not end within %v: %s", limit, answer.text())
		}
		wait := pause
		if after := answer.outcome.GetOperation().GetPollAfter(); after != nil {
			wait = after.AsDuration()
		}
		time.Sleep(wait)
	}
	return answer
}

func (r *Resource) context() (context.Context, context.CancelFunc) {
	limit := r.kind.GetTimeouts().GetCallTimeout().AsDuration()
	if limit == 0 {
		limit = callTimeout
	}
	ctx := context.Background()
	if cut := r.cut; cut != nil {
		ctx = hook.WithWrap(ctx, cut.wrap)
	}
	return context.WithTimeout(ctx, limit)
}

func (r *Resource) wasCut() bool { return r.cut != nil }

// learned takes in what a bridge would store.
func (r *Resource) learned(outcome *pb.Outcome, err error) *Answer {
	if outcome != nil && !r.wasCut() {
		r.learn(outcome.GetExternalName(), outcome.GetProviderState())
		r.handle = outcome.GetOperation().GetHandle()
		if outcome.GetFailure() == nil {
			r.etag = outcome.GetCompleted().GetObservation().GetEtag()
		}
	}
	return &Answer{r.harness.t, outcome, err}
}

func (r *Resource) learn(name, state string) {
	if r.target.GetExternalName() == "" {
		r.target.ExternalName = name
	}
	if state != "" {
		r.target.ProviderState = state
	}
}
