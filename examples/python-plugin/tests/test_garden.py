"""The garden in process: what the kit judges from outside, at the exact point of a crash."""

import sqlite3
import tempfile
import unittest
from pathlib import Path

from crossbridge_sdk import Config, ConfigCall, Deadline, FailureCode, Timeout, Unauthenticated, Unavailable
from crossbridge_sdk.testing import Cut, Harness, cut_once

from garden_plugin import garden
from garden_plugin.__main__ import plugin
from garden_plugin.bed import Bed, Beds
from garden_plugin.plant import Plant, Plants

# SHA-256 of "sesame".
SESAME = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272"


class GardenTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.lab = Harness(plugin, settings={"folder": str(self.folder)}, credentials={"key": "sesame"}, replicas=2)

    def count(self, query, *arguments):
        with sqlite3.connect(self.folder / "garden.db") as rows:
            return rows.execute(f"SELECT count(*) FROM {query}", arguments).fetchone()[0]

    async def test_a_bed_passes_its_lifecycle(self):
        bed = self.lab.resource(Beds, Bed(soil="loam", metres=9007199254740993), name="herbs", sensitive={"/hidingPlace": "under a stone"})
        (await bed.observe()).absent()
        (await bed.create()).completed()
        found = (await bed.observe()).found()
        self.assertEqual((found.parameters.metres, found.status.lasts), (9007199254740993, True))
        bed.set_parameters(Bed(soil="sand"))
        # What it has no opinion on stays: too long for sand.
        self.assertEqual(list((await bed.update()).failure().violations), ["/metres"])
        bed.set_parameters(Bed(soil="sand", metres=4))
        self.assertEqual((await bed.update()).completed().found.parameters, Bed(soil="sand", metres=4))
        self.assertFalse((await bed.delete()).completed().already_done)
        self.assertTrue((await bed.delete()).completed().already_done)
        self.assertEqual((await bed.update()).failure().code, FailureCode.NOT_FOUND)

    async def test_a_bed_of_another_object_is_kept(self):
        ours, theirs = (self.lab.resource(Beds, Bed(soil="clay"), name="herbs") for _ in range(2))
        (await ours.create()).completed()
        taken = (await theirs.create()).failure()
        self.assertEqual((taken.code, taken.existing_external_name), (FailureCode.ALREADY_EXISTS, "herbs"))
        for answer in (await theirs.update(), await theirs.delete()):
            self.assertEqual(answer.failure().reason, "NotOwned")
        (await ours.observe()).found()

    async def test_a_creation_killed_anywhere_ends_with_one_bed(self):
        await self.lab.killed_in_create(
            lambda point: self.lab.resource(Beds, Bed(soil="clay"), name=f"bed-{point}"),
            lambda bed: self.count("beds WHERE name = ?", bed.external_name),
        )

    async def test_a_creation_killed_anywhere_ends_with_one_plant(self):
        await self.lab.killed_in_create(
            lambda _: self.lab.resource(Plants, Plant(species="basil")),
            lambda plant: self.count("plants WHERE token = ? AND removed_at IS NULL", plant.client_request_token),
        )

    async def test_another_replica_follows_a_plant_after_a_crash(self):
        plant = self.lab.resource(Plants, Plant(species="basil", grow_seconds=86_400))
        cut = await cut_once(lambda: (self.folder / "garden.db").exists() and self.planted() == 1, plant.create())
        self.assertEqual((cut, plant.external_name), (Cut.INSIDE, ""))
        self.lab.restart()
        growing = await plant.repeat()
        self.assertIn(plant.external_name, growing.operation().handle)
        with sqlite3.connect(self.folder / "garden.db") as rows:
            rows.execute("UPDATE plants SET grown_at = planted_at")
        self.lab.restart()
        grown = (await plant.on_replica(1).follow(growing)).completed()
        self.assertTrue(grown.found.status.grown)
        self.assertEqual(self.planted(), 1)

    def planted(self):
        try:
            return self.count("plants")
        except sqlite3.OperationalError:
            return 0

    async def test_only_a_key_opens_a_locked_garden(self):
        self.assertEqual(await self.lab.check_config(), str(self.folder))
        keys = self.folder / "keys"
        keys.write_text(SESAME)
        self.assertEqual(await self.lab.check_config(), str(self.folder))
        keys.write_text("0" * 64)
        with self.assertRaises(Unauthenticated):
            await self.lab.check_config()
        keys.write_bytes(b"\xff\xfe")
        with self.assertRaises(Unavailable):
            await self.lab.check_config()

    def test_nothing_is_begun_and_nothing_counts_after_the_deadline(self):
        def call(remaining):
            return ConfigCall(config=Config("one", "1", {"folder": str(self.folder)}), deadline=Deadline(remaining))

        with self.assertRaises(Timeout), garden.enter(call(0)).change():
            self.fail("it was begun")
        late = call(30)
        with self.assertRaises(Timeout), garden.enter(late).change() as rows:
            rows.execute("INSERT INTO beds (name, parameters, marker) VALUES ('herbs', '{}', 'one')")
            late.deadline = Deadline(0)
        self.assertEqual(self.count("beds"), 0)


if __name__ == "__main__":
    unittest.main()
