package crossbridge

import (
	"time"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Warning is worth an event without being an error.
type Warning struct {
	// Reason in PascalCase, which stays the same.
	Reason  string
	Message string
}

// Observation is an external resource that exists, as it is. Build it with the fields' names; what is not set is not reported.
type Observation[P, S any] struct {
	// ExternalName under which it was found; empty: that of the request.
	ExternalName string
	// Parameters in the shape of the desired ones: what is nil is left out, as is what is sensitive.
	Parameters P
	// Status is what is only observed.
	Status *S
	// CanonicalID is globally unique (ARN, self link), to catch two owners of one thing.
	CanonicalID string
	// ProviderState is handed back on every later call: at most 4 KiB, no secrets. Empty keeps the former one.
	ProviderState string
	// Ready: others can use it.
	Ready bool
	// ReadyMessage says why not.
	ReadyMessage string
	// Comparison is set where the plugin compares ([Kind.PluginCompares]), by [InSync] or [Differs].
	Comparison *Comparison
	Connection Connection
	// ETag is the upstream's version of the resource, handed back on update and delete.
	ETag string
	// Deleting: removal has begun upstream and goes on by itself.
	Deleting bool
	// Operation that was found running.
	Operation *Operation
	// FoundMarker on it; empty: no owner has claimed it. If it cannot be read, return an error instead.
	FoundMarker string
	// ObserveAfter: observe again no sooner than this; the bridge takes more than an hour for an hour.
	ObserveAfter time.Duration
	Warnings     []Warning
}

// Comparison of the desired and the observed state, by the plugin.
type Comparison struct{ differences []Difference }

// Difference is a field that differs.
type Difference struct {
	// Path is a JSON Pointer into the parameters. The SDK adds both values.
	Path string
	// NeedsReplacement: it cannot be changed in place.
	NeedsReplacement bool
}

// InSync reports that desired and observed state agree.
func InSync() *Comparison { return &Comparison{} }

// Differs reports what differs.
func Differs(differences ...Difference) *Comparison { return &Comparison{differences} }

// Observed is the answer to an Observe that could read the upstream: build it with [Found] or [Absent], or with the methods of the request.
type Observed[P, S any] struct {
	found  *Observation[P, S]
	absent string
}

// Found answers that the resource exists.
func Found[P, S any](observation *Observation[P, S]) *Observed[P, S] {
	return &Observed[P, S]{found: observation}
}

// Absent answers that the upstream reports that there is no such resource; with the name that it would have where names are derived, else "".
func Absent[P, S any](externalName string) *Observed[P, S] {
	return &Observed[P, S]{absent: externalName}
}

// Verb of an operation.
type Verb int

// What an operation does.
const (
	VerbCreate = Verb(pb.OperationVerb_OPERATION_VERB_CREATE)
	VerbUpdate = Verb(pb.OperationVerb_OPERATION_VERB_UPDATE)
	VerbDelete = Verb(pb.OperationVerb_OPERATION_VERB_DELETE)
)

// Operation is work upstream that outlasts a call, with the handle by which any replica, and the next version, can follow it.
type Operation struct {
	// Handle is not empty, has at most 4 KiB, holds no secrets, and stays the same from poll to poll unless it must change. [EncodeHandle] writes one.
	Handle string
	// Verb is set by the UnderWay of the request, save that of a poll.
	Verb Verb
	// PollAfter is the earliest next poll; 0: the bridge's choice.
	PollAfter time.Duration
	// Progress from 0 to 100; nil: not known.
	Progress *int
	// Phase is the step that it is in, in PascalCase: a condition's reason.
	Phase   string
	Message string
	// PollDriven: it moves only when polled.
	PollDriven bool
	// UpstreamID is the upstream's own id, for support tickets.
	UpstreamID string
	// Expires: polls after this may fail with [OperationExpired]; at least 24 h ahead. Zero: never.
	Expires time.Time
}

// Percent of a whole, for [Operation.Progress].
func Percent(part, whole int64) *int {
	percent := 100
	if whole > 0 {
		percent = int(max(0, min(100, part*100/whole)))
	}
	return &percent
}

// Outcome is how a call that changes something ended, or goes on. Build it with the methods of the request, or with [Completed], [CompletedWith],
// [AlreadyDone], [UnderWay] and [Failed]. Whichever it is, it carries name, id, state and connection details as soon as they are known.
type Outcome[P, S any] struct {
	// ExternalName as soon as it is known; it never changes.
	ExternalName  string
	CanonicalID   string
	ProviderState string
	// Connection details, perhaps such as the upstream gives only now.
	Connection Connection
	Warnings   []Warning

	completed   bool
	alreadyDone bool
	observation *Observation[P, S]
	operation   *Operation
	failure     *Failure
}

// Completed answers that the call's whole effect is in place and was verified upstream.
func Completed[P, S any]() *Outcome[P, S] { return &Outcome[P, S]{completed: true} }

// CompletedWith is the same, with the observation after it, whose name, id, state, connection details and warnings become the outcome's.
func CompletedWith[P, S any](observation *Observation[P, S]) *Outcome[P, S] {
	return &Outcome[P, S]{completed: true, observation: observation}
}

// AlreadyDone answers that Delete found nothing, or that Create found its own earlier work.
func AlreadyDone[P, S any]() *Outcome[P, S] {
	return &Outcome[P, S]{completed: true, alreadyDone: true}
}

// UnderWay answers that work goes on upstream.
func UnderWay[P, S any](operation Operation) *Outcome[P, S] {
	return &Outcome[P, S]{operation: &operation}
}

func underWay[P, S any](operation Operation, verb Verb) *Outcome[P, S] {
	if operation.Verb == 0 {
		operation.Verb = verb
	}
	return UnderWay[P, S](operation)
}

// Failed answers a failure that something is to be reported with. Where nothing is, return the failure as error.
func Failed[P, S any](failure *Failure) *Outcome[P, S] { return &Outcome[P, S]{failure: failure} }

// Done says of a completed outcome that the effect was there already: Create found its own earlier work.
func (o *Outcome[P, S]) Done() *Outcome[P, S] {
	o.alreadyDone = true
	return o
}

// Listed is one page of the external resources that exist.
type Listed[P any] struct {
	Items []ListedItem[P]
	// NextPageToken is empty on the last page.
	NextPageToken string
	// Unreachable are regions or scopes that did not answer.
	Unreachable []string
}

// ListedItem is one external resource that exists.
type ListedItem[P any] struct {
	ExternalName string
	CanonicalID  string
	// DisplayName is what people see.
	DisplayName string
	// Parameters ready to become spec.forProvider.
	Parameters *P
	// FoundMarker: who owns it already.
	FoundMarker string
}
