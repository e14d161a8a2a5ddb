"""Composes a storage: two buckets and a queue, all named after it."""

from crossplane.function import resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Runner(grpcv1.FunctionRunnerServiceServicer):
    async def RunFunction(self, req, context):
        """Answers with all that is desired now. What is missing in the answer is deleted."""
        rsp = response.to(req)
        storage = resource.struct_to_dict(req.observed.composite.resource)
        spec = storage["spec"]
        # A cluster-scoped composite resource composes where its claim is.
        namespace = spec.get("claimRef", {}).get("namespace")
        if not namespace:
            response.fatal(rsp, "spec.claimRef is missing: create a Storage, which makes its XStorage")
            return rsp
        tags = {"team": resource.struct_to_dict(req.input).get("team", "nobody")}

        for suffix in ("data", "logs"):
            name = f"{spec['name']}-{suffix}"
            desire(rsp, req, suffix, "s3", "Bucket", namespace, name, {"tags": tags})
        name = f"{spec['name']}-events"
        desire(rsp, req, "events", "sqs", "Queue", namespace, name, {"name": name, "tags": tags}, secret=name)

        if "events" in req.observed.resources:
            details = req.observed.resources["events"].connection_details
            for key in details:
                rsp.desired.composite.connection_details[key] = details[key]
        return rsp


def desire(rsp, req, key, service, kind, namespace, name, parameters, secret=None):
    """Desires a managed resource, which is ready when it says so."""
    spec = {"providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"}, "forProvider": parameters}
    if secret:
        spec["writeConnectionSecretToRef"] = {"name": secret}
    desired = rsp.desired.resources[key]
    resource.update(
        desired,
        {
            "apiVersion": f"{service}.aws.crossbridge.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        },
    )
    desired.ready = fnv1.READY_TRUE if is_ready(req, key) else fnv1.READY_FALSE


def is_ready(req, key):
    if key not in req.observed.resources:
        return False
    return resource.get_condition(req.observed.resources[key].resource, "Ready").status == "True"
