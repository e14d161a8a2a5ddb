"""The plugin in this process: a file is prepared and goes, and a kill inside create leaves one."""

import tempfile
import unittest
from pathlib import Path

from crossbridge_sdk import FailureCode
from crossbridge_sdk.testing import Harness

from plugin import __KIND__, plugin


class Files(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.harness = Harness(plugin, settings={"folder": scratch.name})

    async def test_a_file_is_prepared_and_goes(self) -> None:
        notes = self.harness.resource(__KIND__, {"content": "Buy milk."}, name="notes.txt")
        (await notes.observe()).absent()
        preparing = await notes.create()
        self.assertIn("notes.txt", preparing.operation().handle)
        self.harness.restart()
        (await notes.follow(preparing)).completed()
        self.assertTrue((await notes.observe()).found().observation.ready)
        notes.set_parameters({"content": "Tea."})
        (await notes.update()).completed()
        self.assertEqual((await notes.observe()).found().parameters.content, "Tea.")
        (await notes.delete()).completed()
        self.assertTrue((await notes.delete()).completed().already_done)

    async def test_an_existing_file_is_not_overwritten(self) -> None:
        (self.folder / "notes.txt").write_text("Mine.")
        second = self.harness.resource(__KIND__, {"content": "Mine too."}, name="notes.txt")
        self.assertEqual((await second.create()).failure().code, FailureCode.ALREADY_EXISTS)
        self.assertEqual((self.folder / "notes.txt").read_text(), "Mine.")

    async def test_a_kill_inside_create_leaves_one_file(self) -> None:
        await self.harness.killed_in_create(
            lambda point: self.harness.resource(__KIND__, {"content": "Buy milk."}, name=f"notes-{point}.txt"),
            lambda notes: int((self.folder / notes.external_name).exists()),
        )


if __name__ == "__main__":
    unittest.main()
