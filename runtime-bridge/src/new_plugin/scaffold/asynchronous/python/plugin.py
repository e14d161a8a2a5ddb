"""__KIND__: text files in a folder, which take a while to be ready. Put your cloud in the place of the folder."""

import os
import time
from pathlib import Path

import crossbridge_sdk as sdk

SECONDS = 0.5
"""A file is ready so long after its creation: longer than a call should wait."""


class Settings(sdk.Model):
    folder: str
    """Where the files are. It must exist."""


class Parameters(sdk.Model):
    content: str
    """What stands in the file."""


class Status(sdk.Model):
    bytes: int


class Preparation(sdk.Handle):
    """What the upstream must be asked for: it outlives this process and this build."""

    file: str


class __KIND__(sdk.Resource[Parameters, Status]):
    """A text file in the folder of the ProviderConfig."""

    kind = sdk.Kind(
        group="__NAME__.example.org",
        version="v1alpha1",
        kind="__KIND__",
        names=sdk.ExternalName.by_user("notes.txt", pattern="[a-z0-9][a-z0-9.-]*"),
        recovery=[sdk.Recovery.by_name()],
        asynchronous=True,
        visible_when_accepted=True,
        examples=[
            sdk.Example(
                name="notes", external_name="notes.txt", create=Parameters(content="Buy milk."), update=Parameters(content="Buy tea.")
            )
        ],
    )

    def observe(self, call: sdk.Call, desired: sdk.Known[Parameters]) -> sdk.Observation | sdk.Absent:
        try:
            return observation(folder(call) / call.name)
        except FileNotFoundError:
            return sdk.Absent()

    def create(self, call: sdk.Call, create: sdk.Create[Parameters]) -> sdk.Outcome:
        path = folder(call) / call.name
        call.ensure_active()  # Right before what counts: nothing is begun after the deadline.
        try:
            with path.open("x") as file:
                file.write(create.desired.parameters.content)
        except FileExistsError:
            raise sdk.AlreadyExists("the file exists already", existing_external_name=call.name) from None
        ready_at = time.time() + SECONDS
        os.utime(path, (ready_at, ready_at))
        return prepared(path)

    def poll(self, call: sdk.Call, poll: sdk.Poll[Parameters]) -> sdk.Outcome:
        handle = Preparation.parse(poll.handle)
        if call.name not in ("", handle.file):
            raise sdk.InvalidArgument("handle", "is of another file")
        try:
            return prepared(folder(call) / handle.file)
        except FileNotFoundError:
            raise sdk.NotFound("the file does not exist") from None

    def update(self, call: sdk.Call, update: sdk.Update[Parameters]) -> sdk.Outcome:
        path = folder(call) / call.name
        call.ensure_active()
        try:
            with path.open("r+") as file:
                file.truncate()
                file.write(update.desired.parameters.content)
        except FileNotFoundError:
            raise sdk.NotFound("the file does not exist") from None
        return sdk.Outcome.completed()

    def delete(self, call: sdk.Call, delete: sdk.Delete[Parameters]) -> sdk.Outcome:
        file = folder(call) / call.name
        call.ensure_active()
        try:
            file.unlink()
        except FileNotFoundError:
            return sdk.Outcome.completed(already_done=True)
        return sdk.Outcome.completed()


def folder(call: sdk.ConfigCall) -> Path:
    path = Path(call.config.settings(Settings).folder)
    if not path.is_dir():
        raise sdk.InvalidConfig("the folder does not exist")
    return path


def seconds_left(path: Path) -> float:
    return path.stat().st_mtime - time.time()


def observation(path: Path) -> sdk.Observation:
    left, text = seconds_left(path), path.read_text()
    return sdk.Observation(
        external_name=path.name,
        parameters=Parameters(content=text),
        status=Status(bytes=len(text.encode())),
        ready=left <= 0,
        ready_message="" if left <= 0 else "it is being prepared",
    )


def prepared(path: Path) -> sdk.Outcome:
    """How its creation goes: the upstream knows, whichever process asks."""
    left = seconds_left(path)
    if left <= 0:
        return sdk.Outcome.completed(observation(path))
    preparing = sdk.Operation.create(Preparation(file=path.name), poll_after=left, phase="Preparing")
    return sdk.Outcome.operation(preparing, external_name=path.name)


def plugin() -> sdk.Plugin:
    return sdk.Plugin("__NAME__.example.org", "0.1.0", [__KIND__()], settings=Settings, check_config=lambda call: str(folder(call)))


def main() -> None:
    plugin().serve()
