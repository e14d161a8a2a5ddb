"""The testing lab: the wire's checks without a wire, kills at chosen points, and the report on a plugin that must fail."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path

import pytest

import crossbridge_sdk as sdk
from crossbridge_sdk import Absent, Call, Create, Observation, Operation, Outcome
from crossbridge_sdk.testing import Cut, Harness, cut_at, cut_once
from crossbridge_sdk.testing.cut import _own_code


class Disk(sdk.Model):
    gigabytes: int
    password: str | None = None


class Cloud:
    """Disks by their ids, each with the token that created it."""

    def __init__(self):
        self.disks: dict[str, str] = {}

    def created_by(self, token):
        return [disk for disk, by in self.disks.items() if by == token]

    def create(self, token):
        disk = f"disk-{len(self.disks)}"
        self.disks[disk] = token
        return disk


KIND = {
    "group": "disks.example.org",
    "version": "v1",
    "kind": "Disk",
    "names": sdk.ExternalName.by_upstream("disk-0"),
    "recovery": [sdk.Recovery.by_token()],
    "asynchronous": True,
    "can_update": False,
    "examples": [sdk.Example(name="small", create=Disk(gigabytes=1))],
}


class Common(sdk.Resource[Disk, sdk.NoStatus]):
    def __init__(self, cloud: Cloud, remembered=None):
        self.cloud = cloud
        # A bug of its author: tokens are kept here, and not looked up in the cloud.
        self.remembered = remembered

    def known(self, token):
        if self.remembered is not None:
            return self.remembered.get(token)
        return next(iter(self.cloud.created_by(token)), None)

    async def observe(self, call: Call, desired):
        return Observation(external_name=call.name, parameters=Disk(gigabytes=1)) if call.name in self.cloud.disks else Absent()

    async def delete(self, call: Call, delete):
        return Outcome.completed(already_done=self.cloud.disks.pop(call.name, None) is None)

    async def poll(self, call: Call, poll):
        return Outcome.completed(external_name=poll.handle)


class Disks(Common):
    kind = sdk.Kind(**KIND)

    async def create(self, call: Call, create: Create[Disk]):
        await asyncio.sleep(0)
        disk = self.known(create.client_request_token) or self.cloud.create(create.client_request_token)
        await asyncio.sleep(0)
        if self.remembered is not None:
            self.remembered[create.client_request_token] = disk
        return Operation.create(disk, poll_after=0)


class BlockingDisks(Common):
    kind = sdk.Kind(**KIND | {"kind": "BlockingDisk"})

    def create(self, call: Call, create: Create[Disk]):
        disk = self.known(create.client_request_token) or self.cloud.create(create.client_request_token)
        if self.remembered is not None:
            self.remembered[create.client_request_token] = disk
        return Operation.create(disk, poll_after=0)


def lab(*, forgetful=False, replicas=1):
    cloud = Cloud()

    def plugin():
        remembered = {} if forgetful else None
        return sdk.Plugin("disks.example.org", "1.0.0", [Disks(cloud, remembered), BlockingDisks(cloud, remembered)])

    return cloud, Harness(plugin, replicas=replicas)


def killed_in_create(kind, forgetful):
    cloud, harness = lab(forgetful=forgetful)
    create = lambda _: harness.resource(kind, Disk(gigabytes=1))  # noqa: E731
    return asyncio.run(harness.killed_in_create(create, lambda disk: len(cloud.created_by(disk.client_request_token))))


def test_a_creation_killed_at_any_await_ends_with_one():
    assert killed_in_create(Disks, forgetful=False) == 4


def test_a_creation_killed_at_any_line_ends_with_one():
    # Its own three lines, those that it calls, and the end.
    assert killed_in_create(BlockingDisks, forgetful=False) > 6


def test_process_state_fails_the_recovery_of_an_async_kind():
    with pytest.raises(AssertionError, match=r"killed-in-create-one-resource: killed at wait 2, there are 2"):
        killed_in_create(Disks, forgetful=True)


def test_process_state_fails_the_recovery_of_a_plain_kind():
    with pytest.raises(AssertionError, match=r"killed-in-create-one-resource: killed at test_lab.py:\d+, there are 2"):
        killed_in_create(BlockingDisks, forgetful=True)


@pytest.mark.parametrize("kind", [Disks, BlockingDisks])
def test_a_creation_is_cut_when_the_upstream_has_done_it(kind):
    async def run():
        cloud, harness = lab()
        disk = harness.resource(kind, {"gigabytes": 1})
        assert await cut_once(lambda: bool(cloud.disks), disk.create()) is Cut.INSIDE
        assert disk.external_name == ""
        harness.restart()
        (await disk.follow(await disk.repeat())).completed()
        assert cloud.created_by(disk.client_request_token) == [disk.external_name]

    asyncio.run(run())


def test_a_method_is_cut_in_its_own_package_or_file():
    assert _own_code(BlockingDisks.create) == (__file__,)
    (folder,) = _own_code(sdk.Config.settings)
    assert folder == str(Path(sdk.__file__).parent) + "/"


def test_a_call_is_cut_at_each_of_its_waits():
    async def steps(done):
        for _ in range(2):
            done.append(1)
            await asyncio.sleep(0)
        done.append(1)

    async def run():
        course = []
        for point in range(5):
            done = []
            course.append((await cut_at(point, steps(done)), len(done)))
        return course

    inside, ended = Cut.INSIDE, Cut.ENDED
    assert asyncio.run(run()) == [(inside, 0), (inside, 1), (inside, 2), (ended, 3), (ended, 3)]


def test_a_replica_follows_the_operation_of_another():
    async def run():
        _, harness = lab(replicas=2)
        disk = harness.resource(Disks, Disk(gigabytes=1))
        operation = (await disk.create()).operation()
        assert (operation.handle, operation.poll_after.total_seconds()) == ("disk-0", 0)
        (await disk.on_replica(1).poll()).completed()
        assert (await disk.observe()).found().parameters == Disk(gigabytes=1)
        assert (await disk.poll()).status().message == "handle is required, and is not set"

    asyncio.run(run())


def test_the_lab_rejects_what_the_wire_rejects():
    async def run():
        _, harness = lab()
        unfit = (await harness.resource(Disks, {"gigabytes": "many"}).create()).failure()
        assert (unfit.code, list(unfit.violations)) == (sdk.FailureCode.INVALID_SPEC, ["/gigabytes"])
        nameless = (await harness.resource(Disks, Disk(gigabytes=1)).delete()).status()
        assert "target.external_name" in nameless.message
        unserved = (await harness.resource(Disks, Disk(gigabytes=1)).update()).status()
        assert unserved.status.name == "INVALID_ARGUMENT"

    asyncio.run(run())


def test_mistakes_in_declarations_are_reported():
    with pytest.raises(sdk.DeclarationError, match="registered twice"):
        Harness(lambda: sdk.Plugin("disks.example.org", "1.0.0", [Disks(Cloud()), Disks(Cloud())]))


def test_the_deadline_ends_a_call_of_the_lab():
    class Slow(Disks):
        kind = sdk.Kind(**KIND | {"call_timeout": timedelta(milliseconds=50)})

        async def create(self, call: Call, create):
            call.record_name("disk-9")
            await asyncio.Event().wait()

    async def run():
        harness = Harness(lambda: sdk.Plugin("disks.example.org", "1.0.0", [Slow(Cloud())]))
        disk = harness.resource(Slow, Disk(gigabytes=1))
        begun = time.monotonic()
        failure = (await disk.create()).failure()
        assert (failure.reason, disk.external_name) == ("DeadlineExceeded", "disk-9")
        assert time.monotonic() - begun < 10

    asyncio.run(run())
