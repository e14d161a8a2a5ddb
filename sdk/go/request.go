package crossbridge

import (
	"encoding/json"
	"sync"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Owner is the Kubernetes object on whose behalf a call is sent.
type Owner struct {
	// Namespace is empty for cluster-scoped kinds.
	Namespace, Name, UID string
	Generation           int64
}

// Call is what every request for one resource has. Its time to work is the deadline of its context, which lies a little before the caller's, so that
// the answer has time to travel: hand the context to the upstream's client. Printed, a request shows no secret.
type Call struct {
	// ExternalName of the resource; empty where none is known yet.
	ExternalName string
	// OwnershipMarker is put on the external resource, where the kind holds markers.
	OwnershipMarker string
	// FormerMarker is another that counts as ours, and that the next update replaces; empty: none.
	FormerMarker string
	// ProviderState is whatever this plugin last returned; empty: nothing.
	ProviderState string
	Owner         Owner
	Config        Config
	// ID of this call in the bridge, for logs.
	ID string
	// TraceParent continues the caller's trace (W3C) in requests to the upstream; empty: none, or malformed.
	TraceParent string

	sensitive    func(pointer string) (string, bool)
	recorded     *recordedName
	resourceType string
	// requiresMarker: what bears none is not ours.
	requiresMarker bool
}

type recordedName struct {
	sync.Mutex
	name string
}

func (r *recordedName) get() string {
	r.Lock()
	defer r.Unlock()
	return r.name
}

// RecordName records which name the upstream has given, the moment it is known. Whatever becomes of the call then, the bridge gets the name: the answer
// carries it when the call succeeds, fails, panics or runs out of time. The first one counts. A creation that fails afterwards never reports that
// nothing was done.
func (c *Call) RecordName(externalName string) {
	if c.recorded == nil {
		return
	}
	c.recorded.Lock()
	defer c.recorded.Unlock()
	if c.recorded.name == "" {
		c.recorded.name = externalName
	}
}

// Owns reports whether a marker found on a resource is this object's, or a former one that counts as its own. An empty one is nobody's.
func (c *Call) Owns(foundMarker string) bool {
	return foundMarker != "" && (foundMarker == c.OwnershipMarker || foundMarker == c.FormerMarker)
}

// Sensitive is the value of a sensitive field, by its JSON Pointer: "/masterPassword".
func (c *Call) Sensitive(pointer string) (string, bool) {
	if c.sensitive == nil {
		return "", false
	}
	return c.sensitive(pointer)
}

func callOf(target *pb.Target, sensitive map[string]string, id, traceParent string) Call {
	owner := target.GetOwner()
	return Call{
		ExternalName: target.GetExternalName(), OwnershipMarker: target.GetOwnershipMarker(), FormerMarker: target.GetFormerMarker(),
		ProviderState: target.GetProviderState(),
		Owner:         Owner{owner.GetNamespace(), owner.GetName(), owner.GetUid(), owner.GetGeneration()},
		Config:        configOf(target.GetConfig()), ID: id, TraceParent: traceParent,
		sensitive: func(pointer string) (string, bool) { value, has := sensitive[pointer]; return value, has },
		recorded:  &recordedName{}, resourceType: typeText(target.GetResourceType()),
	}
}

// ObserveRequest asks what there is.
type ObserveRequest[P, S any] struct {
	Call
	// Parameters are the desired ones; nil if they are incomplete, as those of an object that is only observed may be.
	Parameters *P
	// JSON of the desired parameters, as they came.
	JSON json.RawMessage
}

// Found answers that the resource exists.
func (*ObserveRequest[P, S]) Found(observation *Observation[P, S]) *Observed[P, S] {
	return Found(observation)
}

// Absent answers that the upstream reports that there is no such resource. A read that failed is an error, never this.
func (*ObserveRequest[P, S]) Absent() *Observed[P, S] { return Absent[P, S]("") }

// AbsentAs is the same where names are derived, with the name that it would have.
func (*ObserveRequest[P, S]) AbsentAs(externalName string) *Observed[P, S] {
	return Absent[P, S](externalName)
}

// CreateRequest asks to create a resource, and never to take over what exists.
type CreateRequest[P, S any] struct {
	Call
	// Parameters are the desired ones: what has no opinion is absent, and sensitive fields always are.
	Parameters P
	// JSON of the desired parameters, as they came.
	JSON json.RawMessage
	// Token is a UUID, the same for each repeat of this creation. Hand it to the upstream where it takes one.
	Token string
	// OutcomeUnknown: the bridge does not know how an earlier call with this token ended. Search by token, name or marker first.
	OutcomeUnknown bool
}

// Completed answers that the whole effect is in place and was verified upstream.
func (*CreateRequest[P, S]) Completed() *Outcome[P, S] { return Completed[P, S]() }

// Observed is the same, with the observation after it, which saves the bridge an Observe.
func (*CreateRequest[P, S]) Observed(observation *Observation[P, S]) *Outcome[P, S] {
	return CompletedWith(observation)
}

// UnderWay answers that the creation goes on: the bridge stores the handle, then polls.
func (*CreateRequest[P, S]) UnderWay(operation Operation) *Outcome[P, S] {
	return underWay[P, S](operation, VerbCreate)
}

// UpdateRequest asks to change a resource in place, and never to create one: absent is [NotFound].
type UpdateRequest[P, S any] struct {
	Call
	Parameters P
	JSON       json.RawMessage
	// ChangedPaths are JSON Pointers that the bridge found to differ: a hint. Empty where the plugin compares.
	ChangedPaths []string
	// ETag of the last observation; empty: none. Does it no longer hold: [Conflict].
	ETag string
}

// Completed answers that the whole effect is in place and was verified upstream.
func (*UpdateRequest[P, S]) Completed() *Outcome[P, S] { return Completed[P, S]() }

// Observed is the same, with the observation after it, which saves the bridge an Observe.
func (*UpdateRequest[P, S]) Observed(observation *Observation[P, S]) *Outcome[P, S] {
	return CompletedWith(observation)
}

// UnderWay answers that the update goes on: the bridge stores the handle, then polls.
func (*UpdateRequest[P, S]) UnderWay(operation Operation) *Outcome[P, S] {
	return underWay[P, S](operation, VerbUpdate)
}

// DeleteRequest asks to remove a resource.
type DeleteRequest[P, S any] struct {
	Call
	// Parameters are the last known ones; nil if there are none that fit the type.
	Parameters *P
	JSON       json.RawMessage
	ETag       string
}

// Completed answers that it is removed.
func (*DeleteRequest[P, S]) Completed() *Outcome[P, S] { return Completed[P, S]() }

// AlreadyDone answers that there was nothing to remove.
func (*DeleteRequest[P, S]) AlreadyDone() *Outcome[P, S] { return AlreadyDone[P, S]() }

// UnderWay answers that the deletion goes on: the bridge stores the handle, then polls.
func (*DeleteRequest[P, S]) UnderWay(operation Operation) *Outcome[P, S] {
	return underWay[P, S](operation, VerbDelete)
}

// PollRequest asks where an operation has got to.
type PollRequest[P, S any] struct {
	Call
	// Handle as this plugin returned it, perhaps in an earlier version: [Reject] one that cannot be read.
	Handle string
	// Parameters are today's, which may be newer than the operation; nil if there are none that fit the type.
	Parameters *P
	JSON       json.RawMessage
}

// Completed answers that the operation has ended well.
func (*PollRequest[P, S]) Completed() *Outcome[P, S] { return Completed[P, S]() }

// Observed is the same, with the observation after it. Not for an operation that deletes.
func (*PollRequest[P, S]) Observed(observation *Observation[P, S]) *Outcome[P, S] {
	return CompletedWith(observation)
}

// UnderWay answers that it goes on; the handle is the request's where the operation has none, and its verb must be set.
func (r *PollRequest[P, S]) UnderWay(operation Operation) *Outcome[P, S] {
	if operation.Handle == "" {
		operation.Handle = r.Handle
	}
	return UnderWay[P, S](operation)
}

// ListRequest asks for one page of the external resources that exist.
type ListRequest struct {
	Config Config
	ID     string
	// TraceParent continues the caller's trace (W3C); empty: none.
	TraceParent string
	// Filter is valid by the kind's filter schema; empty: none.
	Filter json.RawMessage
	// PageSize is the most items wanted; 0: the plugin's choice.
	PageSize int
	// PageToken from the page before; empty: the first page. [Reject] a foreign one.
	PageToken string
	// IncludeParameters of each item.
	IncludeParameters bool
}

// ConfigRequest asks whether a config is usable.
type ConfigRequest struct {
	Config      Config
	ID          string
	TraceParent string
}
