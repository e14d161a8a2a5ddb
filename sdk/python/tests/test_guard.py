"""What goes wrong in one call stays in it; what blocks a thread holds up no answer."""

import asyncio
import logging
import threading
import time
from types import SimpleNamespace

import pytest

import crossbridge_sdk as sdk
from crossbridge_sdk._proto import resource_service_pb2 as wire
from crossbridge_sdk._proto import target_pb2
from crossbridge_sdk.call import Config, ConfigCall, Deadline
from crossbridge_sdk.failure import Rejected, Timeout
from crossbridge_sdk.guard import Contained, Guard
from crossbridge_sdk.metadata import Metadata, trace_parent
from crossbridge_sdk.service import Service

SECRET = "swordfish"


def call(remaining=30.0):
    return ConfigCall(config=Config("c", "1", credentials={"key": SECRET.encode()}), deadline=Deadline(remaining))


def run(work):
    async def bounded():
        async with asyncio.timeout(30):
            return await work()

    return asyncio.run(bounded())


def test_a_plain_method_runs_beside_the_event_loop():
    async def work():
        guard, threads = Guard(1), []
        result = await guard.guarded(lambda *_: threads.append(threading.current_thread()) or 7, call(), None)
        assert (result, guard.running) == (7, 0)
        assert threads[0] is not threading.main_thread()

    run(work)


def test_code_that_blocks_is_answered_at_the_deadline_and_keeps_its_permit():
    async def work():
        guard, go, seen = Guard(1), threading.Event(), []

        def blocks(of, _):
            go.wait(20)
            seen.append(of.is_active)
            return "too late"

        with pytest.raises(Timeout) as timeout:
            await guard.guarded(blocks, call(0.5), None)
        assert timeout.value.reason == "DeadlineExceeded"
        assert guard.running == 1
        with pytest.raises(Rejected) as rejected:
            await guard.guarded(blocks, call(0.05), None)
        assert rejected.value.status.name == "FAILED_PRECONDITION"
        go.set()
        while guard.running:
            await asyncio.sleep(0.01)
        assert await guard.guarded(lambda *_: "next", call(), None) == "next"
        assert seen == [False]

    run(work)


def test_work_that_is_handed_on_while_its_call_is_cancelled_ends(monkeypatch):
    async def work():
        guard, hand_on = Guard(1), asyncio.run_coroutine_threadsafe
        handed_on, cancelled = threading.Event(), threading.Event()

        def slowly(coroutine, loop):
            future = hand_on(coroutine, loop)
            handed_on.set()
            cancelled.wait(20)
            return future

        monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", slowly)
        task = asyncio.create_task(guard.guarded(lambda *_: asyncio.sleep(60), call(60.0), None))
        while not handed_on.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()
        while guard.running:
            await asyncio.sleep(0.01)

    run(work)


def test_a_plain_method_may_hand_its_work_on():
    async def work():
        guard, stopped = Guard(1), []

        async def later(of, _):
            try:
                await asyncio.sleep(60 if of.id else 0)
            finally:
                stopped.append(of.id)
            return 7

        assert await guard.guarded(lambda *of: later(*of), call(), None) == 7  # noqa: PLW0108
        with pytest.raises(Timeout):
            await guard.guarded(lambda *of: later(*of), ConfigCall(config=Config("c", "1"), deadline=Deadline(2), id="slow"), None)  # noqa: PLW0108
        while guard.running:
            await asyncio.sleep(0.01)
        assert stopped == ["", "slow"]

    run(work)


@pytest.mark.parametrize("blocking", [True, False])
def test_a_cancelled_call_is_active_no_longer(blocking):
    async def work():
        guard, begun, seen = Guard(1), threading.Event(), []

        def blocks(of, _):
            begun.set()
            while of.is_active:
                time.sleep(0.01)
            with pytest.raises(Timeout) as ended:
                of.ensure_active()
            seen.append(ended.value.reason)

        async def waits(of, _):
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                seen.append("Cancelled")

        task = asyncio.create_task(guard.guarded(blocks if blocking else waits, call(), None))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while guard.running:
            await asyncio.sleep(0.01)
        assert seen == ["Cancelled"]

    run(work)


@pytest.mark.parametrize("error", [ValueError(SECRET), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_nothing_that_is_raised_leaves_its_call(error):
    async def work():
        async def fails(*_):
            raise error

        def fails_plainly(*_):
            raise error

        guard = Guard(1)
        for method in (fails, fails_plainly):
            with pytest.raises(Contained) as contained:
                await guard.guarded(method, call(), None)
            assert type(contained.value.error) is type(error)
        assert await guard.guarded(lambda *_: "next", call(), None) == "next"

    run(work)


def test_a_method_that_ignores_its_cancellation_is_answered_in_time():
    async def work():
        guard, released = Guard(1), asyncio.Event()

        async def stubborn(*_):
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue

        with pytest.raises(Timeout):
            await guard.guarded(stubborn, call(0.5), None)
        assert guard.running == 1
        released.set()
        while guard.running:
            await asyncio.sleep(0.01)

    run(work)


def test_a_deadline_passes_by_either_clock(monkeypatch):
    deadline = Deadline(10)
    assert 9 < deadline.remaining <= 10
    clock = SimpleNamespace(monotonic=time.monotonic, time=lambda: time.time() + 11)
    monkeypatch.setattr("crossbridge_sdk.call.time", clock)
    assert deadline.has_passed
    clock.time, clock.monotonic = time.time, lambda: time.monotonic() + 11
    assert deadline.has_passed


def test_the_reserve_is_a_twentieth_and_at_most_200_ms():
    for timeout, reserve in ((2.0, 0.1), (30.0, 0.2)):
        left = Metadata(timeout=timeout).deadline_of_change().remaining
        assert timeout - reserve - 1 < left <= timeout - reserve


def test_malformed_trace_parents_are_passed_over():
    good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert trace_parent(good) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    for bad in ("", "00-0-0-0", "ff" + good[2:], "00-" + "0" * 32 + good[35:], good.replace("6-", "g-")):
        assert trace_parent(bad) is None
    assert Metadata.read([("traceparent", "nonsense"), ("crossbridge-call-id", "c-1")], 1.0) == Metadata(timeout=1.0, call_id="c-1")


class Notes(sdk.Model):
    text: str


class Failing(sdk.Resource[Notes, sdk.NoStatus]):
    kind = sdk.Kind(
        group="notes.example.org",
        version="v1",
        kind="Note",
        names=sdk.ExternalName.by_user("a"),
        recovery=[sdk.Recovery.by_name()],
        can_update=False,
        can_delete=False,
        examples=[sdk.Example(name="a", external_name="a", create=Notes(text="a"))],
    )

    async def observe(self, call, desired):
        logging.getLogger("author").info("observing")
        raise ValueError(call.config.required_credential("key"))

    async def create(self, call, create):
        raise sdk.Conflict(f"busy with {call.config.required_credential('key')}")


def test_the_log_names_call_trace_and_place_and_no_secret(caplog):
    async def work():
        plugin = sdk.Plugin("notes.example.org", "1.0.0", [Failing()])
        service = Service(plugin.declared())
        target = target_pb2.Target(
            resource_type=Failing.kind.resource_type,
            config=target_pb2.ConfigContext(config_id="c", revision="1", credentials={"key": SECRET.encode()}),
            owner=target_pb2.ObjectRef(name="a", uid="u"),
            external_name="a",
            ownership_marker="cb-1",
        )
        desired = target_pb2.DesiredState(parameters=target_pb2.Document(json="{}"))
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        metadata = Metadata(timeout=10, call_id="call-1", traceparent=trace)
        observed = await service.observe(wire.ObserveRequest(target=target, desired=desired), metadata)
        desired.parameters.json = '{"text":"a"}'
        token = "123e4567-e89b-12d3-a456-426614174000"
        created = await service.create(wire.CreateRequest(target=target, desired=desired, client_request_token=token), metadata)
        assert created.outcome.failure.message == "busy with [redacted]"
        return f"{observed} {created}"

    caplog.handler.addFilter(sdk.CallFilter())
    caplog.handler.setFormatter(logging.Formatter("%(levelname)s %(message)s [%(call)s]"))
    with caplog.at_level(logging.DEBUG):
        answers = run(work)
    assert SECRET not in caplog.text + answers
    for part in ("ValueError at ", "test_guard.py:", "call_id=call-1", "trace_id=4bf92f3577b34da6a3ce929d0e0e4736", "kind=Note", "name=a"):
        assert part in caplog.text
    assert "INFO observing [rpc=Observe call_id=call-1" in caplog.text


def test_reprs_show_no_secret():
    shown = repr(call()) + repr(Config("c", "1", credentials={"key": SECRET.encode()}))
    assert SECRET not in shown
    assert "'key'" in shown
    desired = sdk.Desired(parameters=Notes(text="a"), json={}, sensitive_values={"/password": SECRET}, sensitive_paths=("/password",))
    observation = sdk.Observation(external_name="a", parameters=Notes(text=SECRET), connection={"password": SECRET})
    outcome = sdk.Outcome.completed(observation, connection={"password": SECRET})
    assert SECRET not in f"{desired} {sdk.Create(desired=desired, client_request_token='t')!r} {observation} {outcome}"
    with pytest.raises(LookupError):
        desired.sensitive("/passwort")
