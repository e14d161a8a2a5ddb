"""Plants: they take a while to grow, and the garden names them."""

import sqlite3
import time
from datetime import UTC, datetime, timedelta
from typing import Annotated

from crossbridge_sdk import (
    Absent,
    Call,
    Create,
    Delete,
    Example,
    ExternalName,
    Handle,
    Immutable,
    ImmutableField,
    InvalidArgument,
    InvalidSpec,
    Kind,
    Known,
    Model,
    NotFound,
    Observation,
    Operation,
    OperationExpired,
    OperationFailed,
    Outcome,
    Poll,
    PrinterColumn,
    Recovery,
    Resource,
    TokenReused,
    Update,
)
from pydantic import Field

from . import garden


class Plant(Model):
    """A plant of the garden."""

    species: Annotated[str, Field(min_length=1), Immutable()]
    grow_seconds: Annotated[int | None, Field(ge=0, le=86400), Immutable()] = None
    """How long it grows; 0 if not said."""
    water_millilitres: Annotated[int | None, Field(ge=0)] = None
    """A day; 200 if not said."""


class PlantStatus(Model):
    grown: bool
    planted_at: datetime


class Growth(Handle):
    plant: str


class Plants(Resource[Plant, PlantStatus]):
    """A plant of the garden."""

    kind = Kind(
        group="garden.example.org",
        version="v1alpha1",
        kind="Plant",
        names=ExternalName.by_upstream("plant-1000000017", pattern="plant-[1-9][0-9]{0,17}"),
        # Token and marker are in the row that creates the plant, and no row is ever removed.
        recovery=[Recovery.by_token(), Recovery.by_marker()],
        asynchronous=True,
        concurrent_update=True,
        delete_during_create=True,
        visible_when_accepted=True,
        create_timeout=timedelta(days=2),
        printer_columns=[PrinterColumn("Species", "string", ".spec.forProvider.species")],
        examples=[
            Example(
                name="basil",
                create=Plant(species="basil", grow_seconds=2, water_millilitres=150),
                update=Plant(species="basil", grow_seconds=2, water_millilitres=300),
                invalid={"species": "triffid"},
            )
        ],
    )

    def observe(self, call: Call, desired: Known[Plant]) -> Observation | Absent:
        with garden.enter(call).reading() as rows:
            plant = find(rows, call.name) if call.name else find_by_marker(rows, call)
        return observed(plant) if plant and not plant["removed_at"] else Absent()

    def create(self, call: Call, create: Create[Plant]) -> Outcome:
        request = create.digest(call)
        with garden.enter(call).change() as rows:
            plant = rows.execute("SELECT * FROM plants WHERE token = ?", (create.client_request_token,)).fetchone()
            if plant:
                if plant["request"] != request:
                    raise TokenReused("Another request came earlier under this token.")
                call.record_name(name(plant))
                if plant["removed_at"]:
                    raise NotFound(f"{name(plant)} was created under this token and has been deleted.", reason="PlantGone")
                return grown_or_growing(plant, already_done=True)
            desired = create.desired.over(Plant(species="any", grow_seconds=0, water_millilitres=200))
            # Here and not in the type: what had its effect is never rejected when repeated, also if the rules have become stricter.
            if desired.species == "triffid":
                raise InvalidSpec("Triffids may not be planted.", path="/species")
            now = time.time()
            created = rows.execute(
                "INSERT INTO plants (parameters, marker, token, request, planted_at, grown_at) VALUES (?, ?, ?, ?, ?, ?)",
                (
                    desired.model_dump_json(),
                    call.target.ownership_marker,
                    create.client_request_token,
                    request,
                    now,
                    now + (desired.grow_seconds or 0),
                ),
            )
            plant = rows.execute("SELECT * FROM plants WHERE id = ?", (created.lastrowid,)).fetchone()
        return grown_or_growing(plant)

    def update(self, call: Call, update: Update[Plant]) -> Outcome:
        with garden.enter(call).change() as rows:
            plant = found(rows, call)
            update.ensure_etag(plant["version"])
            before = Plant.model_validate_json(plant["parameters"])
            desired = update.desired.over(before)
            for path, now, then in (
                ("/species", desired.species, before.species),
                ("/growSeconds", desired.grow_seconds, before.grow_seconds),
            ):
                if now != then:
                    raise ImmutableField("A plant does not become another one.", reason="AnotherPlant", path=path)
            rows.execute(
                "UPDATE plants SET parameters = ?, marker = ?, version = version + 1 WHERE id = ?",
                (desired.model_dump_json(), call.target.ownership_marker, plant["id"]),
            )
            return Outcome.completed(observed(found(rows, call)))

    def delete(self, call: Call, delete: Delete[Plant]) -> Outcome:
        with garden.enter(call).change() as rows:
            plant = find(rows, call.name)
            if plant is None or plant["removed_at"]:
                return Outcome.completed(already_done=True)
            delete.ensure_etag(found(rows, call)["version"])
            rows.execute("UPDATE plants SET removed_at = ? WHERE id = ?", (time.time(), plant["id"]))
        return Outcome.completed()

    def poll(self, call: Call, poll: Poll[Plant]) -> Outcome:
        handle = Growth.parse(poll.handle)
        if call.name not in ("", handle.plant):
            raise InvalidArgument("handle", "is of another plant")
        with garden.enter(call).reading() as rows:
            plant = find(rows, handle.plant)
        if plant is None:
            raise OperationExpired(f"This garden never had a {handle.plant}.", reason="UnknownOperation")
        call.ensure_owned(plant["marker"])
        return grown_or_growing(plant)


def name(plant: sqlite3.Row) -> str:
    return f"plant-{plant['id']}"


def find(rows: sqlite3.Connection, name: str) -> sqlite3.Row | None:
    plant: sqlite3.Row | None = rows.execute("SELECT * FROM plants WHERE 'plant-' || id = ?", (name,)).fetchone()
    return plant


def found(rows: sqlite3.Connection, call: Call) -> sqlite3.Row:
    """One that exists, and that this call may change."""
    plant = find(rows, call.name)
    if plant is None or plant["removed_at"]:
        raise NotFound(f"There is no {call.name}.", reason="NoSuchPlant")
    call.ensure_owned(plant["marker"])
    return plant


def find_by_marker(rows: sqlite3.Connection, call: Call) -> sqlite3.Row | None:
    """The oldest."""
    plants = rows.execute("SELECT * FROM plants WHERE removed_at IS NULL ORDER BY id")
    return next((plant for plant in plants if call.target.owns(plant["marker"])), None)


def growth(plant: sqlite3.Row) -> Operation | None:
    """None: it is grown. A plant grows by itself, whoever observes."""
    left = plant["grown_at"] - time.time()
    if left <= 0:
        return None
    percent = int(100 * (1 - left / (plant["grown_at"] - plant["planted_at"])))
    return Operation.create(
        Growth(plant=name(plant)),
        poll_after=min(left, 0.999),
        progress=max(0, min(percent, 99)),
        phase="Sprouting" if percent < 50 else "Growing",
    )


def observed(plant: sqlite3.Row) -> Observation:
    growing = growth(plant)
    return Observation(
        external_name=name(plant),
        parameters=Plant.model_validate_json(plant["parameters"]),
        status=PlantStatus(grown=growing is None, planted_at=datetime.fromtimestamp(int(plant["planted_at"]), UTC)),
        ready=growing is None,
        ready_message="" if growing is None else "It is growing.",
        etag=str(plant["version"]),
        operation=growing,
        found_marker=plant["marker"],
    )


def grown_or_growing(plant: sqlite3.Row, *, already_done: bool = False) -> Outcome:
    """How its creating goes. What was pulled out before it was grown never gets there; the answer stays the same ever after."""
    removed = plant["removed_at"]
    if removed and removed < plant["grown_at"]:
        failure = OperationFailed(f"{name(plant)} was pulled out before it was grown.", reason="PulledOut")
        return Outcome.failed(failure, external_name=name(plant))
    growing = growth(plant)
    if growing:
        return Outcome.operation(growing, external_name=name(plant))
    return Outcome.completed(None if removed else observed(plant), external_name=name(plant), already_done=already_done)
