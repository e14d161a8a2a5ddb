"""Composes a notice: one ConfigMap with its settings, one with its page, made of what the first is called."""

from crossplane.function import resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Runner(grpcv1.FunctionRunnerServiceServicer):
    async def RunFunction(self, req, context):
        """Answers with all that is desired now. What is missing in the answer is deleted."""
        rsp = response.to(req)  # passes on what the steps before desire; good for a minute
        notice = resource.struct_to_dict(req.observed.composite.resource)
        spec = notice.get("spec", {})
        if not spec.get("text"):
            response.fatal(rsp, "spec.text is empty: write what is to be read")
            return rsp

        desire(rsp, req, "settings", {"text": spec["text"], "copies": str(int(spec.get("copies", 1)))})

        # The name of the first is known when it exists: until then the second is not desired.
        settings = observed(req, "settings")
        if settings is None:
            response.normal(rsp, "the page waits for its settings")
            return rsp
        page = "\n".join([spec["text"]] * int(spec.get("copies", 1)))
        name = settings["metadata"]["name"]
        desire(rsp, req, "page", {"page.txt": page, "settings": name})

        resource.update_status(rsp.desired.composite, {"settings": name, "length": len(page)})
        return rsp


def desire(rsp, req, name, data):
    """Desires a ConfigMap. It has no condition Ready: that it exists is all there is to wait for."""
    desired = rsp.desired.resources[name]
    resource.update(desired, {"apiVersion": "v1", "kind": "ConfigMap", "data": data})
    exists = observed(req, name) is not None
    desired.ready = fnv1.READY_TRUE if exists else fnv1.READY_FALSE


def observed(req, name):
    """The composed resource as it is, or None: reading a map's missing key would add it."""
    if name not in req.observed.resources:
        return None
    return resource.struct_to_dict(req.observed.resources[name].resource)
