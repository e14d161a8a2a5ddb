"""Plants: they take a while to grow, and the garden names them."""

import hashlib
import json
import re
import sqlite3
import time
from typing import Any

from crossbridge.provider.v1alpha1 import kind_pb2 as kinds
from crossbridge.provider.v1alpha1 import observation_pb2, operation_pb2, outcome_pb2, target_pb2
from crossbridge.provider.v1alpha1 import resource_service_pb2 as resource
from google.protobuf.duration_pb2 import Duration

from . import garden
from .call import Call, Failed, Rejected, document

PARAMETERS = {
    "type": "object",
    "description": "A plant of the garden.",
    "required": ["species"],
    "properties": {
        "species": {"type": "string", "minLength": 1},
        "growSeconds": {"type": "integer", "minimum": 0, "maximum": 86400, "description": "How long it grows; 0 if not said."},
        "waterMillilitres": {"type": "integer", "format": "int64", "minimum": 0, "description": "A day; 200 if not said."},
    },
}
STATUS = {
    "type": "object",
    "properties": {"grown": {"type": "boolean"}, "plantedAt": {"type": "string", "format": "date-time"}},
}
HANDLE = re.compile(r"grow/(plant-[1-9][0-9]{0,17})")
FOR_EVER = Duration(seconds=315_576_000_000)


class Plants:
    type = target_pb2.ResourceType(group="garden.example.org", version="v1alpha1", kind="Plant")
    described = kinds.ResourceKind(
        resource_type=type,
        plural="plants",
        namespaced=True,
        description="A plant of the garden.",
        parameters_schema_json=json.dumps(PARAMETERS),
        status_schema_json=json.dumps(STATUS),
        printer_columns=[kinds.PrinterColumn(name="Species", data_type="string", json_path=".spec.forProvider.species")],
        capabilities=kinds.KindCapabilities(
            can_create=True,
            can_update=True,
            can_delete=True,
            # Token and marker are in the row that creates the plant, and no row is ever removed.
            create_recovery=[kinds.CREATE_RECOVERY_CLIENT_TOKEN, kinds.CREATE_RECOVERY_MARKER],
            token_retention=FOR_EVER,
            holds_marker=True,
            concurrent_update=True,
            delete_during_create=True,
            visible_when_accepted=True,
        ),
        external_name=kinds.ExternalNameRules(
            source=kinds.EXTERNAL_NAME_SOURCE_PROVIDER, pattern="plant-[1-9][0-9]{0,17}", example="plant-1000000017"
        ),
        field_rules=[kinds.FieldRule(path=path, mutability=kinds.MUTABILITY_IMMUTABLE) for path in ("/species", "/growSeconds")],
        timeouts=kinds.Timeouts(create_timeout=Duration(seconds=2 * 86400)),
        examples=[
            kinds.KindExample(
                name="basil",
                create_parameters=document({"species": "basil", "growSeconds": 2, "waterMillilitres": 150}),
                update_parameters=document({"species": "basil", "growSeconds": 2, "waterMillilitres": 300}),
                invalid_parameters=document({"species": "triffid"}),
            )
        ],
    )

    def observe(self, call: Call) -> resource.ObserveResponse:
        with garden.of(call).reading() as rows:
            plant = find(rows, call.name) if call.name else find_by_marker(rows, call)
        if plant is None or plant["removed_at"] is not None:
            return resource.ObserveResponse(absent=observation_pb2.Absent())
        return resource.ObserveResponse(observation=observed(plant))

    def create(self, call: Call, token: str) -> outcome_pb2.Outcome:
        request = digest(call)
        with garden.of(call).change(call) as rows:
            # Before anything is checked: what had its effect is never rejected when repeated.
            plant = rows.execute("SELECT * FROM plants WHERE token = ?", (token,)).fetchone()
            if plant is not None:
                if plant["request"] != request:
                    raise Failed("TOKEN_REUSED", "TokenReused", "Another request came earlier under this token.")
                if plant["removed_at"] is not None:
                    raise Failed("NOT_FOUND", "PlantGone", f"{name(plant)} was created under this token and has been deleted.", name=name(plant))
                return grown_or_growing(plant, already_done=True)
            desired = checked({"growSeconds": 0, "waterMillilitres": 200} | call.desired)
            now = time.time()
            created = rows.execute(
                "INSERT INTO plants (parameters, marker, token, request, planted_at, grown_at) VALUES (?, ?, ?, ?, ?, ?)",
                (json.dumps(desired), call.target.ownership_marker, token, request, now, now + desired["growSeconds"]),
            )
            plant = find(rows, f"plant-{created.lastrowid}")
        return grown_or_growing(plant)

    def update(self, call: Call, etag: str) -> outcome_pb2.Outcome:
        with garden.of(call).change(call) as rows:
            plant = find(rows, call.name)
            # One without a marker is being adopted.
            if plant is None or plant["removed_at"] is not None or plant["marker"] and not call.owns(plant["marker"]):
                raise Failed("NOT_FOUND", "NoSuchPlant", f"There is no {call.name} of this object.")
            reject_if_changed(plant, etag)
            before = json.loads(plant["parameters"])
            desired = checked(before | call.desired)
            for field in ("species", "growSeconds"):
                if desired[field] != before[field]:
                    raise Failed("IMMUTABLE_FIELD", "AnotherPlant", f"The {field} of a plant cannot change.", path=f"/{field}")
            rows.execute(
                "UPDATE plants SET parameters = ?, marker = ?, version = version + 1 WHERE id = ?",
                (json.dumps(desired), call.target.ownership_marker, plant["id"]),
            )
            plant = find(rows, call.name)
        return outcome_pb2.Outcome(external_name=name(plant), completed=outcome_pb2.Completed(observation=observed(plant)))

    def delete(self, call: Call, etag: str) -> outcome_pb2.Outcome:
        with garden.of(call).change(call) as rows:
            plant = find(rows, call.name)
            if plant is None or plant["removed_at"] is not None:
                return outcome_pb2.Outcome(external_name=call.name, completed=outcome_pb2.Completed(already_done=True))
            if not call.owns(plant["marker"]):
                raise Failed("NOT_FOUND", "NoSuchPlant", f"{call.name} is not this object's.")
            reject_if_changed(plant, etag)
            rows.execute("UPDATE plants SET removed_at = ? WHERE id = ?", (time.time(), plant["id"]))
        return outcome_pb2.Outcome(external_name=call.name, completed=outcome_pb2.Completed())

    def poll(self, call: Call, handle: str) -> outcome_pb2.Outcome:
        known = HANDLE.fullmatch(handle)
        if known is None or call.name not in ("", known[1]):
            raise Rejected("handle is malformed or foreign: no operation of this plant")
        with garden.of(call).reading() as rows:
            plant = find(rows, known[1])
        if plant is None:
            raise Failed("OPERATION_EXPIRED", "UnknownOperation", f"This garden never had a {known[1]}.")
        if not call.owns(plant["marker"]):
            raise Failed("NOT_FOUND", "NoSuchPlant", f"{known[1]} is not this object's.")
        return grown_or_growing(plant)


def digest(call: Call) -> str:
    """Of all that creates two requests the same."""
    parts = [call.target.config.config_id, call.target.ownership_marker, call.desired]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def checked(desired: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(desired.get("species"), str) or desired["species"] in ("", "triffid"):
        raise Failed("INVALID_SPEC", "ForbiddenSpecies", "Nobody may plant what has no name, nor triffids.", path="/species")
    for field in ("growSeconds", "waterMillilitres"):
        if type(desired[field]) is not int or desired[field] < 0:
            raise Failed("INVALID_SPEC", "InvalidNumber", f"{field} is a whole number, 0 or more.", path=f"/{field}")
    return {key: desired[key] for key in ("species", "growSeconds", "waterMillilitres")}


def name(plant: sqlite3.Row) -> str:
    return f"plant-{plant['id']}"


def find(rows: sqlite3.Connection, name: str) -> sqlite3.Row | None:
    return rows.execute("SELECT * FROM plants WHERE id = ?", (int(name.removeprefix("plant-")),)).fetchone()


def find_by_marker(rows: sqlite3.Connection, call: Call) -> sqlite3.Row | None:
    """The oldest."""
    query = "SELECT * FROM plants WHERE marker IN (?, ?) AND removed_at IS NULL ORDER BY id"
    return rows.execute(query, call.markers).fetchone()


def reject_if_changed(plant: sqlite3.Row, etag: str) -> None:
    if etag and etag != str(plant["version"]):
        raise Failed("CONFLICT", "Changed", f"{name(plant)} was changed meanwhile.")


def growth(plant: sqlite3.Row) -> operation_pb2.Operation | None:
    """None: it is grown. A plant grows by itself, whoever observes."""
    left = plant["grown_at"] - time.time()
    if left <= 0:
        return None
    percent = int(100 * (1 - left / (plant["grown_at"] - plant["planted_at"])))
    return operation_pb2.Operation(
        handle=f"grow/{name(plant)}",
        verb=operation_pb2.OPERATION_VERB_CREATE,
        poll_after=Duration(nanos=int(min(left, 0.999) * 1e9)),
        progress_percent=max(0, min(percent, 99)),
        phase="Sprouting" if percent < 50 else "Growing",
    )


def observed(plant: sqlite3.Row) -> observation_pb2.Observation:
    growing = growth(plant)
    planted = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(plant["planted_at"]))
    return observation_pb2.Observation(
        external_name=name(plant),
        parameters=document(json.loads(plant["parameters"])),
        status=document({"grown": growing is None, "plantedAt": planted}),
        ready=growing is None,
        ready_message="" if growing is None else "It is growing.",
        etag=str(plant["version"]),
        operation=growing,
        found_marker=plant["marker"],
    )


def grown_or_growing(plant: sqlite3.Row, already_done: bool = False) -> outcome_pb2.Outcome:
    """How its creating goes. What was pulled out before it was grown never gets there; the answer stays the same ever after."""
    removed = plant["removed_at"]
    if removed is not None and removed < plant["grown_at"]:
        raise Failed("OPERATION_FAILED", "PulledOut", f"{name(plant)} was pulled out before it was grown.", name=name(plant))
    growing = growth(plant)
    if growing is not None:
        return outcome_pb2.Outcome(external_name=name(plant), operation=growing)
    done = outcome_pb2.Completed(observation=None if removed else observed(plant), already_done=already_done)
    return outcome_pb2.Outcome(external_name=name(plant), completed=done)
