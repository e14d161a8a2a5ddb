package crossbridge

import (
	"context"
	"fmt"
	"reflect"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

func newOf(of *Type) any { return reflect.New(of.of).Interface() }

// panicType names what a panic was raised with: its text may hold anything.
func panicType(panicked any) string { return fmt.Sprintf("%T", panicked) }

// call checks type, capability, name and config, and gives the context that the author's code gets.
func (s *service) call(begun begun, request resourceRequest) (servedKind, *answerTo, error) {
	target := request.GetTarget()
	kind, err := s.kind(target.GetResourceType())
	if err != nil {
		return nil, nil, err
	}
	published := kind.published()
	call := callOf(target, request.GetDesired().GetSensitiveValues(), begun.id, begun.trace)
	answer := &answerTo{
		service: s, kind: published, call: &call, secrets: secretsOf(target.GetConfig(), request.GetDesired().GetSensitiveValues()),
	}
	switch request.(type) {
	case *pb.DeleteRequest, *pb.PollOperationRequest:
		call.requiresMarker = published.recoversBy(pb.CreateRecovery_CREATE_RECOVERY_MARKER)
	}
	serves := true
	capabilities := published.wire.GetCapabilities()
	switch request.(type) {
	case *pb.CreateRequest:
		answer.verb, serves = pb.OperationVerb_OPERATION_VERB_CREATE, capabilities.GetCanCreate()
	case *pb.UpdateRequest:
		answer.verb, serves = pb.OperationVerb_OPERATION_VERB_UPDATE, capabilities.GetCanUpdate()
	case *pb.DeleteRequest:
		answer.verb, serves = pb.OperationVerb_OPERATION_VERB_DELETE, capabilities.GetCanDelete()
	case *pb.PollOperationRequest:
		serves = published.canPoll
	}
	if !serves {
		return kind, answer, errUnserved
	}
	if err := published.checkNameOf(request); err != nil {
		return kind, answer, err
	}
	return kind, answer, s.checkConfig(target.GetConfig())
}

// checkNameOf rejects a name where none may be, none where one must be, and one of a wrong form.
func (p *published) checkNameOf(request resourceRequest) error {
	name, source := request.GetTarget().GetExternalName(), p.wire.GetExternalName().GetSource()
	_, creates := request.(*pb.CreateRequest)
	_, observes := request.(*pb.ObserveRequest)
	const field = "target.external_name"
	switch {
	case name == "" && creates && source == pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_USER:
		return Reject(field, "is required: the user gives this kind's names")
	case name == "" && observes && source != pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_DERIVED &&
		!p.recoversBy(pb.CreateRecovery_CREATE_RECOVERY_MARKER):
		return Reject(field, "is required: this kind cannot be observed without a name")
	case name == "":
		return nil
	case creates && source == pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_PROVIDER:
		return Reject(field, "is not allowed: the upstream gives this kind's names")
	}
	if why := p.checkName(name); why != "" {
		return InvalidSpec("the external name is not valid: %s", why).WithReason("InvalidExternalName").WithViolation("", why)
	}
	return nil
}

// Observe reads one resource.
func (s *service) Observe(ctx context.Context, request *pb.ObserveRequest) (*pb.ObserveResponse, error) {
	begun, err := s.begin(ctx, "Observe", request, false)
	if err != nil {
		return nil, err
	}
	defer begun.cancel()
	kind, answer, err := s.call(begun, request)
	if answer == nil {
		return nil, err
	}
	var response *pb.ObserveResponse
	if err == nil {
		response, err = guarded(begun, s, func(ctx context.Context) (*pb.ObserveResponse, error) {
			return kind.observe(ctx, *answer.call, request)
		})
	}
	response, err = answer.observe(begun.ctx, response, err)
	if err == nil {
		s.logEnd(begun.ctx, response.GetFailure())
	}
	return response, err
}

// execute serves a call that may change something, or a poll.
func (s *service) execute(ctx context.Context, rpc string, request interface {
	proto.Message
	resourceRequest
}, changes bool,
) (*pb.Outcome, error) {
	begun, err := s.begin(ctx, rpc, request, changes)
	if err != nil {
		return nil, err
	}
	defer begun.cancel()
	kind, answer, err := s.call(begun, request)
	if answer == nil {
		return nil, err
	}
	var work func(context.Context) (*pb.Outcome, error)
	if err == nil {
		work, err = kind.read(*answer.call, request)
	}
	var outcome *pb.Outcome
	if err == nil {
		outcome, err = guarded(begun, s, work)
	}
	if ctx.Err() == context.Canceled { // The context's own.
		// Nobody waits for it.
		Logger(begun.ctx).Info("cancelled")
		return nil, reject(codes.Canceled, "the caller has cancelled")
	}
	outcome, err = answer.outcome(begun.ctx, outcome, err)
	if err == nil {
		s.logEnd(begun.ctx, outcome.GetFailure())
	}
	return outcome, err
}

// Create creates one resource.
func (s *service) Create(ctx context.Context, request *pb.CreateRequest) (*pb.CreateResponse, error) {
	outcome, err := s.execute(ctx, "Create", request, true)
	if err != nil {
		return nil, err
	}
	return &pb.CreateResponse{Outcome: outcome}, nil
}

// Update changes one resource.
func (s *service) Update(ctx context.Context, request *pb.UpdateRequest) (*pb.UpdateResponse, error) {
	outcome, err := s.execute(ctx, "Update", request, true)
	if err != nil {
		return nil, err
	}
	return &pb.UpdateResponse{Outcome: outcome}, nil
}

// Delete removes one resource.
func (s *service) Delete(ctx context.Context, request *pb.DeleteRequest) (*pb.DeleteResponse, error) {
	outcome, err := s.execute(ctx, "Delete", request, true)
	if err != nil {
		return nil, err
	}
	return &pb.DeleteResponse{Outcome: outcome}, nil
}

// PollOperation follows an operation.
func (s *service) PollOperation(ctx context.Context, request *pb.PollOperationRequest) (*pb.PollOperationResponse, error) {
	outcome, err := s.execute(ctx, "PollOperation", request, false)
	if err != nil {
		return nil, err
	}
	return &pb.PollOperationResponse{Outcome: outcome}, nil
}
