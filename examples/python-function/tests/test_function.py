import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from crossplane.function import resource
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import Runner


async def run(spec, observed=None):
    req = fnv1.RunFunctionRequest()
    resource.update(req.observed.composite, {"kind": "Notice", "spec": spec})
    for name, source in (observed or {}).items():
        resource.update(req.observed.resources[name], source)
    return await Runner().RunFunction(req, None)


class FunctionTest(unittest.IsolatedAsyncioTestCase):
    async def test_the_page_waits_for_its_settings(self):
        rsp = await run({"text": "Mind the step"})
        self.assertEqual(list(rsp.desired.resources), ["settings"])
        self.assertEqual(rsp.desired.resources["settings"].ready, fnv1.READY_FALSE)

    async def test_the_page_holds_all_copies_and_the_name_of_its_settings(self):
        settings = {"kind": "ConfigMap", "metadata": {"name": "notice-1"}}
        rsp = await run({"text": "Mind the step", "copies": 2}, {"settings": settings})
        page = resource.struct_to_dict(rsp.desired.resources["page"].resource)
        self.assertEqual(page["data"], {"page.txt": "Mind the step\nMind the step", "settings": "notice-1"})
        self.assertEqual(rsp.desired.resources["settings"].ready, fnv1.READY_TRUE)
        self.assertEqual(rsp.desired.resources["page"].ready, fnv1.READY_FALSE)
        status = resource.struct_to_dict(rsp.desired.composite.resource)["status"]
        self.assertEqual(status, {"settings": "notice-1", "length": 27})

    async def test_an_empty_text_is_fatal(self):
        rsp = await run({"text": ""})
        self.assertEqual([result.severity for result in rsp.results], [fnv1.SEVERITY_FATAL])


if __name__ == "__main__":
    unittest.main()
