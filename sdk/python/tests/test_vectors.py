"""The shared vectors of SDK behaviour: `tests/vectors` of the repository."""

import asyncio
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import pytest
from google.protobuf import json_format
from pydantic import Field, create_model
from vector_plugin import WIDGET, Common, Job, Parameters, Status, Widget, World
from vector_runner import Runner, canonical

import crossbridge_sdk as sdk
from crossbridge_sdk import document
from crossbridge_sdk.published import PublishedKind
from crossbridge_sdk.violation import Violation

VECTORS = Path(os.environ.get("CROSSBRIDGE_VECTORS", Path(__file__).parents[3] / "tests/vectors"))
CALLS = ("requests", "deadlines", "failures", "answers", "secrets", "config", "plugin", "concurrency")

# What differs where methods run in threads.
IN_THREADS = ("deadlines", "failures", "concurrency")


def read(name, member):
    return json.loads((VECTORS / f"{name}.json").read_text())[member]


def named(vectors):
    return [pytest.param(vector, id=f"{file}: {vector['name']}") for file, vector in vectors]


BASE = json.loads((VECTORS / "base.json").read_text())


@pytest.mark.parametrize("vector", named((f"{file}.json", vector) for file in CALLS for vector in read(file, "vectors")))
def test_calls(vector):
    async def run():
        async with Runner(BASE) as runner:
            await runner.run(vector)

    asyncio.run(run())


@pytest.mark.parametrize("vector", named((f"{file}.json", vector) for file in IN_THREADS for vector in read(file, "vectors")))
def test_calls_of_plain_methods(vector):
    async def run():
        async with Runner(BASE, threads=True) as runner:
            await runner.run(vector)

    asyncio.run(run())


SCALARS = {
    "string": str,
    "bool": bool,
    "int32": sdk.Int32,
    "int64": int,
    "float64": float,
    "date-time": datetime,
    "any": Any,
    "any object": dict[str, Any],
}
LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}


def snake_case(name):
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def rules(given):
    simple = {
        "sensitive": sdk.Sensitive(),
        "immutable": sdk.Immutable(),
        "setOnce": sdk.SetOnce(),
        "lateInitialized": sdk.LateInitialized(),
    }
    compared = {
        "writeOnly": sdk.Comparison.WRITE_ONLY,
        "caseInsensitive": sdk.Comparison.CASE_INSENSITIVE,
        "jsonText": sdk.Comparison.JSON_TEXT,
        "quantity": sdk.Comparison.QUANTITY,
    }
    return [simple.get(name) or (sdk.Reference(**value) if name == "reference" else sdk.Compared(compared[name])) for name, value in given.items()]


def model_of(name, fields, types, description=None):
    """The model that an author would write."""
    made = {}
    for field in fields:
        kind = field["type"]
        if kind == "enum":
            python = Literal[tuple(field["values"])]
        elif kind in ("list", "map"):
            of = SCALARS.get(field["of"]) or model_of(field["of"], types[field["of"]], types)
            python = list[of] if kind == "list" else dict[str, of]
        else:
            python = SCALARS.get(kind) or model_of(kind, types[kind], types)
        limits = {LIMITS[limit]: field[limit] for limit in LIMITS if limit in field}
        if "pattern" in field:
            limits["pattern"] = field["pattern"]
        extra = {"json_schema_extra": field["extensions"]} if "extensions" in field else {}
        python = Optional[python] if field.get("optional") else python  # noqa: UP045
        default = field.get("default", None if field.get("optional") else ...)
        about = Field(description=field.get("description"), **limits, **extra)
        made[snake_case(field["name"])] = (Annotated[(python, about, *rules(field.get("rule", {})))], default)
    return create_model(name, __base__=sdk.Model, __doc__=description, **made)


@pytest.mark.parametrize("vector", named(("schemas.json", vector) for vector in read("schemas", "schemas")))
def test_schemas(vector):
    model = model_of("Parameters", vector["fields"], vector.get("types", {}), vector.get("description"))

    class Of(Common, sdk.Resource[model, Status]):
        kind = sdk.Kind(**WIDGET, can_create=False, can_update=False, can_delete=False)

    kind = PublishedKind(Of(None)).wire
    assert canonical(json.loads(kind.parameters_schema_json)) == canonical(vector["schema"])
    by_path = lambda rule: rule["path"]  # noqa: E731
    found = sorted((json_format.MessageToDict(rule) for rule in kind.field_rules), key=by_path)
    assert found == sorted(vector.get("fieldRules", []), key=by_path)


EXAMPLE = {"name": "plain", "external_name": "a-widget", "create": {"size": 1}}


class Tree(sdk.Model):
    children: list["Tree"] | None = None


class Ported(sdk.Model):
    port: int | str


def declared(types=(Parameters, Status), example=None, examples=None, without=(), **changed):
    """The smallest plugin, with a kind that differs in this."""
    examples = [sdk.Example(**EXAMPLE | (example or {}))] if examples is None else examples

    class Of(Common if "delete" not in without else Undeletable, sdk.Resource[types]):
        kind = sdk.Kind(**WIDGET | {"examples": examples} | changed)
        update = Widget.update

    return sdk.Plugin("vectors.example.org", "1.0.0", [Of(World())])


class Undeletable:
    __init__ = Widget.__init__
    observe, create = Common.observe, Common.create


class Pollless(Undeletable, sdk.Resource[Parameters, Status]):
    kind = Job.kind
    delete = Common.delete


def smallest(**changed):
    plugin = declared()
    for name, value in changed.items():
        setattr(plugin, name, value)
    return plugin


def twice():
    plugin = declared()
    plugin.resources *= 2
    return plugin


MISTAKES = {
    "none": declared,
    "duplicate kind": twice,
    "no example": lambda: declared(examples=[]),
    "example of another type": lambda: declared(example={"name": "odd", "create": {"size": "big"}}),
    "example with a bad name": lambda: declared(example={"external_name": "A1"}),
    "example with a long name": lambda: declared(example={"external_name": "a" * 21}),
    "example that requires what is not there": lambda: declared(example={"requires": ["Gadget/plain"]}),
    "two examples of one name": lambda: declared(examples=[sdk.Example(**EXAMPLE)] * 2),
    "example of the name rules": lambda: declared(names=sdk.ExternalName.by_user("A1", pattern="[a-z][a-z0-9-]*", max_length=20)),
    "bad plural": lambda: declared(plural="Widgets"),
    "bad group": lambda: declared(group="Vectors!"),
    "bad kind": lambda: declared(kind="a widget"),
    "rule of no field": lambda: declared(field_rules={"/secret": sdk.Sensitive()}),
    "no recovery": lambda: declared(recovery=[]),
    "recovery by name of a name that the upstream gives": lambda: declared(names=sdk.ExternalName.by_upstream("w-1")),
    "bad pattern": lambda: declared(names=sdk.ExternalName.by_user("a", pattern="[")),
    "long call timeout": lambda: declared(call_timeout=timedelta(seconds=61)),
    "connection key twice": lambda: declared(connection_keys=[sdk.ConnectionKey("password")] * 2),
    "bad connection key": lambda: declared(connection_keys=[sdk.ConnectionKey("pass word")]),
    "bad printer column": lambda: declared(printer_columns=[sdk.PrinterColumn("SIZE", "text", ".spec")]),
    "parameters that are no object": lambda: declared(types=(str, Status)),
    "status that is no object": lambda: declared(types=(Parameters, str)),
    "parameters that contain themselves": lambda: declared(types=(Tree, Status)),
    "a field of several types": lambda: declared(types=(Ported, Status)),
    "missing method": lambda: declared(without=["delete"]),
    "missing poll": lambda: sdk.Plugin("vectors.example.org", "1.0.0", [Pollless(World())]),
    "missing list": lambda: declared(list_filter=Parameters),
    "bad plugin name": lambda: smallest(name="Vectors"),
    "bad plugin version": lambda: smallest(version="one"),
    "bad limit of calls": lambda: smallest(max_concurrent_calls=0),
    "settings that are no object": lambda: smallest(settings=str),
    "no kinds": lambda: smallest(resources=[]),
}


@pytest.mark.parametrize("vector", named(("mistakes.json", vector) for vector in read("mistakes", "mistakes")))
def test_mistakes(vector):
    plugin = MISTAKES[vector["name"]]()
    if vector["name"] == "none":
        assert plugin.declared().kinds
        return
    with pytest.raises(sdk.DeclarationError) as error:
        asyncio.run(plugin.serve_at("unix:///there/is/no/such/folder/plugin.sock", asyncio.Event()))
    for mention in vector["mentions"]:
        assert mention.lower() in str(error.value).lower()


@pytest.mark.parametrize("vector", named(("endpoints.json", vector) for vector in read("endpoints", "endpoints")))
def test_endpoints(vector):
    environment = {"PATH": os.environ["PATH"]} | vector.get("environment", {})
    if vector["endpoint"] is not None:
        environment["PROVIDER_PLUGIN_ENDPOINT"] = vector["endpoint"]
    program = Path(__file__).with_name("vector_plugin.py")
    ended = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode not in (0, -9)
    for mention in vector["mentions"]:
        assert mention.lower() in ended.stderr.lower()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "NaN", '{"n":NaN}', '{"n":1e999}', '{"s":"\\ud800"}', '{"n":' + "9" * 5000 + "}", '{"a":' * 200 + "1" + "}" * 200]
)
def test_what_is_no_object_is_rejected_without_quoting_it(text):
    with pytest.raises(Violation) as broken:
        document.parse_object(text, "x")
    assert broken.value.field == "x"
    assert "9999" not in str(broken.value)


def test_documents_stay_exact():
    assert document.text(document.parse_object('{"n":9007199254740993}', "x")) == '{"n":9007199254740993}'
