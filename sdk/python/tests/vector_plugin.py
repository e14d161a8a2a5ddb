"""The plugin of `tests/vectors/README.md`: it does what the script of the desired parameters says."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

import crossbridge_sdk as sdk
from crossbridge_sdk import (
    Absent,
    Call,
    ConfigCall,
    Immutable,
    Int32,
    Kind,
    Listed,
    ListedItem,
    Model,
    Observation,
    Operation,
    Outcome,
    Sensitive,
)
from crossbridge_sdk.answer import OperationVerb, WarningEvent
from crossbridge_sdk.resource import has

GROUP = "vectors.example.org"


class Busy(Exception):
    """An error of the plugin that its table makes CONFLICT."""


class Rule(Model):
    port: Int32


class Parameters(Model):
    size: Annotated[int | None, Field(description="How big.")] = None
    note: Annotated[str | None, Immutable()] = None
    password: Annotated[str | None, Sensitive()] = None
    rules: list[Rule] | None = None
    # It may hold what an answer shall hold, secrets too.
    script: Annotated[list[dict[str, Any]] | None, Field(repr=False)] = None


class Status(Model):
    state: str | None = None


class Settings(Model):
    region: Annotated[str | None, Field(description="Where.")] = None
    retries: int | None = None


class World:
    """What a runner reads and steers."""

    def __init__(self):
        self.events: list[str] = []
        self.printed: list[str] = []
        self.released = asyncio.Event()

    def print(self, *values):
        for value in values:
            self.printed += [repr(value), str(value), f"{value}"]


def padded(step, field):
    return step.get(field, "").ljust(step.get("length", 0), "x")


def connection(step):
    return step.get("connection", {})


def warnings(step):
    return [WarningEvent(step["reason"], step.get("message", ""))] if "reason" in step else []


def failure(step):
    arguments = {"effect": sdk.Effect[step["effect"]] if "effect" in step else None, "reason": step.get("reason")}
    arguments |= {"upstream_code": step.get("upstreamCode", ""), "upstream_request_id": step.get("upstreamRequestId", "")}
    if "path" in step:
        arguments["violations"] = {step["path"]: step.get("text", "")}
    if "seconds" in step:
        arguments["retry_after"] = step["seconds"]
    if "name" in step:
        arguments["existing_external_name"] = step["name"]
    name = "".join(part.capitalize() for part in step["code"].split("_"))
    return getattr(sdk, name)(step["message"], **arguments)


class Scripted:
    def __init__(self, world: World):
        self.world = world

    async def act(self, verb: str, call: Call, desired, request):
        """The answer that the script builds; None: the script says none."""
        self.world.events.append(f"began:{verb}")
        printing = False
        if desired.parameters is None:
            return None
        for step in desired.parameters.script or []:
            match step["step"]:
                case "note":
                    self.world.events.append(f"{step['field']}={self.note(step, call, desired, request)}")
                case "check_deadline":
                    if not 0 < call.deadline.remaining * 1000 <= step["milliseconds"]:
                        raise sdk.Internal(f"{call.deadline} is no deadline of {step['milliseconds']} ms")
                case "hang":
                    try:
                        await asyncio.Event().wait()
                    finally:
                        self.world.events.append(f"stopped:{verb}")
                case "hold":
                    await self.world.released.wait()
                case "record_name":
                    call.record_name(step["text"])
                case "print":
                    printing = True
                    self.world.print(call, request, call.config, desired)
                case "fail":
                    if "externalName" in step:
                        return Outcome.failed(failure(step), external_name=step["externalName"])
                    raise failure(step)
                case "reject":
                    raise sdk.InvalidArgument(step["field"], step["message"])
                case "raise":
                    text = step.get("text", "")
                    match step.get("error"):
                        case "Busy":
                            raise Busy(text)
                        case "Timeout":
                            raise TimeoutError(text)
                        case "Connection":
                            raise ConnectionRefusedError(text)
                    raise ValueError(text)
                case "panic":
                    nothing: Any = None
                    nothing.begin(step.get("text"))
                case answer:
                    own = {}
                    if "connectionFrom" in step:
                        own["connection"] = {"password": self.note({"field": step["connectionFrom"]}, call, desired, request)}
                    result = getattr(self, answer if answer != "return" else "other")(verb, call, step | own)
                    if printing:
                        self.world.print(result)
                    return result
        return None

    def note(self, step, call, desired, request):
        target, owner, parameters = call.target, call.target.owner, desired.parameters
        values = {
            "call_id": lambda: call.id,
            "external_name": lambda: call.name,
            "provider_state": lambda: target.provider_state,
            "ownership_marker": lambda: target.ownership_marker,
            "former_marker": lambda: target.former_marker,
            "owner": lambda: f"{owner.namespace}/{owner.name}/{owner.uid}/{owner.generation}",
            "token": lambda: request.client_request_token,
            "outcome_unknown": lambda: str(request.outcome_unknown).lower(),
            "etag": lambda: request.etag,
            "changed_paths": lambda: ",".join(request.changed_paths),
            "handle": lambda: request.handle,
            "size": lambda: "" if parameters.size is None else parameters.size,
            "note": lambda: parameters.note or "",
            "password_field": lambda: parameters.password or "",
            "password": lambda: desired.sensitive("/password") or "",
            "region": lambda: call.config.settings(Settings).region,
            "credential": lambda: call.config.required_credential("key"),
            "config": lambda: f"{call.config.id}/{call.config.revision}",
            "is_ambient": lambda: str(call.config.is_ambient).lower(),
            "is_ours": lambda: str(target.owns(step.get("text", ""))).lower(),
        }
        return values[step["field"]]()

    def completed(self, verb, call, step):
        return Outcome(
            external_name=step.get("externalName", ""),
            canonical_id=step.get("canonicalId", ""),
            provider_state=padded(step, "providerState"),
            connection=connection(step),
            warnings=warnings(step),
            already_done=step.get("alreadyDone", False),
        )

    def observed(self, verb, call, step):
        return Outcome.completed(self.found(verb, call, step))

    def started(self, verb, step):
        own = {"create": "CREATE", "update": "UPDATE", "delete": "DELETE"}.get(verb, "CREATE")
        return Operation(
            handle=padded(step, "handle"),
            verb=OperationVerb[step.get("verb", own)],
            poll_after=step.get("seconds"),
            phase=step.get("phase", ""),
            progress=step.get("progress"),
            message=step.get("message", ""),
            poll_driven=step.get("pollDriven", False),
            upstream_id=step.get("upstreamId", ""),
            expires=datetime.now(UTC) + timedelta(hours=step["hours"]) if "hours" in step else None,
        )

    def operation(self, verb, call, step):
        return Outcome.operation(self.started(verb, step), external_name=step.get("externalName", ""), provider_state=step.get("providerState", ""))

    def found(self, verb, call, step):
        parameters = Parameters(size=step.get("size"), password=step.get("password"))
        if step.get("text") == "wrong parameters":
            parameters = Parameters.model_construct(size="big")
        return Observation(
            external_name=step.get("externalName", call.name),
            parameters=parameters,
            status=Status(state=step["status"]) if "status" in step else None,
            canonical_id=step.get("canonicalId", ""),
            provider_state=padded(step, "providerState"),
            ready=step.get("ready", False),
            ready_message=step.get("text", ""),
            etag=step.get("etag", ""),
            found_marker=step.get("marker", ""),
            deleting=step.get("deleting", False),
            connection=connection(step),
            observe_after=step.get("seconds"),
            warnings=warnings(step),
            operation=Operation(handle=step["handle"], verb=OperationVerb[step["verb"]]) if "handle" in step else None,
            up_to_date=step.get("upToDate"),
            differs={step["path"]: step.get("needsReplacement", False)}
            if "path" in step
            else {f"/size/{index}": False for index in range(step.get("differences", 0))},
        )

    def absent(self, verb, call, step):
        return Absent(step.get("externalName", ""))

    def other(self, verb, call, step):
        if step["text"] == "other":
            other = Outcome.completed() if verb == "observe" else Observation(external_name=call.name, parameters=Parameters())
            return Return(other)
        return Return(None if step["text"] == "nothing" else "a text")


class Return:
    """A value that is returned as it is."""

    def __init__(self, value):
        self.value = value


def answered(value, otherwise):
    if isinstance(value, Return):
        return value.value
    return otherwise if value is None else value


class Common(Scripted):
    async def observe(self, call: Call, desired) -> Any:
        found = Absent()
        if call.name:
            size = desired.parameters.size if desired.parameters else None
            found = Observation(external_name=call.name, parameters=Parameters(size=size))
        return answered(await self.act("observe", call, desired, desired), found)

    async def create(self, call: Call, create) -> Any:
        done = Outcome.completed(external_name="job-7" if self.kind.kind == "Job" else "")
        return answered(await self.act("create", call, create.desired, create), done)

    async def delete(self, call: Call, delete) -> Any:
        return answered(await self.act("delete", call, delete.desired, delete), Outcome.completed())


WIDGET = {
    "group": GROUP,
    "version": "v1",
    "kind": "Widget",
    "description": "A widget.",
    "names": sdk.ExternalName.by_user("a-widget", pattern="[a-z][a-z0-9-]*", max_length=20),
    "recovery": [sdk.Recovery.by_name()],
}


class Widget(Common, sdk.Resource[Parameters, Status]):
    kind = Kind(
        **WIDGET,
        short_names=["wi"],
        categories=["things"],
        printer_columns=[sdk.PrinterColumn("SIZE", "integer", ".spec.forProvider.size")],
        consistency_window=timedelta(seconds=5),
        late_margin=timedelta(seconds=1),
        visible_when_accepted=True,
        rate_limit_group="widgets",
        call_timeout=timedelta(seconds=5),
        create_timeout=timedelta(seconds=600),
        connection_keys=[sdk.ConnectionKey("password", "As it is now."), sdk.ConnectionKey("endpoint", "Where it listens.")],
        examples=[
            sdk.Example(
                name="plain",
                external_name="a-widget",
                create={"size": 1},
                update=Parameters(size=2),
                invalid={"size": -1},
                sensitive={"/password": "invented"},
            )
        ],
    )

    async def update(self, call: Call, update) -> Any:
        return answered(await self.act("update", call, update.desired, update), Outcome.completed())

    async def list(self, call: ConfigCall, request: sdk.List) -> Listed:
        match request.page_token:
            case "":
                parameters = Parameters(size=1, password="sesame-two")
                a = ListedItem(
                    external_name="a-widget",
                    canonical_id="id-a",
                    display_name="A",
                    found_marker="cb-1",
                    parameters=parameters if request.include_parameters else None,
                )
                b = ListedItem(external_name="b-widget", parameters=Parameters() if request.include_parameters else None)
                return Listed(items=[a, b], next_page_token="2")
            case "2":
                return Listed(items=[ListedItem(external_name="c-widget")], unreachable=["north"])
            case "fail":
                raise sdk.Throttled("slow down", retry_after=3)
            case "boom":
                raise ValueError("boom")
            case "nameless":
                return Listed(items=[ListedItem(external_name="a-widget"), ListedItem(external_name="")])
        raise sdk.InvalidArgument("page_token", "is none of this plugin's")


class Job(Common, sdk.Resource[Parameters, Status]):
    kind = Kind(
        group=GROUP,
        version="v1",
        kind="Job",
        description="A job.",
        names=sdk.ExternalName.by_upstream("job-7"),
        recovery=[sdk.Recovery.by_token(), sdk.Recovery.by_marker()],
        asynchronous=True,
        can_update=False,
        plugin_compares=True,
        delete_during_create=True,
        connection_keys=[sdk.ConnectionKey("password", "Given once.", one_time=True)],
        examples=[sdk.Example(name="short", create={})],
    )

    async def poll(self, call: Call, poll) -> Any:
        return answered(await self.act("poll", call, poll.desired, poll), Outcome.completed())


async def check_config(call: ConfigCall) -> str:
    match call.config.settings(Settings).region:
        case "nowhere":
            raise sdk.InvalidConfig("there is no such region")
        case "boom":
            raise ValueError("boom")
        case "hang":
            await asyncio.Event().wait()
    return "account-1"


def plain(kind):
    """The same kind, whose methods are plain ones, which run in threads and hand their work on."""

    def handing_on(method):
        return lambda self, call, request: method(self, call, request)  # noqa: PLW0108 (a plain one is wanted)

    methods = ("observe", "create", "update", "delete", "poll", "list")
    return type(kind.__name__, (kind,), {name: handing_on(getattr(kind, name)) for name in methods if name in dir(kind) and has(kind, name)})


def plugin(world: World, *, threads: bool = False) -> sdk.Plugin:
    return sdk.Plugin(
        GROUP,
        "1.2.3",
        [(plain(kind) if threads else kind)(world) for kind in (Widget, Job)],
        settings=Settings,
        credentials=[sdk.CredentialKey("key", "Opens it.", required=True), sdk.CredentialKey("other")],
        check_config=check_config,
        failures={Busy: lambda error: sdk.Conflict("busy")},
        max_concurrent_calls=2,
        max_message_bytes=65536,
    )


def main() -> None:
    plugin(World()).serve()


if __name__ == "__main__":
    main()
