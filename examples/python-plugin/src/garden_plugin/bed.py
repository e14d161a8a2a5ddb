"""Beds: created and changed within the call, named by the user."""

import sqlite3
from typing import Annotated, Literal

from crossbridge_sdk import (
    Absent,
    AlreadyExists,
    Call,
    Create,
    Delete,
    Example,
    ExternalName,
    Kind,
    Known,
    Model,
    NotFound,
    Observation,
    Outcome,
    PrinterColumn,
    Recovery,
    Resource,
    Sensitive,
    Update,
)
from pydantic import Field, ValidationInfo, field_validator

from . import garden

LONGEST_OF_SAND = 1000


class Bed(Model):
    """A bed of the garden."""

    soil: Literal["clay", "loam", "sand"]
    metres: Annotated[int, Field(ge=1)] | None = None
    """Its length; 1 if not said."""
    hiding_place: Annotated[str | None, Sensitive()] = None
    """Where its spare key lies."""

    @field_validator("metres")
    @classmethod
    def _short_of_sand(cls, metres: int | None, others: ValidationInfo) -> int | None:
        if others.data.get("soil") == "sand" and (metres or 1) > LONGEST_OF_SAND:
            raise ValueError(f"Of sand, a bed is {LONGEST_OF_SAND} metres long at most.")
        return metres


class BedStatus(Model):
    lasts: bool
    """Whether it stands the winter."""


class Beds(Resource[Bed, BedStatus]):
    """A bed of the garden."""

    kind = Kind(
        group="garden.example.org",
        version="v1alpha1",
        kind="Bed",
        names=ExternalName.by_user("herbs", pattern="[a-z][a-z0-9-]*", max_length=63),
        # Its name is its key in the table, and its marker is in the same row.
        recovery=[Recovery.by_name(), Recovery.by_marker()],
        visible_when_accepted=True,
        printer_columns=[PrinterColumn("Soil", "string", ".spec.forProvider.soil")],
        examples=[
            Example(
                name="herbs",
                external_name="herbs",
                # More than a double can hold: whoever counts with one loses the last metre.
                create=Bed(soil="loam", metres=9007199254740993),
                update=Bed(soil="sand", metres=4),
                invalid={"soil": "sand", "metres": LONGEST_OF_SAND + 1},
                sensitive={"/hidingPlace": "under the third stone"},
            )
        ],
    )

    def observe(self, call: Call, desired: Known[Bed]) -> Observation | Absent:
        with garden.enter(call).reading() as rows:
            bed = find(rows, call) if call.name else find_by_marker(rows, call)
        return observed(bed) if bed else Absent()

    def create(self, call: Call, create: Create[Bed]) -> Outcome:
        desired = create.desired.parameters.model_copy(update={"metres": create.desired.parameters.metres or 1})
        with garden.enter(call).change() as rows:
            bed = find(rows, call)
            if bed:
                # The name resolves it: what bears our marker and is as desired is our own earlier work.
                if call.target.owns(bed["marker"]) and Bed.model_validate_json(bed["parameters"]) == desired:
                    return Outcome.completed(observed(bed), already_done=True)
                raise AlreadyExists(f"There is a bed {call.name} already.", reason="NameTaken", existing_external_name=call.name)
            rows.execute(
                "INSERT INTO beds (name, parameters, hiding_place, marker) VALUES (?, ?, ?, ?)",
                (call.name, desired.model_dump_json(), create.desired.sensitive("/hidingPlace"), call.target.ownership_marker),
            )
            return Outcome.completed(observed(found(rows, call)))

    def update(self, call: Call, update: Update[Bed]) -> Outcome:
        with garden.enter(call).change() as rows:
            bed = found(rows, call)
            update.ensure_etag(bed["version"])
            merged = update.desired.over(Bed.model_validate_json(bed["parameters"]))
            rows.execute(
                "UPDATE beds SET parameters = ?, hiding_place = coalesce(?, hiding_place), marker = ?, version = version + 1 WHERE name = ?",
                (merged.model_dump_json(), update.desired.sensitive("/hidingPlace"), call.target.ownership_marker, call.name),
            )
            return Outcome.completed(observed(found(rows, call)))

    def delete(self, call: Call, delete: Delete[Bed]) -> Outcome:
        with garden.enter(call).change() as rows:
            if not find(rows, call):
                return Outcome.completed(already_done=True)
            delete.ensure_etag(found(rows, call)["version"])
            rows.execute("DELETE FROM beds WHERE name = ?", (call.name,))
        return Outcome.completed()


def find(rows: sqlite3.Connection, call: Call) -> sqlite3.Row | None:
    bed: sqlite3.Row | None = rows.execute("SELECT * FROM beds WHERE name = ?", (call.name,)).fetchone()
    return bed


def found(rows: sqlite3.Connection, call: Call) -> sqlite3.Row:
    """One that exists, and that this call may change."""
    bed = find(rows, call)
    if bed is None:
        raise NotFound(f"There is no bed {call.name}.", reason="NoSuchBed")
    call.ensure_owned(bed["marker"])
    return bed


def find_by_marker(rows: sqlite3.Connection, call: Call) -> sqlite3.Row | None:
    return next((bed for bed in rows.execute("SELECT * FROM beds ORDER BY rowid") if call.target.owns(bed["marker"])), None)


def observed(bed: sqlite3.Row) -> Observation:
    parameters = Bed.model_validate_json(bed["parameters"])
    return Observation(
        external_name=bed["name"],
        parameters=parameters,
        status=BedStatus(lasts=parameters.soil != "sand"),
        ready=True,
        etag=str(bed["version"]),
        found_marker=bed["marker"],
    )
