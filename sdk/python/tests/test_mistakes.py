"""Mistakes of an author in Python's own manner: each names the kind, the class and its file."""

import enum
from datetime import timedelta
from typing import Annotated, Literal

import pytest
from pydantic import Field

import crossbridge_sdk as sdk
from crossbridge_sdk.published import PublishedKind
from crossbridge_sdk.schema import NotStructural, structural


class Parameters(sdk.Model):
    size: int | None = None


class Whole(sdk.Resource[Parameters, sdk.NoStatus]):
    kind = sdk.Kind(
        group="things.example.org",
        version="v1",
        kind="Thing",
        names=sdk.ExternalName.by_user("a"),
        recovery=[sdk.Recovery.by_name()],
        examples=[sdk.Example(name="a", external_name="a", create=Parameters())],
    )

    async def observe(self, call, desired): ...
    async def create(self, call, create): ...
    async def update(self, call, update): ...
    async def delete(self, call, delete): ...


def mistake(resource):
    with pytest.raises(sdk.DeclarationError) as error:
        PublishedKind(resource)
    return str(error.value)


def test_a_mistake_names_kind_class_and_file():
    class Partial(Whole):
        delete = sdk.Resource.delete

    said = mistake(Partial())
    assert said.startswith("kind Thing: there is no method delete: write one, or declare `can_delete=False` (class ")
    assert "Partial in " in said
    assert "test_mistakes.py:" in said


def test_a_kind_that_is_registered_twice_names_both_classes():
    class Other(Whole):
        pass

    both = r"registered twice: by class Whole in .*test_mistakes.py:\d+, and by class .*Other in .*test_mistakes.py:"
    with pytest.raises(sdk.DeclarationError, match=both):
        sdk.Plugin("things.example.org", "1.0.0", [Whole(), Other()]).declared()


def test_a_method_of_another_signature_is_found_at_start():
    class Odd(Whole):
        async def create(self, call): ...

    assert "method create does not take (self, call, request)" in mistake(Odd())


def test_a_class_without_types_or_kind_is_found_at_start():
    class Untyped(sdk.Resource):
        kind = Whole.kind

    assert "the class names no types" in mistake(Untyped())
    assert "is no Resource" in mistake(object())


def test_a_sensitive_field_that_must_have_a_value_is_found_at_start():
    class Secretive(sdk.Model):
        password: Annotated[str, sdk.Sensitive()]

    class Directly(sdk.Resource[Secretive, sdk.NoStatus]):
        kind = Whole.kind
        observe, create, update, delete = Whole.observe, Whole.create, Whole.update, Whole.delete

    assert "field password of class" in mistake(Directly())


@pytest.mark.parametrize("pattern", ["a(?=b)", r"(a)\1", "(?P<x>a)(?P=x)", "a++", "(?<!a)b"])
def test_a_pattern_beyond_re2_is_found_at_start(pattern):
    class Of(Whole):
        kind = sdk.Kind(
            group="things.example.org",
            version="v1",
            kind="Thing",
            names=sdk.ExternalName.by_user("ab", pattern=pattern),
            recovery=[sdk.Recovery.by_name()],
            examples=Whole.kind.examples,
        )

    assert "external_name.pattern" in mistake(Of())


class Shade(enum.Enum):
    DARK = "dark"
    LIGHT = "light"


class FromFile(sdk.Model):
    file: str


class FromText(sdk.Model):
    text: str


class One(sdk.Model):
    kind: Literal["one"]
    depth: int


class Two(sdk.Model):
    kind: Literal["two"]
    name: str


class Everything(sdk.Model):
    """Everything."""

    shade: Shade = Shade.DARK
    source: FromFile | FromText | None = None
    tagged: Annotated[One | Two, Field(discriminator="kind")] | None = None
    words: set[str] | None = None
    above: Annotated[float, Field(gt=0.5)] | None = None
    count: Annotated[int, Field(gt=0)] | None = None
    patience: timedelta | None = None
    inner: FromFile | None = None
    """Where it comes from."""


def test_unions_enums_and_bounds_become_structural():
    schema = structural(Everything)
    assert schema == {
        "type": "object",
        "description": "Everything.",
        "properties": {
            "shade": {"type": "string", "enum": ["dark", "light"], "default": "dark"},
            "source": {
                "type": "object",
                "properties": {"file": {"type": "string"}, "text": {"type": "string"}},
                "oneOf": [{"required": ["file"]}, {"required": ["text"]}],
            },
            "tagged": {
                "type": "object",
                "required": ["kind"],
                "properties": {
                    "kind": {"type": "string", "enum": ["one", "two"]},
                    "depth": {"type": "integer", "format": "int64"},
                    "name": {"type": "string"},
                },
            },
            "words": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "above": {"type": "number", "format": "double", "minimum": 0.5, "exclusiveMinimum": True},
            "count": {"type": "integer", "format": "int64", "minimum": 1},
            "patience": {"type": "string"},
            "inner": {"type": "object", "required": ["file"], "properties": {"file": {"type": "string"}}, "description": "Where it comes from."},
        },
    }


def test_a_tuple_is_rejected_by_its_field():
    class Pair(sdk.Model):
        both: tuple[int, str]

    with pytest.raises(NotStructural, match=r"^both: "):
        structural(Pair)
