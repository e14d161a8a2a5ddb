"""Composes a storage: two buckets, a queue, and a usage that keeps the queue for as long as a bucket needs it."""

from crossplane.function import resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

BUCKET = {"apiVersion": "s3.aws.crossbridge.dev/v1alpha1", "kind": "Bucket"}
QUEUE = {"apiVersion": "sqs.aws.crossbridge.dev/v1alpha1", "kind": "Queue"}


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
            desire(rsp, req, suffix, managed(BUCKET, namespace, name, {"tags": tags}))
        data, events = f"{spec['name']}-data", f"{spec['name']}-events"
        queue = managed(QUEUE, namespace, events, {"name": events, "tags": tags})
        queue["spec"]["writeConnectionSecretToRef"] = {"name": events}
        desire(rsp, req, "events", queue)
        # What writes into the data bucket puts its events into the queue: that is deleted after the bucket.
        desire(rsp, req, "data-uses-events", usage(namespace, (QUEUE, events), (BUCKET, data)))

        if "events" in req.observed.resources:
            details = req.observed.resources["events"].connection_details
            for key in details:
                rsp.desired.composite.connection_details[key] = details[key]
        return rsp


def managed(of, namespace, name, parameters):
    """A managed resource of the AWS plugin."""
    return {
        **of,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"}, "forProvider": parameters},
    }


def usage(namespace, of, by):
    """A usage: while `by` exists, `of` is not deleted. Each is a kind and a name."""
    of, by = ({**kind, "resourceRef": {"name": name}} for kind, name in (of, by))
    return {
        "apiVersion": "protection.crossplane.io/v1beta1",
        "kind": "Usage",
        "metadata": {"name": f"{by['resourceRef']['name']}-uses-{of['resourceRef']['name']}", "namespace": namespace},
        "spec": {"of": of, "by": by},
    }


def desire(rsp, req, key, desired):
    """Desires an object, which is ready when it says so."""
    resource.update(rsp.desired.resources[key], desired)
    rsp.desired.resources[key].ready = fnv1.READY_TRUE if is_ready(req, key) else fnv1.READY_FALSE


def is_ready(req, key):
    if key not in req.observed.resources:
        return False
    return resource.get_condition(req.observed.resources[key].resource, "Ready").status == "True"
