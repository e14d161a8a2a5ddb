"""Unit tests of a plugin, in process.

A `Harness` holds the plugin, and a `TestResource` is one managed resource as a bridge would keep it: its desired state, its token, and what the
plugin's answers reported. Calls go the way that they go in a served plugin, save for the socket: whatever would be rejected on the wire is
rejected here, and an answer that would not leave the plugin does not leave it here.

`Harness.restart` creates the plugin anew, as after `kill -9`: what is left is what the contract's fields carry. `cut_at` and `cut_once` stop a call
inside, `TestResource.recover` then asks again as the bridge would, and `Harness.killed_in_create` does all of it at every point of a creation:
at each `await` of an `async` method, at each line of a plain one.

    async def test_a_bed_survives_kills(self):
        harness = Harness(plugin, settings={"folder": self.folder})
        bed = harness.resource(Beds, Bed(soil="loam"), name="herbs")
        (await bed.create()).completed()
        assert (await bed.observe()).found().parameters.soil == "loam"
        await harness.killed_in_create(lambda n: harness.resource(Beds, Bed(soil="clay"), name=f"bed-{n}"), self.count)
"""

from .answer import Answer, Completed, Found, ObserveAnswer
from .cut import Cut, Killed, cut_at, cut_once
from .harness import Harness
from .test_resource import TestResource

__all__ = ["Answer", "Completed", "Cut", "Found", "Harness", "Killed", "ObserveAnswer", "TestResource", "cut_at", "cut_once"]
