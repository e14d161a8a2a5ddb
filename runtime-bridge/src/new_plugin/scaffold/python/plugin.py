"""__KIND__: text files in a folder as Kubernetes objects. Put your cloud in the place of the folder."""

from pathlib import Path

import crossbridge_sdk as sdk


class Settings(sdk.Model):
    folder: str
    """Where the files are. It must exist."""


class Parameters(sdk.Model):
    content: str
    """What stands in the file."""


class Status(sdk.Model):
    bytes: int


class __KIND__(sdk.Resource[Parameters, Status]):
    """A text file in the folder of the ProviderConfig."""

    kind = sdk.Kind(
        group="__NAME__.example.org",
        version="v1alpha1",
        kind="__KIND__",
        names=sdk.ExternalName.by_user("notes.txt", pattern="[a-z0-9][a-z0-9.-]*"),
        recovery=[sdk.Recovery.by_name()],
        visible_when_accepted=True,
        examples=[
            sdk.Example(
                name="notes", external_name="notes.txt", create=Parameters(content="Buy milk."), update=Parameters(content="Buy tea.")
            )
        ],
    )

    def observe(self, call: sdk.Call, desired: sdk.Known[Parameters]) -> sdk.Observation | sdk.Absent:
        try:
            text = (folder(call) / call.name).read_text()
        except FileNotFoundError:
            return sdk.Absent()
        status = Status(bytes=len(text.encode()))
        return sdk.Observation(external_name=call.name, parameters=Parameters(content=text), status=status, ready=True)

    def create(self, call: sdk.Call, create: sdk.Create[Parameters]) -> sdk.Outcome:
        return write(call, "x", create.desired.parameters)

    def update(self, call: sdk.Call, update: sdk.Update[Parameters]) -> sdk.Outcome:
        return write(call, "r+", update.desired.parameters)

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


def write(call: sdk.Call, mode: str, desired: Parameters) -> sdk.Outcome:
    path = folder(call) / call.name
    call.ensure_active()  # Right before what counts: nothing is begun after the deadline.
    try:
        with path.open(mode) as file:
            file.truncate()
            file.write(desired.content)
    except FileExistsError:
        raise sdk.AlreadyExists("the file exists already", existing_external_name=call.name) from None
    except FileNotFoundError:
        raise sdk.NotFound("the file does not exist") from None
    return sdk.Outcome.completed()


def plugin() -> sdk.Plugin:
    return sdk.Plugin("__NAME__.example.org", "0.1.0", [__KIND__()], settings=Settings, check_config=lambda call: str(folder(call)))


def main() -> None:
    plugin().serve()
