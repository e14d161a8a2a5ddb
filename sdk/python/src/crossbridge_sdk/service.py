"""The contract's services over a plugin's kinds. Each method answers, or raises `Rejected` for a gRPC status."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.message import Message
from pydantic import BaseModel

from . import convert, document, failure, log, requests
from ._proto import discovery_service_pb2, outcome_pb2, plugin_service_pb2, resource_service_pb2, target_pb2
from .answer import Absent, Listed, Observation, Operation, Outcome
from .answer_rules import AnswerRules, broken, invalid_answer, well_formed
from .call import Call, Config, ConfigCall, Create, Deadline, Delete, Desired, List, Owner, Poll, Target, Update, read_parameters
from .convert import Converter
from .document import Json, Mismatch
from .failure import CredentialsExpired, Failure, InvalidArgument, Mapped, Rejected
from .guard import Contained, Guard
from .kind import RecoveryWay
from .metadata import Metadata
from .published import PublishedKind, type_text
from .secrets import Secrets
from .violation import Violation

logger = logging.getLogger("crossbridge_sdk")

# Kinds on one page, where the caller sets no limit.
PAGE_SIZE = 100
# Of the year 9999.
LAST_SECOND = 253_402_300_799

CheckConfig = Callable[[ConfigCall], str | Awaitable[str]]


@dataclass
class Declared:
    """A plugin, ready to be asked."""

    info: plugin_service_pb2.GetPluginInfoResponse
    kinds: Mapping[str, PublishedKind]
    settings: type[BaseModel] | None = None
    check_config: CheckConfig | None = None
    required_credentials: Sequence[str] = ()
    failures: Mapped = field(default_factory=dict)


class _Kind:
    """A kind with what converts and checks its answers."""

    def __init__(self, published: PublishedKind) -> None:
        self.published = published
        self.convert = Converter(published)
        self.rules = AnswerRules(published)


class Service:
    """A plugin that is asked."""

    def __init__(self, declared: Declared, guard: Guard | None = None) -> None:
        self.info = declared.info
        self.kinds = {name: _Kind(declared.kinds[name]) for name in sorted(declared.kinds, key=lambda one: _order(declared.kinds[one]))}
        self.guard = guard or Guard(declared.info.max_concurrent_calls)
        self._declared = declared

    @property
    def lists_external(self) -> bool:
        """Whether a kind is listable."""
        return any(kind.published.listable for kind in self.kinds.values())

    # What the plugin is and what it serves.

    async def get_plugin_info(
        self, request: plugin_service_pb2.GetPluginInfoRequest, _metadata: Metadata
    ) -> plugin_service_pb2.GetPluginInfoResponse:
        """Answers who this is."""
        logger.debug("asked who this is by bridge %s", request.bridge_version)
        return self.info

    async def list_resource_kinds(
        self, request: plugin_service_pb2.ListResourceKindsRequest, _metadata: Metadata
    ) -> plugin_service_pb2.ListResourceKindsResponse:
        """Answers a page of kinds. The token names the last kind of the page before: it is good on any replica."""
        _check(request)
        names = list(self.kinds)
        if request.page_token and request.page_token not in names:
            raise InvalidArgument("page_token", "is of no page of this plugin")
        rest = names[names.index(request.page_token) + 1 :] if request.page_token else names
        page = rest[: request.page_size or PAGE_SIZE]
        kinds = [self.kinds[name].published for name in page]
        return plugin_service_pb2.ListResourceKindsResponse(
            kinds=[plugin_service_pb2.ResourceKindSummary(resource_type=kind.wire.resource_type, digest=kind.digest) for kind in kinds],
            next_page_token=page[-1] if len(page) < len(rest) else "",
        )

    async def get_resource_kind(
        self, request: plugin_service_pb2.GetResourceKindRequest, _metadata: Metadata
    ) -> plugin_service_pb2.GetResourceKindResponse:
        """Answers everything about one kind."""
        _check(request)
        return plugin_service_pb2.GetResourceKindResponse(resource_kind=self._kind(request.resource_type).published.wire)

    async def check_config(self, request: plugin_service_pb2.CheckConfigRequest, metadata: Metadata) -> plugin_service_pb2.CheckConfigResponse:
        """Answers whether a config is usable."""
        with log.of_call("CheckConfig", metadata):
            deadline = metadata.deadline_of_read()
            _check(request)
            config = _config(request.config)
            secrets = Secrets(config.secrets())
            result = await self._verdict(config, deadline, metadata)
            response = plugin_service_pb2.CheckConfigResponse()
            if isinstance(result, Failure):
                response.failure.CopyFrom(well_formed(result))
            elif isinstance(result, Rejected):
                raise _redacted(result, secrets)
            elif isinstance(result, str):
                response.identity = result
            else:
                response.failure.CopyFrom(broken(f"check_config returned {type(result).__name__}; it must return a text"))
            secrets.redact(response)
            _log_ending(response.failure if response.HasField("failure") else None, "usable", logging.DEBUG)
            return response

    async def _verdict(self, config: Config, deadline: Deadline, metadata: Metadata) -> Any:
        check = self._declared.check_config

        async def work() -> Any:
            self._check_credentials(config)
            if self._declared.settings is not None:
                config.settings(self._declared.settings)
            if check is None:
                return ""
            call = ConfigCall(config=config, deadline=deadline, id=metadata.call_id, traceparent=metadata.traceparent)
            return await self.guard.guarded(_without_request(check), call, None)

        return await self._result(work)

    # The life of one external resource.

    async def observe(self, request: resource_service_pb2.ObserveRequest, metadata: Metadata) -> resource_service_pb2.ObserveResponse:
        """Answers an Observe."""
        with log.of_call("Observe", metadata) as fields:
            kind, call, secrets = self._begin("Observe", request, metadata, fields)
            desired = self._desired(kind, request.desired)

            async def work() -> Any:
                self._check_call("Observe", kind, call)
                observed = await self.guard.guarded(kind.published.resource.observe, call, _known(kind, desired))
                _check_type(kind, "observe", observed, (Observation, Absent))
                with _conversion(kind, "observe"):
                    return kind.convert.observed(observed, desired.json)

            result = await self._result(work, kind.rules.where)
            if isinstance(result, Rejected):
                raise _redacted(result, secrets)
            answer = kind.rules.observe(call, result, secrets)
            secrets.redact(answer)
            ending = "absent" if answer.HasField("absent") else "found"
            _log_ending(answer.failure if answer.HasField("failure") else None, ending, logging.DEBUG)
            return answer

    async def create(self, request: resource_service_pb2.CreateRequest, metadata: Metadata) -> resource_service_pb2.CreateResponse:
        """Answers a Create."""
        return resource_service_pb2.CreateResponse(outcome=await self._change("Create", request, metadata))

    async def update(self, request: resource_service_pb2.UpdateRequest, metadata: Metadata) -> resource_service_pb2.UpdateResponse:
        """Answers an Update."""
        return resource_service_pb2.UpdateResponse(outcome=await self._change("Update", request, metadata))

    async def delete(self, request: resource_service_pb2.DeleteRequest, metadata: Metadata) -> resource_service_pb2.DeleteResponse:
        """Answers a Delete."""
        return resource_service_pb2.DeleteResponse(outcome=await self._change("Delete", request, metadata))

    async def poll_operation(
        self, request: resource_service_pb2.PollOperationRequest, metadata: Metadata
    ) -> resource_service_pb2.PollOperationResponse:
        """Answers a poll."""
        return resource_service_pb2.PollOperationResponse(outcome=await self._change("PollOperation", request, metadata))

    async def _change(self, rpc: str, request: Any, metadata: Metadata) -> outcome_pb2.Outcome:
        with log.of_call(rpc, metadata) as fields:
            kind, call, secrets = self._begin(rpc, request, metadata, fields)

            async def work() -> Any:
                self._check_call(rpc, kind, call)
                name, method, asked, desired = self._asked(rpc, kind, request)
                changed = await self.guard.guarded(method, call, asked)
                _check_type(kind, name, changed, (Outcome, Operation))
                changed = Outcome.operation(changed) if isinstance(changed, Operation) else changed
                try:
                    with _conversion(kind, name):
                        return kind.convert.outcome(changed, desired)
                except Violation as problem:
                    return kind.rules.salvaged(rpc, call, convert.named(changed), problem)

            try:
                outcome = kind.rules.outcome(rpc, call, await self._result(work, kind.rules.where), secrets)
            except Rejected as rejected:
                raise _redacted(rejected, secrets) from None
            secrets.redact(outcome)
            ending = "operation" if outcome.HasField("operation") else "completed"
            if outcome.external_name:
                fields["name"] = outcome.external_name
            # An operation may be polled each second.
            goes_on = rpc == "PollOperation" and ending == "operation"
            _log_ending(outcome.failure if outcome.HasField("failure") else None, ending, logging.DEBUG if goes_on else logging.INFO)
            return outcome

    def _asked(self, rpc: str, kind: _Kind, request: Any) -> tuple[str, Callable[..., Any], Any, Json | None]:
        """Returns the author's method, its name, its request, and the desired state that differences are compared with."""
        resource, desired = kind.published.resource, self._desired(kind, request.desired)
        match rpc:
            case "Create":
                create = Create[Any](
                    desired=_typed(kind, desired),
                    client_request_token=request.client_request_token,
                    outcome_unknown=request.outcome_unknown,
                )
                return "create", resource.create, create, desired.json
            case "Update":
                update = Update[Any](desired=_typed(kind, desired), changed_paths=tuple(request.changed_paths), etag=request.etag)
                return "update", resource.update, update, desired.json
            case "Delete":
                return "delete", resource.delete, Delete[Any](desired=_known(kind, desired), etag=request.etag), None
            case _:
                return "poll", resource.poll, Poll[Any](handle=request.handle, desired=_known(kind, desired)), desired.json

    # What exists.

    async def list_external(
        self, request: discovery_service_pb2.ListExternalRequest, metadata: Metadata
    ) -> discovery_service_pb2.ListExternalResponse:
        """Answers a page of what exists."""
        with log.of_call("ListExternal", metadata) as fields:
            deadline = metadata.deadline_of_read()
            _check(request)
            kind = self._kind(request.resource_type)
            fields["kind"] = kind.published.kind.kind
            kind.published.check_capability("ListExternal")
            config = _config(request.config)
            secrets = Secrets(config.secrets())
            call = ConfigCall(config=config, deadline=deadline, id=metadata.call_id, traceparent=metadata.traceparent)
            asked = List(
                filter=document.parse_object(request.filter.json, "filter.json") if request.HasField("filter") else {},
                page_size=request.page_size,
                page_token=request.page_token,
                include_parameters=request.include_parameters,
            )

            async def work() -> Any:
                self._check_credentials(config)
                listed = await self.guard.guarded(kind.published.resource.list, call, asked)
                _check_type(kind, "list", listed, (Listed,))
                with _conversion(kind, "list"):
                    page = kind.convert.listed(listed)
                    kind.rules.listed(page)
                    return page

            result = await self._result(work, kind.rules.where)
            if isinstance(result, Rejected):
                raise _redacted(result, secrets)
            page = discovery_service_pb2.ListExternalResponse()
            if isinstance(result, Failure):
                page.failure.CopyFrom(well_formed(result, kind.rules.where))
            else:
                page = result
            secrets.redact(page)
            _log_ending(page.failure if page.HasField("failure") else None, "listed", logging.DEBUG)
            return page

    # What all of them share.

    def _kind(self, resource_type: target_pb2.ResourceType) -> _Kind:
        kind = self.kinds.get(type_text(resource_type))
        if kind is None:
            raise Rejected(grpc.StatusCode.NOT_FOUND, f"{self.info.name} does not serve {type_text(resource_type)}")
        return kind

    def _begin(self, rpc: str, request: Any, metadata: Metadata, fields: dict[str, str]) -> tuple[_Kind, Call, Secrets]:
        """Runs every check whose failure is a status, in the contract's order, up to the kind's capabilities."""
        reads = rpc in ("Observe", "PollOperation")
        deadline = metadata.deadline_of_read() if reads else metadata.deadline_of_change()
        _check(request)
        target = request.target
        kind = self._kind(target.resource_type)
        fields["kind"] = kind.published.kind.kind
        fields["owner"] = f"{target.owner.namespace}/{target.owner.name}"
        if target.external_name:
            fields["name"] = target.external_name
        kind.published.check_capability(rpc)
        config = _config(target.config)
        call = Call(
            config=config,
            deadline=deadline,
            id=metadata.call_id,
            traceparent=metadata.traceparent,
            target=Target(
                external_name=target.external_name,
                ownership_marker=target.ownership_marker,
                former_marker=target.former_marker,
                provider_state=target.provider_state,
                owner=Owner(namespace=target.owner.namespace, name=target.owner.name, uid=target.owner.uid, generation=target.owner.generation),
            ),
            resource_type=(target.resource_type.group, target.resource_type.version, target.resource_type.kind),
            requires_marker=rpc in ("Delete", "PollOperation") and RecoveryWay.MARKER in kind.published.kind.ways,
        )
        return kind, call, Secrets([*config.secrets(), *request.desired.sensitive_values.values()])

    def _check_call(self, rpc: str, kind: _Kind, call: Call) -> None:
        kind.published.check_name(rpc, call.name)
        self._check_credentials(call.config)

    def _check_credentials(self, config: Config) -> None:
        if config.has_expired:
            raise CredentialsExpired("the provider config's credentials have expired")
        if not config.is_ambient:
            for key in self._declared.required_credentials:
                config.required_credential(key)

    @staticmethod
    def _desired(kind: _Kind, desired: target_pb2.DesiredState) -> Desired[None]:
        text = desired.parameters.json
        return Desired(
            parameters=None,
            json=document.parse_object(text, "desired.parameters.json") if text else {},
            sensitive_values=dict(desired.sensitive_values),
            sensitive_paths=kind.published.sensitive_paths,
        )

    async def _result(self, work: Callable[[], Awaitable[Any]], where: str = "the plugin") -> Any:
        """Returns what the work returns, a `Failure`, or `Rejected`: nothing else leaves. `where`: the class that is asked, for the log."""
        try:
            return await work()
        except (Failure, Rejected) as said:
            return said
        except Violation as problem:
            return invalid_answer(problem, where)
        except Contained as contained:
            error = failure.unwrapped(contained.error)
            if isinstance(error, (Failure, Rejected)):
                return error
            return self._of_exception(error, where)

    def _of_exception(self, error: BaseException, where: str) -> Failure:
        try:
            found: object = failure.of_exception(error, self._declared.failures)
        except Exception as bug:  # noqa: BLE001 (the author's table)
            logger.error("the plugin's table of failures failed: %s", failure.place(bug))
            found = failure.of_exception(error, {})
        if not isinstance(found, Failure):
            logger.error("the plugin's table of failures returned %s; it must return a Failure", type(found).__name__)
            found = failure.of_exception(error, {})
        if found.code is failure.FailureCode.INTERNAL:
            logger.error("a bug of the plugin: %s (%s)", failure.place(error), where)
        else:
            logger.debug("%s stands for %s", failure.place(error), found.reason)
        return found


@contextlib.contextmanager
def _conversion(kind: _Kind, method: str) -> Iterator[None]:
    """Raises a violation for whatever a value of another type leads to."""
    try:
        yield
    except (Violation, Rejected, Failure):
        raise
    except Exception as error:  # noqa: BLE001 (whatever it leads to)
        logger.debug("%s", failure.place(error))
        raise Violation(_method(kind, method), f"returned what holds a value of another type ({type(error).__name__})") from None


def _method(kind: _Kind, method: str) -> str:
    return f"{kind.published.kind.kind}: {type(kind.published.resource).__qualname__}.{method}"


def _order(kind: PublishedKind) -> tuple[str, str, str]:
    resource_type = kind.wire.resource_type
    return resource_type.group, resource_type.version, resource_type.kind


def _check(request: Message) -> None:
    try:
        requests.check(request)
    except Violation as problem:
        raise Rejected(grpc.StatusCode.INVALID_ARGUMENT, str(problem)) from None


def _check_type(kind: _Kind, method: str, value: object, expected: tuple[type, ...]) -> None:
    if not isinstance(value, expected):
        names = " or ".join(one.__name__ for one in expected)
        raise Violation(_method(kind, method), f"returned {type(value).__name__}; it must return {names}")


def _typed(kind: _Kind, desired: Desired[None]) -> Desired[Any]:
    """Reads parameters as the author's type."""
    return _with(desired, read_parameters(kind.published.parameters, desired.json))


def _known(kind: _Kind, desired: Desired[None]) -> Desired[Any]:
    """Reads a desired state that may be incomplete."""
    try:
        return _with(desired, document.read(kind.published.parameters, desired.json))
    except Mismatch as mismatch:
        logger.debug("the desired state is incomplete at %s", ", ".join(path for path, _ in mismatch.problems))
        return desired


def _with(desired: Desired[None], parameters: BaseModel) -> Desired[Any]:
    return Desired(parameters=parameters, json=desired.json, sensitive_values=desired.sensitive_values, sensitive_paths=desired.sensitive_paths)


def _config(config: target_pb2.ConfigContext) -> Config:
    expires = config.credentials_expire_time
    # A time beyond the calendar is as good as never.
    has_end = config.HasField("credentials_expire_time") and expires.seconds <= LAST_SECOND
    return Config(
        id=config.config_id,
        revision=config.revision,
        settings=document.parse_object(config.settings.json, "settings.json") if config.HasField("settings") else None,
        credentials=dict(config.credentials),
        credentials_expire_time=expires.seconds + expires.nanos / 1e9 if has_end else None,
    )


def _without_request(check: CheckConfig) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(check):

        async def in_task(call: ConfigCall, _request: None) -> Any:
            return await check(call)

        return in_task
    return lambda call, _request: check(call)


def _redacted(rejected: Rejected, secrets: Secrets) -> Rejected:
    return Rejected(rejected.status, secrets.redacted(rejected.message))


def _log_ending(failed: Any, ending: str, level: int) -> None:
    said = " ".join(f"{name}={value}" for name, value in log.fields().items())
    if failed is None:
        logger.log(level, "%s: %s", said, ending)
    else:
        logger.log(logging.INFO, "%s: failed: %s", said, failed.reason)
