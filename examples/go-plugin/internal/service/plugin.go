package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
	"example.org/press/internal/kinds"
	"example.org/press/internal/press"
)

const settingsSchema = `{"type": "object", "required": ["folder"], "properties": {"folder": {"type": "string",
  "description": "Where the press is, on the plugin's machine. It must exist."}}}`

// Plugin is the PluginService.
type Plugin struct {
	pb.UnimplementedPluginServiceServer
	*Served
	version, instance string
}

// NewPlugin reports who it is by this version.
func NewPlugin(version string, served *Served) Plugin {
	return Plugin{Served: served, version: version, instance: rand.Text()}
}

// GetPluginInfo reports who it is.
func (p Plugin) GetPluginInfo(context.Context, *pb.GetPluginInfoRequest) (*pb.GetPluginInfoResponse, error) {
	return &pb.GetPluginInfoResponse{
		Name:             kinds.Group,
		Version:          p.version,
		ContractVersions: []string{"v1alpha1"},
		InstanceId:       p.instance,
		ConfigSchemaJson: settingsSchema,
	}, nil
}

// ListResourceKinds pages through them by name.
func (p Plugin) ListResourceKinds(_ context.Context, request *pb.ListResourceKindsRequest) (*pb.ListResourceKindsResponse, error) {
	names := slices.Sorted(maps.Keys(p.kinds))
	if request.GetPageSize() < 0 {
		return nil, call.Reject("page_size is negative")
	}
	if after := request.GetPageToken(); after != "" {
		index := slices.Index(names, after)
		if index < 0 {
			return nil, call.Reject("page_token is of no page of this plugin")
		}
		names = names[index+1:]
	}
	answer := &pb.ListResourceKindsResponse{}
	if size := int(request.GetPageSize()); size > 0 && size < len(names) {
		names = names[:size]
		answer.NextPageToken = names[size-1]
	}
	for _, name := range names {
		described := p.kinds[name].Described()
		digest, err := digest(described)
		if err != nil {
			return nil, err
		}
		answer.Kinds = append(answer.Kinds, &pb.ResourceKindSummary{ResourceType: described.GetResourceType(), Digest: digest})
	}
	return answer, nil
}

func digest(kind *pb.ResourceKind) (string, error) {
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(kind)
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:]), err
}

// GetResourceKind reports all of one.
func (p Plugin) GetResourceKind(_ context.Context, request *pb.GetResourceKindRequest) (*pb.GetResourceKindResponse, error) {
	kind, err := p.kind(request.GetResourceType())
	if err != nil {
		return nil, err
	}
	return &pb.GetResourceKindResponse{ResourceKind: kind.Described()}, nil
}

// CheckConfig checks that the press exists.
func (p Plugin) CheckConfig(ctx context.Context, request *pb.CheckConfigRequest) (*pb.CheckConfigResponse, error) {
	found, err := press.Open(request.GetConfig())
	if err != nil {
		failure, err := failure(ctx, err)
		return &pb.CheckConfigResponse{Failure: failure}, err
	}
	return &pb.CheckConfigResponse{Identity: found.Identity()}, nil
}
