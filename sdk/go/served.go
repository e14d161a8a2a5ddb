package crossbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"crossbridge.dev/sdk/go/internal/check"
	"crossbridge.dev/sdk/go/internal/schema"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

var errUnserved = reject(codes.Unimplemented, "this kind does not serve the call")

// servedKind is a kind whose types are hidden.
type servedKind interface {
	published() *published
	observe(ctx context.Context, call Call, request *pb.ObserveRequest) (*pb.ObserveResponse, error)
	// read reads what the author's code needs, and returns that code: nothing of the author's runs before.
	read(call Call, request resourceRequest) (func(ctx context.Context) (*pb.Outcome, error), error)
	list(ctx context.Context, request *ListRequest) (*pb.ListExternalResponse, error)
}

// resourceRequest is what requests for one resource have in common.
type resourceRequest interface {
	GetTarget() *pb.Target
	GetDesired() *pb.DesiredState
}

type served[P, S any] struct {
	resource Resource[P, S]
	poller   Poller[P, S]
	lister   Lister[P]
	kind     *published
}

func newServed[P, S any](_ *Plugin, kind Kind, resource Resource[P, S]) (servedKind, error) {
	if resource == nil {
		return nil, errors.New("its resource is nil")
	}
	poller, canPoll, err := optional[Poller[P, S]](resource, "Poll")
	if err != nil {
		return nil, err
	}
	lister, canList, err := optional[Lister[P]](resource, "List")
	if err != nil {
		return nil, err
	}
	if kind.ListFilter != nil && !canList {
		return nil, errors.New("it has a list filter, and no method List")
	}
	published, err := publish(&kind, resource, reflect.TypeFor[P](), reflect.TypeFor[S]())
	if err != nil {
		return nil, err
	}
	published.canPoll, published.canList = canPoll, canList
	return &served[P, S]{resource, poller, lister, published}, nil
}

func (s *served[P, S]) published() *published { return s.kind }

// known reads a desired state that may be incomplete; nil: it does not fit the type.
func (s *served[P, S]) known(desired *pb.DesiredState) *P {
	parameters := new(P)
	if desired == nil || schema.Read([]byte(desired.GetParameters().GetJson()), parameters) != nil {
		return nil
	}
	return parameters
}

func (s *served[P, S]) desired(desired *pb.DesiredState) (P, error) {
	var parameters P
	misfit := schema.Read([]byte(desired.GetParameters().GetJson()), &parameters)
	if misfit == nil {
		return parameters, nil
	}
	failure := InvalidSpec("%v", misfit).WithReason("InvalidParameters")
	if misfit.Pointer != "" {
		failure = failure.WithViolation(misfit.Pointer, misfit.Problem)
	}
	return parameters, failure
}

func rawOf(desired *pb.DesiredState) json.RawMessage {
	return json.RawMessage(desired.GetParameters().GetJson())
}

func (s *served[P, S]) observe(ctx context.Context, call Call, wire *pb.ObserveRequest) (*pb.ObserveResponse, error) {
	request := &ObserveRequest[P, S]{Call: call, Parameters: s.known(wire.GetDesired()), JSON: rawOf(wire.GetDesired())}
	observed, err := s.resource.Observe(ctx, request)
	if err != nil {
		return nil, err
	}
	if observed == nil {
		return nil, s.nothing("observe")
	}
	if observed.found == nil {
		return &pb.ObserveResponse{Result: &pb.ObserveResponse_Absent{Absent: &pb.Absent{ExternalName: observed.absent}}}, nil
	}
	observation, err := s.observation(observed.found, rawOf(wire.GetDesired()), "observation.")
	if err != nil {
		return nil, err
	}
	if observation.GetExternalName() == "" {
		observation.ExternalName = call.ExternalName
	}
	return &pb.ObserveResponse{Result: &pb.ObserveResponse_Observation{Observation: observation}}, nil
}

func (s *served[P, S]) read(call Call, wire resourceRequest) (func(ctx context.Context) (*pb.Outcome, error), error) {
	raw := rawOf(wire.GetDesired())
	switch wire := wire.(type) {
	case *pb.CreateRequest:
		parameters, err := s.desired(wire.GetDesired())
		request := &CreateRequest[P, S]{call, parameters, raw, wire.GetClientRequestToken(), wire.GetOutcomeUnknown()}
		return func(ctx context.Context) (*pb.Outcome, error) {
			outcome, err := s.resource.Create(ctx, request)
			return s.outcome(outcome, err, "create", raw)
		}, err
	case *pb.UpdateRequest:
		parameters, err := s.desired(wire.GetDesired())
		request := &UpdateRequest[P, S]{call, parameters, raw, wire.GetChangedPaths(), wire.GetEtag()}
		return func(ctx context.Context) (*pb.Outcome, error) {
			outcome, err := s.resource.Update(ctx, request)
			return s.outcome(outcome, err, "update", raw)
		}, err
	case *pb.DeleteRequest:
		request := &DeleteRequest[P, S]{call, s.known(wire.GetDesired()), raw, wire.GetEtag()}
		return func(ctx context.Context) (*pb.Outcome, error) {
			outcome, err := s.resource.Delete(ctx, request)
			return s.outcome(outcome, err, "delete", nil)
		}, nil
	case *pb.PollOperationRequest:
		request := &PollRequest[P, S]{call, wire.GetHandle(), s.known(wire.GetDesired()), raw}
		return func(ctx context.Context) (*pb.Outcome, error) {
			outcome, err := s.poller.Poll(ctx, request)
			return s.outcome(outcome, err, "poll", raw)
		}, nil
	}
	return nil, errUnserved
}

// nothing is what a method returned that returned neither an answer nor an error.
func (s *served[P, S]) nothing(method string) error {
	return invalidAnswer("%T returned nothing from %s of %s", s.resource, method, s.kind.wire.GetResourceType().GetKind())
}

// outcome is what the author returned, for the wire. The name, id, state, details and warnings of an observation become the outcome's. Beside an error
// it is what may be given only once.
func (s *served[P, S]) outcome(outcome *Outcome[P, S], err error, method string, desired json.RawMessage) (*pb.Outcome, error) {
	saved := named(outcome)
	if err != nil {
		return saved, err
	}
	if outcome == nil || !outcome.completed && outcome.operation == nil && outcome.failure == nil {
		return nil, s.nothing(method)
	}
	answer := &pb.Outcome{
		ExternalName: outcome.ExternalName, CanonicalId: outcome.CanonicalID, ProviderState: outcome.ProviderState,
		ConnectionDetails: outcome.Connection, Warnings: warningsOf(outcome.Warnings),
	}
	switch {
	case outcome.failure != nil:
		answer.Result = &pb.Outcome_Failure{Failure: outcome.failure.wire()}
	case outcome.operation != nil:
		if !s.kind.canPoll {
			return saved, invalidAnswer("operation is not allowed: %T has no method Poll", s.resource)
		}
		answer.Result = &pb.Outcome_Operation{Operation: operationOf(outcome.operation)}
	default:
		completed := &pb.Completed{AlreadyDone: outcome.alreadyDone}
		answer.Result = &pb.Outcome_Completed{Completed: completed}
		if outcome.observation == nil {
			break
		}
		observation, err := s.observation(outcome.observation, desired, "completed.observation.")
		if err != nil {
			return saved, err
		}
		completed.Observation = observation
		move(answer, observation)
	}
	return answer, nil
}

// named is what of an outcome may be given only once: it goes along with whatever becomes of the rest.
func named[P, S any](outcome *Outcome[P, S]) *pb.Outcome {
	saved := &pb.Outcome{}
	if outcome == nil {
		return saved
	}
	saved.ExternalName, saved.CanonicalId, saved.ConnectionDetails = outcome.ExternalName, outcome.CanonicalID, outcome.Connection
	if observed := outcome.observation; observed != nil {
		move(saved, &pb.Observation{ExternalName: observed.ExternalName, CanonicalId: observed.CanonicalID, ConnectionDetails: observed.Connection})
	}
	return saved
}

func move(outcome *pb.Outcome, observation *pb.Observation) {
	for _, text := range []struct{ own, observed *string }{
		{&outcome.ExternalName, &observation.ExternalName}, {&outcome.CanonicalId, &observation.CanonicalId},
		{&outcome.ProviderState, &observation.ProviderState},
	} {
		if *text.own == "" {
			*text.own = *text.observed
		}
		*text.observed = ""
	}
	details := map[string][]byte{}
	for _, from := range []map[string][]byte{observation.GetConnectionDetails(), outcome.GetConnectionDetails()} {
		for key, value := range from {
			details[key] = value
		}
	}
	outcome.ConnectionDetails, observation.ConnectionDetails = details, nil
	outcome.Warnings = append(outcome.GetWarnings(), observation.GetWarnings()...)
	observation.Warnings = nil
}

func (s *served[P, S]) observation(observed *Observation[P, S], desired json.RawMessage, at string) (*pb.Observation, error) {
	parameters, err := schema.Write(observed.Parameters, s.kind.sensitive)
	if err != nil {
		return nil, invalidAnswer("%sparameters cannot be written: %T", at, err)
	}
	answer := &pb.Observation{
		ExternalName: observed.ExternalName, CanonicalId: observed.CanonicalID, ProviderState: observed.ProviderState,
		Parameters: documentOf(parameters), Ready: observed.Ready, ReadyMessage: observed.ReadyMessage, ConnectionDetails: observed.Connection,
		Etag: observed.ETag, Deleting: observed.Deleting, FoundMarker: observed.FoundMarker,
		ObserveAfter: wireDuration(observed.ObserveAfter), Warnings: warningsOf(observed.Warnings),
	}
	if observed.Operation != nil {
		answer.Operation = operationOf(observed.Operation)
	}
	if observed.Status != nil {
		status, err := schema.Write(observed.Status, nil)
		if err != nil {
			return nil, invalidAnswer("%sstatus cannot be written: %T", at, err)
		}
		answer.Status = documentOf(status)
	}
	if observed.Comparison == nil {
		return answer, nil
	}
	answer.UpToDate = pb.Tristate_TRISTATE_TRUE
	wanted := map[string]any{}
	if object, err := schema.Object(string(desired)); err == nil {
		wanted = object
	}
	for _, difference := range observed.Comparison.differences {
		answer.UpToDate = pb.Tristate_TRISTATE_FALSE
		answer.Diffs = append(answer.Diffs, &pb.FieldDiff{
			Path: difference.Path, NeedsReplacement: difference.NeedsReplacement,
			DesiredJson: textAt(wanted, difference.Path), ObservedJson: textAt(parameters, difference.Path),
		})
	}
	return answer, nil
}

func textAt(document map[string]any, path string) string {
	value := schema.At(document, path)
	if !check.IsPointer(path) || value == nil {
		return ""
	}
	// It came from JSON.
	bytes, _ := json.Marshal(value)
	return string(bytes)
}

func (s *served[P, S]) list(ctx context.Context, request *ListRequest) (*pb.ListExternalResponse, error) {
	listed, err := s.lister.List(ctx, request)
	if err != nil {
		return nil, err
	}
	if listed == nil {
		return nil, s.nothing("list")
	}
	answer := &pb.ListExternalResponse{NextPageToken: listed.NextPageToken, Unreachable: listed.Unreachable}
	for i, item := range listed.Items {
		resource := &pb.ExternalResource{
			ExternalName: item.ExternalName, CanonicalId: item.CanonicalID, DisplayName: item.DisplayName, FoundMarker: item.FoundMarker,
		}
		if item.ExternalName == "" {
			return nil, invalidAnswer("%v", check.Missing(fmt.Sprintf("items[%d].external_name", i)))
		}
		if item.Parameters != nil {
			parameters, err := schema.Write(item.Parameters, s.kind.sensitive)
			if err != nil {
				return nil, invalidAnswer("items[%d].parameters cannot be written: %T", i, err)
			}
			resource.Parameters = documentOf(parameters)
		}
		answer.Items = append(answer.Items, resource)
	}
	return answer, nil
}

func documentOf(object map[string]any) *pb.Document { return &pb.Document{Json: text(object)} }

func warningsOf(warnings []Warning) []*pb.Warning {
	var all []*pb.Warning
	for _, warning := range warnings {
		all = append(all, &pb.Warning{Reason: warning.Reason, Message: warning.Message})
	}
	return all
}

func operationOf(operation *Operation) *pb.Operation {
	wire := &pb.Operation{
		Handle: operation.Handle, Verb: pb.OperationVerb(operation.Verb), PollAfter: wireDuration(operation.PollAfter), // One of three.
		Phase: operation.Phase, Message: operation.Message, PollDriven: operation.PollDriven, UpstreamOperationId: operation.UpstreamID,
	}
	if operation.Progress != nil {
		// One that is out of range stays so.
		progress := int32(max(-1, min(101, *operation.Progress))) // Bounded.
		wire.ProgressPercent = &progress
	}
	if !operation.Expires.IsZero() && operation.Expires.Before(time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)) {
		wire.ExpireTime = timestamppb.New(operation.Expires)
	}
	return wire
}
