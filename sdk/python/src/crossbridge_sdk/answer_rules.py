"""What leaves the plugin: the author's answer if it keeps the contract, else a failure that names the broken rule."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from . import convert, violation
from ._proto import discovery_service_pb2, failure_pb2, kind_pb2, observation_pb2, operation_pb2, outcome_pb2, resource_service_pb2
from .call import Call
from .failure import Failure, FailureCode, Internal, Rejected
from .kind import NameSource
from .published import PublishedKind
from .resource import place
from .secrets import Secrets
from .violation import DIFFS_LIMIT, STATE_LIMIT, VIOLATIONS_LIMIT, WARNINGS_LIMIT, Violation, missing, quoted

logger = logging.getLogger("crossbridge_sdk")

_VERBS = {
    "Create": operation_pb2.OPERATION_VERB_CREATE,
    "Update": operation_pb2.OPERATION_VERB_UPDATE,
    "Delete": operation_pb2.OPERATION_VERB_DELETE,
}
_NONE = failure_pb2.EFFECT_NONE
_OPERATION_FAILED = failure_pb2.FAILURE_CODE_OPERATION_FAILED


def invalid_answer(problem: Violation | str, where: str = "the plugin") -> Failure:
    """Returns the failure of an answer that breaks the contract: the author has a bug. `where`: the class, for the log."""
    logger.error("an answer breaks the contract: %s (%s)", problem, where)
    return Internal(f"the plugin's answer breaks the contract: {problem}", reason="InvalidAnswer")


def broken(problem: Violation | str, where: str = "the plugin") -> failure_pb2.Failure:
    """Returns the same for the body of an answer."""
    return convert.failure(invalid_answer(problem, where))


def well_formed(failure: Failure, where: str = "the plugin") -> failure_pb2.Failure:
    """Returns a failure for the body, in form."""
    try:
        wire = convert.failure(failure)
        _check_failure(wire, "failure")
    except Violation as problem:
        return broken(problem, where)
    return wire


def _check_failure(failure: failure_pb2.Failure, at: str) -> None:
    violation.pascal_case(failure.reason, f"{at}.reason")
    violation.required(failure.message, f"{at}.message")
    violation.name(failure.existing_external_name, f"{at}.existing_external_name")
    violation.count(len(failure.violations), VIOLATIONS_LIMIT, f"{at}.violations")
    for index, one in enumerate(failure.violations):
        if one.path:
            violation.pointer(one.path, f"{at}.violations[{index}].path")
            violation.name(one.path, f"{at}.violations[{index}].path")
        violation.required(one.message, f"{at}.violations[{index}].message")


def _check_operation(operation: operation_pb2.Operation, at: str, secrets: Secrets) -> None:
    violation.required(operation.handle, f"{at}.handle")
    violation.at_most(operation.handle, STATE_LIMIT, f"{at}.handle")
    _check_no_secret(operation.handle, f"{at}.handle", secrets)
    violation.name(operation.upstream_operation_id, f"{at}.upstream_operation_id")
    if operation.phase:
        violation.pascal_case(operation.phase, f"{at}.phase")


def _check_no_secret(text: str, field: str, secrets: Secrets) -> None:
    if secrets.stand_in(text):
        raise Violation(field, "is not allowed: it holds a credential or a sensitive value of the call")


class AnswerRules:
    """The rules of one kind's answers."""

    def __init__(self, kind: PublishedKind) -> None:
        self.kind = kind
        self.where = place(type(kind.resource))
        self._connection_keys = {key.name for key in kind.kind.connection_keys}

    def observe(self, call: Call, result: resource_service_pb2.ObserveResponse | Failure, secrets: Secrets) -> resource_service_pb2.ObserveResponse:
        """Returns the answer to an Observe."""
        if isinstance(result, Failure):
            return resource_service_pb2.ObserveResponse(failure=well_formed(result, self.where))
        try:
            self._check_observe(call, result, secrets)
        except Violation as problem:
            return resource_service_pb2.ObserveResponse(failure=broken(problem, self.where))
        return result

    def _check_observe(self, call: Call, result: resource_service_pb2.ObserveResponse, secrets: Secrets) -> None:
        if result.HasField("observation"):
            violation.required(result.observation.external_name, "observation.external_name")
            self._check_observation(result.observation, call.name, "observation", secrets)
        elif not result.absent.external_name and self.kind.kind.names.source is NameSource.DERIVED:
            raise missing("absent.external_name", "where names are derived")
        else:
            violation.name(result.absent.external_name, "absent.external_name")

    def _check_observation(self, observation: observation_pb2.Observation, sent_name: str, at: str, secrets: Secrets) -> None:
        for field in ("external_name", "canonical_id", "etag", "found_marker"):
            violation.name(getattr(observation, field), f"{at}.{field}")
        violation.at_most(observation.provider_state, STATE_LIMIT, f"{at}.provider_state")
        _check_no_secret(observation.provider_state, f"{at}.provider_state", secrets)
        violation.count(len(observation.diffs), DIFFS_LIMIT, f"{at}.diffs")
        for index, diff in enumerate(observation.diffs):
            violation.pointer(diff.path, f"{at}.diffs[{index}].path")
            violation.name(diff.path, f"{at}.diffs[{index}].path")
        if observation.HasField("operation"):
            _check_operation(observation.operation, f"{at}.operation", secrets)
        _check_warnings(observation.warnings, f"{at}.warnings")
        _check_name(observation.external_name, sent_name, f"{at}.external_name")
        if self.kind.wire.capabilities.diff_mode == kind_pb2.DIFF_MODE_PLUGIN and not observation.up_to_date:
            raise missing(f"{at}.up_to_date", "where the plugin compares")
        violation.details(observation.connection_details, f"{at}.connection_details")
        self._check_connection_keys(list(observation.connection_details), f"{at}.connection_details")

    def _check_connection_keys(self, keys: list[str], at: str) -> None:
        for key in keys:
            if key not in self._connection_keys:
                raise Violation(f"{at}[{quoted(key)}]", "is not allowed: the kind declares no such connection key")

    def outcome(self, rpc: str, call: Call, result: outcome_pb2.Outcome | Failure | Rejected, secrets: Secrets) -> outcome_pb2.Outcome:
        """Returns the answer to a call that changes something, or to a poll: with the name that the author recorded, whatever the result is."""
        recorded, sent = call.recorded_name, call.name
        if isinstance(result, Rejected):
            # Where the bridge knows the name a status may stand: that of a poll ends an operation that cannot be read.
            if not recorded or (rpc != "Create" and recorded == sent):
                raise result
            message = f"the call ended in the gRPC status {result.status.name} after the upstream had given a name: {result.message}"
            result = Internal(message, reason="StatusAfterName")
        outcome = outcome_pb2.Outcome(failure=well_formed(result, self.where)) if isinstance(result, Failure) else result
        outcome.external_name = outcome.external_name or recorded
        self._correct_effect(rpc, sent, recorded, outcome)
        try:
            self._check_outcome(rpc, sent, outcome, secrets)
        except Violation as problem:
            return self.salvaged(rpc, call, outcome, problem)
        return outcome

    def salvaged(self, rpc: str, call: Call, outcome: outcome_pb2.Outcome, problem: Violation | str) -> outcome_pb2.Outcome:
        """Returns the failure of an answer that breaks the contract, with what is well formed: names and keys may be given only once."""
        name = outcome.external_name or call.recorded_name
        saved = outcome_pb2.Outcome(failure=broken(problem, self.where), external_name=name, canonical_id=outcome.canonical_id)
        for key, value in outcome.connection_details.items():
            if key in self._connection_keys:
                saved.connection_details[key] = value
        # Each of these goes alone: it must not cost the name.
        try:
            violation.name(saved.canonical_id, "canonical_id")
        except Violation:
            saved.canonical_id = ""
        try:
            violation.details(saved.connection_details, "connection_details")
        except Violation:
            saved.connection_details.clear()
        # A name that contradicts the one that was sent goes with no answer.
        for name in (call.recorded_name, ""):
            try:
                self._check_outcome(rpc, call.name, saved, Secrets())
            except Violation:
                saved.external_name = name
        return saved

    @staticmethod
    def _correct_effect(rpc: str, sent_name: str, recorded: str, outcome: outcome_pb2.Outcome) -> None:
        """Corrects a failure that reports that nothing was changed, beside a name that the upstream gave: a name is given with a resource.

        Without this the bridge would forget the name, and create another. `NOT_FOUND` apart, which means that what had the name is absent.
        """
        is_new = bool(recorded) or (not sent_name and bool(outcome.external_name))
        if not is_new or not outcome.HasField("failure") or outcome.failure.effect != _NONE:
            return
        of_creation = rpc == "Create" and outcome.failure.code != FailureCode.NOT_FOUND.value
        if of_creation or (rpc == "PollOperation" and outcome.failure.code == _OPERATION_FAILED):
            outcome.failure.effect = failure_pb2.EFFECT_PARTIAL

    def _check_outcome(self, rpc: str, sent_name: str, outcome: outcome_pb2.Outcome, secrets: Secrets) -> None:
        violation.name(outcome.external_name, "external_name")
        violation.name(outcome.canonical_id, "canonical_id")
        violation.at_most(outcome.provider_state, STATE_LIMIT, "provider_state")
        _check_no_secret(outcome.provider_state, "provider_state", secrets)
        violation.details(outcome.connection_details, "connection_details")
        violation.connection_keys(list(outcome.connection_details))
        _check_warnings(outcome.warnings, "warnings")
        if outcome.HasField("operation"):
            _check_operation(outcome.operation, "operation", secrets)
        if outcome.HasField("failure"):
            _check_failure(outcome.failure, "failure")
        _check_name(outcome.external_name, sent_name, "external_name")
        self._check_result(rpc, sent_name, outcome)
        self._check_connection_keys(list(outcome.connection_details), "connection_details")
        if outcome.completed.HasField("observation"):
            self._check_observation(outcome.completed.observation, sent_name, "completed.observation", secrets)

    def _check_result(self, rpc: str, sent_name: str, outcome: outcome_pb2.Outcome) -> None:
        if outcome.HasField("completed"):
            if rpc == "Create" and not outcome.external_name and not sent_name:
                raise missing("external_name", "where a creation is complete")
            if rpc == "Delete" and outcome.completed.HasField("observation"):
                raise Violation("completed.observation", "is not allowed: nothing is left to observe after Delete")
        elif outcome.HasField("operation"):
            verb = _VERBS.get(rpc, outcome.operation.verb)
            if verb != outcome.operation.verb:
                reported = operation_pb2.OperationVerb.Name(outcome.operation.verb)
                raise Violation("operation.verb", f"is not allowed: the operation was begun by another call: it reports {reported}")
            if not self.kind.asynchronous:
                raise Violation("operation", "is not allowed: the class has no method poll, which would follow it")

    @staticmethod
    def listed(listed: discovery_service_pb2.ListExternalResponse) -> None:
        """Checks a page: each item has a name."""
        for index, item in enumerate(listed.items):
            violation.required(item.external_name, f"items[{index}].external_name")


def _check_name(name: str, sent_name: str, at: str) -> None:
    if name and sent_name and name != sent_name:
        raise Violation(at, f"is not allowed: the resource is {quoted(sent_name)}, and a name never changes")


def _check_warnings(warnings: Sequence[Any], at: str) -> None:
    violation.count(len(warnings), WARNINGS_LIMIT, at)
    for index, warning in enumerate(warnings):
        violation.pascal_case(warning.reason, f"{at}[{index}].reason")
        violation.required(warning.message, f"{at}[{index}].message")
