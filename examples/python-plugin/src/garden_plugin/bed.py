"""Beds: created and changed within the call, named by the user."""

import json
import sqlite3
from typing import Any

from crossbridge.provider.v1alpha1 import kind_pb2 as kinds
from crossbridge.provider.v1alpha1 import observation_pb2, outcome_pb2, target_pb2
from crossbridge.provider.v1alpha1 import resource_service_pb2 as resource

from . import garden
from .call import Call, Failed, Rejected, document

SOILS = ["clay", "loam", "sand"]
LONGEST_OF_SAND = 1000
PARAMETERS = {
    "type": "object",
    "description": "A bed of the garden.",
    "required": ["soil"],
    "properties": {
        "soil": {"type": "string", "enum": SOILS},
        "metres": {"type": "integer", "format": "int64", "minimum": 1, "description": "Its length; 1 if not said."},
        "hidingPlace": {"type": "string", "description": "Where its spare key lies."},
    },
}
STATUS = {"type": "object", "properties": {"lasts": {"type": "boolean", "description": "Whether it stands the winter."}}}


class Beds:
    type = target_pb2.ResourceType(group="garden.example.org", version="v1alpha1", kind="Bed")
    described = kinds.ResourceKind(
        resource_type=type,
        plural="beds",
        namespaced=True,
        description="A bed of the garden.",
        parameters_schema_json=json.dumps(PARAMETERS),
        status_schema_json=json.dumps(STATUS),
        printer_columns=[kinds.PrinterColumn(name="Soil", data_type="string", json_path=".spec.forProvider.soil")],
        capabilities=kinds.KindCapabilities(
            can_create=True,
            can_update=True,
            can_delete=True,
            # Its name is its key in the table, and its marker is in the same row.
            create_recovery=[kinds.CREATE_RECOVERY_DETERMINISTIC_NAME, kinds.CREATE_RECOVERY_MARKER],
            holds_marker=True,
            visible_when_accepted=True,
        ),
        external_name=kinds.ExternalNameRules(
            source=kinds.EXTERNAL_NAME_SOURCE_USER, pattern="[a-z][a-z0-9-]*", max_length=63, example="herbs"
        ),
        field_rules=[kinds.FieldRule(path="/hidingPlace", sensitive=True)],
        examples=[
            kinds.KindExample(
                name="herbs",
                external_name="herbs",
                # More than a double can hold: whoever counts with one loses the last metre.
                create_parameters=document({"soil": "loam", "metres": 9007199254740993}),
                update_parameters=document({"soil": "sand", "metres": 4}),
                invalid_parameters=document({"soil": "sand", "metres": LONGEST_OF_SAND + 1}),
                sensitive_values={"/hidingPlace": "under the third stone"},
            )
        ],
    )

    def observe(self, call: Call) -> resource.ObserveResponse:
        with garden.of(call).reading() as rows:
            bed = find(rows, call) if call.name else find_by_marker(rows, call)
        if bed is None:
            return resource.ObserveResponse(absent=observation_pb2.Absent())
        return resource.ObserveResponse(observation=observed(bed))

    def create(self, call: Call, token: str) -> outcome_pb2.Outcome:
        desired = checked({"metres": 1} | call.desired)
        with garden.of(call).change(call) as rows:
            bed = find(rows, call)
            if bed is not None:
                # The name resolves it: what bears our marker and is as desired is our own earlier work.
                if call.owns(bed["marker"]) and json.loads(bed["parameters"]) == desired:
                    return completed(bed, already_done=True)
                raise Failed("ALREADY_EXISTS", "NameTaken", f"There is a bed {call.name} already.", existing=call.name)
            rows.execute(
                "INSERT INTO beds (name, parameters, hiding_place, marker) VALUES (?, ?, ?, ?)",
                (call.name, json.dumps(desired), call.secrets.get("/hidingPlace"), call.target.ownership_marker),
            )
            bed = find(rows, call)
        return completed(bed)

    def update(self, call: Call, etag: str) -> outcome_pb2.Outcome:
        with garden.of(call).change(call) as rows:
            bed = find(rows, call)
            # One without a marker is being adopted.
            if bed is None or bed["marker"] and not call.owns(bed["marker"]):
                raise Failed("NOT_FOUND", "NoSuchBed", f"There is no bed {call.name} of this object.")
            reject_if_changed(bed, etag)
            rows.execute(
                "UPDATE beds SET parameters = ?, hiding_place = coalesce(?, hiding_place), marker = ?, version = version + 1 WHERE name = ?",
                (
                    json.dumps(checked(json.loads(bed["parameters"]) | call.desired)),
                    call.secrets.get("/hidingPlace"),
                    call.target.ownership_marker,
                    call.name,
                ),
            )
            bed = find(rows, call)
        return completed(bed)

    def delete(self, call: Call, etag: str) -> outcome_pb2.Outcome:
        with garden.of(call).change(call) as rows:
            bed = find(rows, call)
            if bed is None:
                return outcome_pb2.Outcome(completed=outcome_pb2.Completed(already_done=True))
            if not call.owns(bed["marker"]):
                raise Failed("NOT_FOUND", "NoSuchBed", f"The bed {call.name} is not this object's.")
            reject_if_changed(bed, etag)
            rows.execute("DELETE FROM beds WHERE name = ?", (call.name,))
        return outcome_pb2.Outcome(external_name=call.name, completed=outcome_pb2.Completed())

    def poll(self, call: Call, handle: str) -> outcome_pb2.Outcome:
        raise Rejected("handle is foreign: beds have no operations")


def checked(desired: dict[str, Any]) -> dict[str, Any]:
    if desired.get("soil") not in SOILS:
        raise Failed("INVALID_SPEC", "UnknownSoil", f"A bed is of {', '.join(SOILS)}.", path="/soil")
    if type(desired["metres"]) is not int or desired["metres"] < 1:
        raise Failed("INVALID_SPEC", "InvalidLength", "A bed is 1 metre long or more.", path="/metres")
    if desired["soil"] == "sand" and desired["metres"] > LONGEST_OF_SAND:
        raise Failed("INVALID_SPEC", "TooLong", f"Of sand, a bed is {LONGEST_OF_SAND} metres long at most.", path="/metres")
    return {key: desired[key] for key in ("soil", "metres")}


def find(rows: sqlite3.Connection, call: Call) -> sqlite3.Row | None:
    return rows.execute("SELECT * FROM beds WHERE name = ?", (call.name,)).fetchone()


def find_by_marker(rows: sqlite3.Connection, call: Call) -> sqlite3.Row | None:
    return rows.execute("SELECT * FROM beds WHERE marker IN (?, ?) ORDER BY rowid", call.markers).fetchone()


def reject_if_changed(bed: sqlite3.Row, etag: str) -> None:
    if etag and etag != str(bed["version"]):
        raise Failed("CONFLICT", "Changed", f"The bed {bed['name']} was changed meanwhile.")


def observed(bed: sqlite3.Row) -> observation_pb2.Observation:
    parameters = json.loads(bed["parameters"])
    return observation_pb2.Observation(
        external_name=bed["name"],
        parameters=document(parameters),
        status=document({"lasts": parameters["soil"] != "sand"}),
        ready=True,
        etag=str(bed["version"]),
        found_marker=bed["marker"],
    )


def completed(bed: sqlite3.Row, already_done: bool = False) -> outcome_pb2.Outcome:
    done = outcome_pb2.Completed(observation=observed(bed), already_done=already_done)
    return outcome_pb2.Outcome(external_name=bed["name"], completed=done)
