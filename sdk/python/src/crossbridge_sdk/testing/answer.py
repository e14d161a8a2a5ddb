"""What came of a call, and what a test expects of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from .. import failure as failures
from .._proto import failure_pb2, observation_pb2, operation_pb2, outcome_pb2, resource_service_pb2
from ..answer import Operation, OperationVerb
from ..document import read
from ..failure import Effect, Failure, FailureCode, Rejected

P = TypeVar("P", bound=BaseModel)
S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True)
class Found(Generic[P, S]):
    """An external resource as the plugin observed it: parameters and status as the author's types, and all of it as it is sent."""

    parameters: P
    status: S | None
    observation: observation_pb2.Observation


@dataclass(frozen=True)
class Completed(Generic[P, S]):
    """A call that is finished."""

    already_done: bool
    found: Found[P, S] | None


class _Types(Generic[P, S]):
    def __init__(self, parameters: type[P], status: type[S]) -> None:
        self._parameters = parameters
        self._status = status

    def _found(self, observation: observation_pb2.Observation) -> Found[P, S]:
        status = read(self._status, json.loads(observation.status.json)) if observation.HasField("status") else None
        return Found(read(self._parameters, json.loads(observation.parameters.json)), status, observation)


class Answer(_Types[P, S]):
    """The answer to a call that changes something, or to a poll: the body, or the status of a call that was not processed."""

    def __init__(self, parameters: type[P], status: type[S], answer: outcome_pb2.Outcome | Rejected) -> None:
        super().__init__(parameters, status)
        self.answer = answer

    def outcome(self) -> outcome_pb2.Outcome:
        """Returns the body."""
        assert not isinstance(self.answer, Rejected), f"the call was not processed: {self.answer.status.name}: {self.answer}"
        return self.answer

    def completed(self) -> Completed[P, S]:
        """It is finished."""
        outcome = self.outcome()
        assert outcome.HasField("completed"), f"not completed: {_shown(outcome)}"
        observed = outcome.completed.HasField("observation")
        return Completed(outcome.completed.already_done, self._found(outcome.completed.observation) if observed else None)

    def operation(self) -> Operation:
        """Returns the operation that was begun or goes on."""
        outcome = self.outcome()
        assert outcome.HasField("operation"), f"no operation: {_shown(outcome)}"
        return operation_of(outcome.operation)

    def failure(self) -> Failure:
        """Returns why the upstream, or the plugin on its behalf, failed the call."""
        outcome = self.outcome()
        assert outcome.HasField("failure"), f"no failure: {_shown(outcome)}"
        return failure_of(outcome.failure)

    def status(self) -> Rejected:
        """Returns why the call was not processed: a mistake of its caller's."""
        assert isinstance(self.answer, Rejected), f"the call was processed: {_shown(self.answer)}"
        return self.answer


class ObserveAnswer(_Types[P, S]):
    """The answer to an Observe: the body, or the status of a call that was not processed."""

    def __init__(self, parameters: type[P], status: type[S], answer: resource_service_pb2.ObserveResponse | Rejected) -> None:
        super().__init__(parameters, status)
        self.answer = answer

    def _body(self) -> resource_service_pb2.ObserveResponse:
        assert not isinstance(self.answer, Rejected), f"the call was not processed: {self.answer.status.name}: {self.answer}"
        return self.answer

    def found(self) -> Found[P, S]:
        """It exists."""
        body = self._body()
        assert body.HasField("observation"), f"not found: {body}"
        return self._found(body.observation)

    def absent(self) -> str:
        """The upstream reports that there is no such resource. Returns the name that it would have, where names are derived."""
        body = self._body()
        assert body.HasField("absent"), "not absent" if body.HasField("observation") else f"not absent: {body.failure}"
        return body.absent.external_name

    def failure(self) -> Failure:
        """Returns why the upstream could not be read."""
        body = self._body()
        assert body.HasField("failure"), "no failure"
        return failure_of(body.failure)

    def status(self) -> Rejected:
        """Returns why the call was not processed: a mistake of its caller's."""
        assert isinstance(self.answer, Rejected), "the call was processed"
        return self.answer


def _shown(outcome: outcome_pb2.Outcome) -> str:
    """Returns an outcome without its connection details."""
    shown = outcome_pb2.Outcome()
    shown.CopyFrom(outcome)
    shown.ClearField("connection_details")
    shown.completed.observation.ClearField("connection_details") if shown.completed.HasField("observation") else None
    return str(shown)


def operation_of(wire: operation_pb2.Operation) -> Operation:
    """Returns an operation as authors write it."""
    poll_after: timedelta | None = wire.poll_after.ToTimedelta() if wire.HasField("poll_after") else None
    return Operation(
        handle=wire.handle,
        verb=OperationVerb(wire.verb),
        poll_after=poll_after,
        progress=wire.progress_percent if wire.HasField("progress_percent") else None,
        phase=wire.phase,
        message=wire.message,
        poll_driven=wire.poll_driven,
        upstream_id=wire.upstream_operation_id,
    )


def failure_of(wire: failure_pb2.Failure) -> Failure:
    """Returns a failure as authors raise it."""
    code = FailureCode(wire.code)
    kind: Any = getattr(failures, "".join(part.capitalize() for part in code.name.split("_")))
    more = {"retry_after": wire.retry_after.ToTimedelta()} if wire.HasField("retry_after") else {}
    failure: Failure = kind(wire.message, reason=wire.reason, effect=Effect(wire.effect) if wire.effect else Effect.UNKNOWN, **more)
    failure.violations = {violation.path: violation.message for violation in wire.violations}
    failure.existing_external_name = wire.existing_external_name
    return failure
