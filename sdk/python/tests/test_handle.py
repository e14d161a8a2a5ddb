"""Handles, states and the fields of the desired state: right by construction."""

import pytest

import crossbridge_sdk as sdk


class Growth(sdk.Handle):
    plant: str
    step: int = 1


def test_a_handle_is_read_as_it_was_written():
    text = str(Growth(plant="plant-7"))
    assert text == '1:{"plant":"plant-7","step":1}'
    assert Growth.parse(text) == Growth(plant="plant-7")


@pytest.mark.parametrize("text", ["", "1:", "x", '2:{"plant":"a"}', '1:{"plant":1}', "1:[]", '1:{"plant":"a","other":1}', "1:" + "[" * 5000])
def test_a_foreign_handle_is_rejected(text):
    with pytest.raises(sdk.InvalidArgument) as rejected:
        Growth.parse(text)
    assert rejected.value.message.startswith("handle: is malformed or foreign")


def test_an_earlier_version_is_upgraded():
    class Newer(sdk.Handle):
        handle_version = 2
        name: str

        @classmethod
        def upgrade(cls, version, fields):
            return {"name": fields["plant"]} if version == 1 else super().upgrade(version, fields)

    assert Newer.parse(str(Growth(plant="a"))) == Newer(name="a")
    assert Newer.parse(str(Newer(name="b"))) == Newer(name="b")


def test_a_handle_that_is_too_large_is_an_error_of_its_author():
    with pytest.raises(ValueError, match="Growth: a handle of"):
        str(Growth(plant="x" * 5000))


class Inner(sdk.Model):
    depth: int | None = None
    key: str | None = None


class Outer(sdk.Model):
    inner_part: Inner
    tags: dict[str, str] | None = None
    size: int | None = None


def test_the_desired_state_goes_over_the_current_one():
    current = Outer(inner_part=Inner(depth=1, key="k"), tags={"a": "1"}, size=3)
    desired = sdk.Desired(parameters=None, json={"innerPart": {"depth": 2}, "tags": {"b": "2"}, "size": None})
    assert desired.over(current) == Outer(inner_part=Inner(depth=2, key="k"), tags={"b": "2"}, size=3)
    with pytest.raises(sdk.InvalidSpec) as unfit:
        sdk.Desired(parameters=None, json={"size": "big"}).over(current)
    assert list(unfit.value.violations) == ["/size"]


def call_of(found, *, requires_marker=False):
    target = sdk.Target(external_name="a", ownership_marker="ours", former_marker="formerly", owner=sdk.Owner(name="a", uid="u"))
    call = sdk.Call(target=target, config=None, deadline=None, requires_marker=requires_marker)
    call.ensure_owned(found)


def test_markers_are_judged_as_the_contract_says():
    for found in ("ours", "formerly", ""):
        call_of(found)
    call_of("ours", requires_marker=True)
    for found, requires in (("theirs", False), ("theirs", True), ("", True)):
        with pytest.raises(sdk.NotFound):
            call_of(found, requires_marker=requires)


def test_a_digest_is_of_what_makes_two_requests_the_same():
    def digest(json, marker="m", secrets=None):
        target = sdk.Target(external_name="", ownership_marker=marker, owner=sdk.Owner(name="a", uid="u"))
        call = sdk.Call(target=target, config=sdk.Config("c", "1"), deadline=None, resource_type=("g", "v", "k"))
        desired = sdk.Desired(parameters=None, json=json, sensitive_values=secrets or {})
        return sdk.Create(desired=desired, client_request_token="t").digest(call)

    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}, secrets={"/p": "s"})
    assert len({digest({"a": 1}), digest({"a": 2}), digest({"a": 1}, "n")}) == 3


def test_an_etag_that_no_longer_holds_is_a_conflict():
    update = sdk.Update(desired=None, etag="1")
    update.ensure_etag(1)
    sdk.Update(desired=None).ensure_etag("2")
    with pytest.raises(sdk.Conflict):
        update.ensure_etag(2)
