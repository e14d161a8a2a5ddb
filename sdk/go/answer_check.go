package crossbridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"crossbridge.dev/sdk/go/internal/check"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

const reasonInvalidAnswer = "InvalidAnswer"

// invalidAnswer is a bug of the plugin's author: the answer does not leave.
func invalidAnswer(format string, arguments ...any) *Failure {
	return Internal("the plugin's answer breaks the contract: %s", fmt.Sprintf(format, arguments...)).WithReason(reasonInvalidAnswer)
}

// answerTo is what leaves for one call: the author's answer if it keeps the contract, else a failure that names the broken rule.
type answerTo struct {
	service *service
	kind    *published
	call    *Call
	// verb of the call; 0: a poll, which follows an operation of any verb, or an Observe.
	verb    pb.OperationVerb
	secrets secrets
}

func (a *answerTo) observe(ctx context.Context, response *pb.ObserveResponse, err error) (*pb.ObserveResponse, error) {
	if err == nil {
		a.secrets.redactObservation(response.GetObservation())
		if violation := a.checkObserve(response); violation != nil {
			return &pb.ObserveResponse{Result: &pb.ObserveResponse_Failure{Failure: a.broken(ctx, violation)}}, nil
		}
	}
	if err != nil {
		failure, err := a.failure(ctx, err)
		if err != nil {
			return nil, err
		}
		return &pb.ObserveResponse{Result: &pb.ObserveResponse_Failure{Failure: failure}}, nil
	}
	return response, nil
}

func (a *answerTo) checkObserve(response *pb.ObserveResponse) *check.Violation {
	if observation := response.GetObservation(); observation != nil {
		return check.First(check.Required(observation.GetExternalName(), "observation.external_name"), a.observation(observation, "observation."))
	}
	if response.GetAbsent().GetExternalName() == "" && a.kind.wire.GetExternalName().GetSource() == pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_DERIVED {
		return check.New("absent.external_name", "is required where names are derived, and is not set")
	}
	return check.Name(response.GetAbsent().GetExternalName(), "absent.external_name")
}

// outcome is the answer to a call that changes something, or to a poll. The name that was recorded stands in it whatever the result is, and what the
// author returned beside an error.
func (a *answerTo) outcome(ctx context.Context, outcome *pb.Outcome, err error) (*pb.Outcome, error) {
	recorded, sent := a.call.recorded.get(), a.call.ExternalName
	if err != nil {
		name := cmp.Or(outcome.GetExternalName(), recorded)
		// Where the bridge knows the name, a status may stand: that of a poll rejects a handle that cannot be read.
		isNews := a.verb == pb.OperationVerb_OPERATION_VERB_CREATE || name != sent
		failure, err := a.failure(ctx, err)
		if err != nil && (name == "" || !isNews) {
			return nil, err
		}
		if err != nil {
			// A status means that nothing was done, and cannot carry a name.
			failure = Internal("the call was rejected after the upstream had given a name: %v", err).WithReason("StatusAfterName").wire()
			a.secrets.redactFailure(failure)
		}
		outcome = &pb.Outcome{
			ExternalName: name, CanonicalId: outcome.GetCanonicalId(), ConnectionDetails: outcome.GetConnectionDetails(),
			Result: &pb.Outcome_Failure{Failure: failure},
		}
	}
	if outcome.GetExternalName() == "" {
		outcome.ExternalName = recorded
	}
	a.correctEffect(outcome, recorded)
	a.secrets.redactOutcome(outcome)
	violation := a.checkOutcome(outcome)
	if violation == nil {
		return outcome, nil
	}
	// What is well formed goes along: names and keys may be given only once.
	salvaged := &pb.Outcome{
		ExternalName: outcome.GetExternalName(), CanonicalId: outcome.GetCanonicalId(), ConnectionDetails: maps.Clone(outcome.GetConnectionDetails()),
		Result: &pb.Outcome_Failure{Failure: a.broken(ctx, violation)},
	}
	maps.DeleteFunc(salvaged.ConnectionDetails, func(key string, _ []byte) bool { return !a.kind.declares(key) })
	// Each of these goes alone: it must not cost the name.
	if check.Name(salvaged.GetCanonicalId(), "canonical_id") != nil {
		salvaged.CanonicalId = ""
	}
	if check.Details(salvaged.GetConnectionDetails(), "connection_details") != nil {
		salvaged.ConnectionDetails = nil
	}
	// A name that contradicts the one that was sent goes with no answer.
	for _, name := range []string{recorded, ""} {
		if a.checkOutcome(salvaged) != nil {
			salvaged.ExternalName = name
		}
	}
	return salvaged, nil
}

// correctEffect corrects a failure that reports that nothing was changed, beside a name that the upstream gave: something was, as a name is given with a
// resource. Without this the bridge would forget the name, and create another. NOT_FOUND apart, which means that what had the name is absent.
func (a *answerTo) correctEffect(outcome *pb.Outcome, recorded string) {
	failure := outcome.GetFailure()
	isNew := recorded != "" || a.call.ExternalName == "" && outcome.GetExternalName() != ""
	if failure.GetEffect() != pb.Effect_EFFECT_NONE || !isNew {
		return
	}
	switch a.verb {
	case pb.OperationVerb_OPERATION_VERB_CREATE:
		if failure.GetCode() != pb.FailureCode_FAILURE_CODE_NOT_FOUND {
			failure.Effect = pb.Effect_EFFECT_PARTIAL
		}
	case pb.OperationVerb_OPERATION_VERB_UNSPECIFIED:
		// Of a poll, any other failure is the poll's own.
		if failure.GetCode() == pb.FailureCode_FAILURE_CODE_OPERATION_FAILED {
			failure.Effect = pb.Effect_EFFECT_PARTIAL
		}
	}
}

func (a *answerTo) checkOutcome(outcome *pb.Outcome) *check.Violation {
	violation := check.First(check.Name(outcome.GetExternalName(), "external_name"), check.Name(outcome.GetCanonicalId(), "canonical_id"),
		a.name(outcome.GetExternalName(), "external_name"), a.state(outcome.GetProviderState(), "provider_state"),
		a.connection(outcome.GetConnectionDetails(), "connection_details"), checkWarnings(outcome.GetWarnings(), "warnings"))
	switch {
	case violation != nil:
		return violation
	case outcome.GetFailure() != nil:
		return checkFailure(outcome.GetFailure())
	case outcome.GetOperation() != nil:
		operation := outcome.GetOperation()
		if a.verb != 0 && operation.GetVerb() != a.verb {
			return check.NotAllowed("operation.verb", "the operation was begun by another call: it reports %v", operation.GetVerb())
		}
		return a.operation(operation, "operation.")
	}
	observation := outcome.GetCompleted().GetObservation()
	switch {
	case a.verb == pb.OperationVerb_OPERATION_VERB_CREATE && outcome.GetExternalName() == "" && a.call.ExternalName == "":
		return check.New("external_name", "is required where a creation is complete, and is not set")
	case a.verb == pb.OperationVerb_OPERATION_VERB_DELETE && observation != nil:
		return check.NotAllowed("completed.observation", "nothing is left to observe after Delete")
	case observation != nil:
		return a.observation(observation, "completed.observation.")
	}
	return nil
}

func (a *answerTo) name(name, field string) *check.Violation {
	if sent := a.call.ExternalName; name != "" && sent != "" && name != sent {
		return check.NotAllowed(field, "the resource is %q, and a name never changes", sent)
	}
	return nil
}

func (a *answerTo) state(state, field string) *check.Violation {
	if a.secrets.in(state) {
		return check.NotAllowed(field, "it holds a credential or a sensitive value")
	}
	return check.First(check.AtMost(state, check.StateLimit, field), check.UTF8(state, field))
}

func (a *answerTo) connection(details map[string][]byte, field string) *check.Violation {
	for key := range details {
		if !a.kind.declares(key) {
			return check.NotAllowed(fmt.Sprintf("%s[%q]", field, key), "the kind declares no such connection key")
		}
	}
	return check.Details(details, field)
}

func (a *answerTo) operation(operation *pb.Operation, at string) *check.Violation {
	violation := check.First(check.Required(operation.GetHandle(), at+"handle"), a.state(operation.GetHandle(), at+"handle"),
		check.UTF8(operation.GetMessage(), at+"message"), check.Name(operation.GetUpstreamOperationId(), at+"upstream_operation_id"))
	if operation.GetVerb() == 0 {
		violation = check.First(violation, check.Missing(at+"verb"))
	}
	if progress := operation.GetProgressPercent(); progress < 0 || progress > 100 {
		violation = check.First(violation, check.New(at+"progress_percent", "is out of range: 0 to 100 is allowed"))
	}
	if operation.GetPhase() != "" {
		violation = check.First(violation, check.PascalCase(operation.GetPhase(), at+"phase"))
	}
	return violation
}

func (a *answerTo) observation(observation *pb.Observation, at string) *check.Violation {
	violation := check.First(a.name(observation.GetExternalName(), at+"external_name"), a.state(observation.GetProviderState(), at+"provider_state"),
		a.connection(observation.GetConnectionDetails(), at+"connection_details"), checkWarnings(observation.GetWarnings(), at+"warnings"),
		check.Name(observation.GetExternalName(), at+"external_name"), check.UTF8(observation.GetReadyMessage(), at+"ready_message"),
		check.Name(observation.GetEtag(), at+"etag"), check.Name(observation.GetFoundMarker(), at+"found_marker"),
		check.Name(observation.GetCanonicalId(), at+"canonical_id"), check.Count(len(observation.GetDiffs()), check.DiffsLimit, at+"diffs"))
	for i, diff := range observation.GetDiffs() {
		path := fmt.Sprintf("%sdiffs[%d].path", at, i)
		violation = check.First(violation, check.Pointer(diff.GetPath(), path), check.Name(diff.GetPath(), path))
	}
	if operation := observation.GetOperation(); operation != nil {
		violation = check.First(violation, a.operation(operation, at+"operation."))
	}
	compares := a.kind.wire.GetCapabilities().GetDiffMode() == pb.DiffMode_DIFF_MODE_PLUGIN
	if compares && observation.GetUpToDate() == pb.Tristate_TRISTATE_UNSPECIFIED {
		violation = check.First(violation, check.New(at+"up_to_date", "is required where the plugin compares, and is not set"))
	}
	if !compares && observation.GetUpToDate() != pb.Tristate_TRISTATE_UNSPECIFIED {
		violation = check.First(violation, check.NotAllowed(at+"up_to_date", "the bridge compares, as the kind does not declare PluginCompares"))
	}
	return violation
}

func checkWarnings(warnings []*pb.Warning, field string) *check.Violation {
	if violation := check.Count(len(warnings), check.WarningsLimit, field); violation != nil {
		return violation
	}
	for i, warning := range warnings {
		at := fmt.Sprintf("%s[%d].", field, i)
		if violation := check.First(check.PascalCase(warning.GetReason(), at+"reason"), check.Required(warning.GetMessage(), at+"message"),
			check.UTF8(warning.GetMessage(), at+"message")); violation != nil {
			return violation
		}
	}
	return nil
}

func checkFailure(failure *pb.Failure) *check.Violation {
	violation := check.First(check.PascalCase(failure.GetReason(), "failure.reason"), check.Required(failure.GetMessage(), "failure.message"),
		check.UTF8(failure.GetMessage(), "failure.message"), check.Name(failure.GetExistingExternalName(), "failure.existing_external_name"),
		check.UTF8(failure.GetUpstreamCode(), "failure.upstream_code"), check.UTF8(failure.GetUpstreamRequestId(), "failure.upstream_request_id"),
		check.Count(len(failure.GetViolations()), check.ViolationsLimit, "failure.violations"))
	for i, field := range failure.GetViolations() {
		at := fmt.Sprintf("failure.violations[%d].", i)
		if field.GetPath() != "" {
			violation = check.First(violation, check.Pointer(field.GetPath(), at+"path"), check.Name(field.GetPath(), at+"path"))
		}
		violation = check.First(violation, check.Required(field.GetMessage(), at+"message"), check.UTF8(field.GetMessage(), at+"message"))
	}
	return violation
}

// broken is the failure that leaves in the stead of an answer that breaks the contract.
func (a *answerTo) broken(ctx context.Context, violation *check.Violation) *pb.Failure {
	text := violation.Error()
	a.secrets.redact(&text)
	a.logBroken(ctx, text)
	return invalidAnswer("%s", text).wire()
}

// logger says which code it is: the author's type, with the line that serves it.
func (a *answerTo) logger(ctx context.Context) *slog.Logger {
	if a.kind == nil {
		return Logger(ctx)
	}
	return Logger(ctx).With("source", a.kind.source)
}

func (a *answerTo) logBroken(ctx context.Context, violation string) {
	a.logger(ctx).Error("the plugin's answer breaks the contract", "violation", violation)
}

// logBug names an error by its types, outermost first: its text may hold anything, secrets too.
func (a *answerTo) logBug(ctx context.Context, err error) {
	var types []string
	for ; err != nil; err = errors.Unwrap(err) {
		types = append(types, fmt.Sprintf("%T", err))
	}
	a.logger(ctx).Error("a bug in the plugin, or an error that MapError does not know", "error", types)
}

// failure is an error's, in form and without secrets; or the status that stands in its stead.
func (a *answerTo) failure(ctx context.Context, err error) (*pb.Failure, error) {
	failure, rejected := a.service.plugin.failureOf(err)
	if rejected != nil {
		redacted := *rejected
		a.secrets.redact(&redacted.message)
		return nil, &redacted
	}
	wire := failure.wire()
	a.secrets.redactFailure(wire)
	var own *Failure
	switch isOwn := errors.As(err, &own); {
	case isOwn && failure.reason == reasonInvalidAnswer:
		a.logBroken(ctx, wire.GetMessage())
	case !isOwn && failure.code == CodeInternal:
		a.logBug(ctx, err)
	}
	if violation := checkFailure(wire); violation != nil {
		wire = a.broken(ctx, violation)
	}
	return wire, nil
}
