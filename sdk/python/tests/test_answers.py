"""What an author returns or raises in Python's own manner, and what becomes of it."""

import asyncio
import socket
from typing import Any

import pytest
from vector_plugin import Parameters, Status, Widget, World

import crossbridge_sdk as sdk
from crossbridge_sdk import ListedItem, Observation, Operation, Outcome
from crossbridge_sdk.testing import Harness


def widget(method, **methods):
    async def answers(self, call, request):
        return await method(call, request) if asyncio.iscoroutinefunction(method) else method(call, request)

    return type("Widget", (Widget,), {"create": answers, "observe": answers, "list": answers} | methods)


def harness(method, credential="sesame-open"):
    kind = widget(method)

    def plugin():
        credentials = [sdk.CredentialKey("key", required=True)]
        return sdk.Plugin("vectors.example.org", "1.0.0", [kind(World())], credentials=credentials, settings=Parameters)

    return Harness(plugin, credentials={"key": credential}), kind


def create(method, **more):
    lab, kind = harness(method, **more)
    return asyncio.run(lab.resource(kind, Parameters(), name="a").create())


def observe(method):
    lab, kind = harness(method)
    return asyncio.run(lab.resource(kind, Parameters(), name="a").observe())


FOUND: dict[str, Any] = {"external_name": "a", "parameters": Parameters()}


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (Outcome(already_done="yes"), "Widget.create"),
        (Outcome(external_name=7), "external_name is of the type int; it must be a text"),
        (Outcome(connection={"password": 12345678}), 'connection_details["password"] is of the type int'),
        (Outcome(connection=["password"]), "connection_details is of the type list"),
        (Outcome(warnings=["Fragile"]), "warnings[0] is of the type str"),
        (Outcome(warnings=7), "Widget.create"),
        (Outcome(result="done"), "result is of the type str"),
        (Outcome.completed(Observation(external_name="a", parameters={"size": 1})), "completed.observation.parameters is of the type dict"),
        (Outcome.completed(Observation(**FOUND, status=Parameters())), "completed.observation.status is of the type Parameters; it must be"),
        (Outcome.completed(Observation(**FOUND, observe_after="soon")), "completed.observation.observe_after is of the type str"),
        (Outcome.completed(Observation(**FOUND, observe_after=-1)), "completed.observation.observe_after is out of range"),
        (Outcome.completed(Observation(**FOUND, etag="\ud800")), "completed.observation.etag holds half of a surrogate pair"),
        (Operation.create("h", expires="soon"), "operation.expire_time is of the type str"),
        (Operation.create("h"), "operation is not allowed: the class has no method poll"),
        (Outcome.failed(sdk.Conflict(7)), "failure.message is of the type int"),
    ],
)
def test_a_value_of_another_type_names_its_field(answer, names):
    failure = create(lambda *_: answer).failure()
    assert (failure.reason, failure.effect) == ("InvalidAnswer", sdk.Effect.UNKNOWN)
    assert names in failure.message
    assert "12345678" not in failure.message


def test_an_observation_with_a_value_of_another_type_is_no_absence():
    failure = observe(lambda *_: Observation(**FOUND, differs={"/size": object()})).failure()
    assert failure.reason == "InvalidAnswer"
    assert "Widget.observe" in failure.message


def test_the_log_names_class_and_field_of_a_broken_rule(caplog):
    create(lambda *_: Outcome.completed(provider_state="x" * 5000))
    assert "an answer breaks the contract: provider_state has 5000 bytes; at most 4096 are allowed (class test_answers.Widget)" in caplog.text
    create(lambda *_: None)
    assert "Widget: Widget.create returned NoneType; it must return Outcome or Operation" in caplog.text


class Faulty(Widget):
    answer: Any = None

    async def observe(self, call, request):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (None, "Widget: Faulty.observe returned NoneType; it must return Observation or Absent"),
        (Observation(**FOUND, etag=7), "observation.etag is of the type int; it must be a text"),
        (Observation(**FOUND, differs={"/size": object()}), "Widget: Faulty.observe returned what holds a value of another type (TypeError)"),
        (LookupError("sesame-open"), f"a bug of the plugin: LookupError at {__file__}:"),
    ],
)
def test_the_log_names_file_class_and_field_of_what_observe_did_wrong(answer, names, caplog):
    def plugin():
        kind = Faulty(World())
        kind.answer = answer
        return sdk.Plugin("vectors.example.org", "1.0.0", [kind])

    asyncio.run(Harness(plugin).resource(Faulty, Parameters(), name="a").observe()).failure()
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert names in line
    assert f"(class Faulty in {__file__}:" in line
    assert "sesame-open" not in line


def test_the_name_goes_along_with_an_answer_that_cannot_be_converted():
    answer = create(lambda *_: Outcome.completed(Observation(external_name="a", parameters=Status()), connection={"password": "given once"}))
    assert answer.failure().reason == "InvalidAnswer"
    assert (answer.outcome().external_name, answer.outcome().connection_details["password"]) == ("a", b"given once")


@pytest.mark.parametrize(
    ("canonical_id", "password", "kept_id", "kept_details"),
    [
        ("x" * 1025, "given once", "", {"password": b"given once"}),
        ("id\x7f", "given once", "", {"password": b"given once"}),
        ("id-7", "x" * 1024 * 1024, "id-7", {}),
    ],
)
def test_what_is_out_of_form_does_not_cost_the_rest(canonical_id, password, kept_id, kept_details):
    answer = create(lambda *_: Outcome.completed(external_name="a", canonical_id=canonical_id, connection={"password": password}))
    assert answer.failure().reason == "InvalidAnswer"
    outcome = answer.outcome()
    assert (outcome.external_name, outcome.canonical_id, dict(outcome.connection_details)) == ("a", kept_id, kept_details)


def test_a_failure_out_of_a_task_group_is_itself():
    async def grouped(call, request):
        async def fails():
            raise sdk.QuotaExceeded("no more")

        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    assert create(grouped).failure().reason == "QuotaExceeded"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (socket.gaierror(8, "x"), sdk.FailureCode.UNAVAILABLE),
        (BrokenPipeError("x"), sdk.FailureCode.UNAVAILABLE),
        (TimeoutError("x"), sdk.FailureCode.TIMEOUT),
        (OSError("x"), sdk.FailureCode.INTERNAL),
        (SystemExit(0), sdk.FailureCode.INTERNAL),
    ],
)
def test_exceptions_stand_for_failures(error, code):
    def fails(*_):
        raise error

    if isinstance(error, SystemExit):
        # The lab lets it through, so that a test may end itself; a served plugin does not (test_guard.py).
        with pytest.raises(SystemExit):
            create(fails)
        return
    failure = create(fails).failure()
    assert (failure.code, failure.effect) == (code, sdk.Effect.UNKNOWN)


def test_a_secret_is_found_without_the_line_feed_that_it_was_read_with():
    def fails(call, request):
        raise sdk.Conflict(f"rejected {call.config.required_credential('key').strip()}")

    assert create(fails, credential="sesame-open\n").failure().message == "rejected [redacted]"


def test_a_subclass_of_a_failure_is_its_reason():
    class NoSuchShelf(sdk.NotFound):
        pass

    def fails(*_):
        raise NoSuchShelf("there is no such shelf", upstream_code="E404")

    failure = create(fails).failure()
    assert (failure.code, failure.reason) == (sdk.FailureCode.NOT_FOUND, "NoSuchShelf")


def test_the_lab_lists():
    lab, kind = harness(lambda *_: sdk.Listed(items=[ListedItem(external_name="a", parameters=Parameters(size=1, password="p"))]))
    page = asyncio.run(lab.list(kind, include_parameters=True))
    assert [(item.external_name, item.parameters.json) for item in page.items] == [("a", '{"size":1}')]
    lab, kind = harness(lambda *_: sdk.Listed(items=7))
    with pytest.raises(sdk.Internal, match=r"Widget\.list"):
        asyncio.run(lab.list(kind))


def test_a_description_is_the_class_s_own():
    class Documented(sdk.Resource[Parameters, Status]):
        """A documented thing."""

        kind = sdk.Kind(
            group="vectors.example.org",
            version="v1",
            kind="Thing",
            names=sdk.ExternalName.by_upstream("a"),
            can_create=False,
            can_update=False,
            can_delete=False,
        )

        async def observe(self, call, desired): ...

    class Undocumented(Documented):
        pass

    described = [
        sdk.Plugin("a.b", "1.0.0", [kind()]).declared().kinds["Thing.vectors.example.org/v1"].wire.description for kind in (Documented, Undocumented)
    ]
    assert described == ["A documented thing.", ""]
    with pytest.raises(sdk.DeclarationError, match=r"give an instance: .*Documented\(\)"):
        sdk.Plugin("a.b", "1.0.0", [Documented]).declared()
