"""PluginService: what this plugin is and what it serves."""

import hashlib
import json
import logging
import uuid
from importlib.metadata import version

import grpc
from crossbridge.provider.v1alpha1 import plugin_service_pb2 as pb
from crossbridge.provider.v1alpha1 import plugin_service_pb2_grpc

from . import garden
from .call import Rejected, check, deadline
from .guard import call_id, guarded
from .kind import Kind

NAME = "garden.example.org"
SETTINGS = {
    "type": "object",
    "required": ["folder"],
    "properties": {"folder": {"type": "string", "description": "Where the garden is, on the plugin's machine. It must exist."}},
}


class PluginService(plugin_service_pb2_grpc.PluginServiceServicer):
    def __init__(self, kinds: list[Kind]):
        self.kinds = {kind.type.kind: kind for kind in kinds}
        self.instance = str(uuid.uuid4())

    def GetPluginInfo(self, request, context):
        return read_only("GetPluginInfo", context, self._info)

    def ListResourceKinds(self, request, context):
        return read_only("ListResourceKinds", context, lambda: self._page(request))

    def GetResourceKind(self, request, context):
        return read_only("GetResourceKind", context, lambda: self._kind(request))

    def CheckConfig(self, request, context):
        def work():
            check(request)
            identity = garden.enter(request.config, deadline(context, changes=False))
            return pb.CheckConfigResponse(identity=str(identity.folder))

        return read_only("CheckConfig", context, work, lambda failed: pb.CheckConfigResponse(failure=failed.failure))

    def _info(self):
        return pb.GetPluginInfoResponse(
            name=NAME,
            version=version("garden-plugin"),
            contract_versions=["v1alpha1"],
            instance_id=self.instance,
            max_concurrent_calls=64,
            config_schema_json=json.dumps(SETTINGS),
            credential_keys=[pb.CredentialKey(name="key", description="Opens the gate.", required=True)],
        )

    def _page(self, request):
        names = sorted(self.kinds)
        if request.page_size < 0:
            raise Rejected("page_size is negative")
        if request.page_token and request.page_token not in names:
            raise Rejected("page_token is of no page of this plugin")
        rest = [name for name in names if name > request.page_token]
        page = rest[: request.page_size or len(rest)]
        summaries = [pb.ResourceKindSummary(resource_type=self.kinds[name].type, digest=digest(self.kinds[name])) for name in page]
        return pb.ListResourceKindsResponse(kinds=summaries, next_page_token=page[-1] if len(page) < len(rest) else "")

    def _kind(self, request):
        check(request)
        kind = self.kinds.get(request.resource_type.kind)
        if kind is None or kind.type != request.resource_type:
            raise Rejected("this plugin does not serve that resource type", grpc.StatusCode.NOT_FOUND)
        return pb.GetResourceKindResponse(resource_kind=kind.described)


def read_only(rpc: str, context, work, failure=None):
    """The bridge asks every few seconds who is there: what goes well is not logged."""
    return guarded(f"{rpc} (call {call_id(context)})", context, work, failure, level=logging.DEBUG)


def digest(kind: Kind) -> str:
    return hashlib.sha256(kind.described.SerializeToString(deterministic=True)).hexdigest()
