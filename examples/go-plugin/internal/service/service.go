// Package service answers the contract's calls with what the kinds do.
package service

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
	"example.org/press/internal/kinds"
)

// Served is what a plugin serves.
type Served struct {
	kinds map[string]kinds.Kind
}

// Serve serves these kinds.
func Serve(all ...kinds.Kind) *Served {
	served := &Served{kinds: map[string]kinds.Kind{}}
	for _, kind := range all {
		served.kinds[kind.Described().GetResourceType().GetKind()] = kind
	}
	return served
}

func (s *Served) kind(resource *pb.ResourceType) (kinds.Kind, error) {
	kind, exists := s.kinds[resource.GetKind()]
	if !exists || !proto.Equal(kind.Described().GetResourceType(), resource) {
		return nil, status.Error(codes.NotFound, "this plugin does not serve that resource type")
	}
	return kind, nil
}

// about is what requests for one resource have in common.
type about interface {
	proto.Message
	GetTarget() *pb.Target
	GetDesired() *pb.DesiredState
}

// begin does all that can reject a call before its kind is asked.
func (s *Served) begin(request about) (kinds.Kind, *call.Call, error) {
	kind, err := s.kind(request.GetTarget().GetResourceType())
	if err != nil {
		return nil, nil, err
	}
	if err := checkName(kind.Described(), request); err != nil {
		return nil, nil, err
	}
	desired := request.GetDesired()
	if desired != nil {
		if err := call.Object(desired.GetParameters(), "desired.parameters"); err != nil {
			return nil, nil, err
		}
	}
	return kind, &call.Call{
		Target:  proto.CloneOf(request.GetTarget()),
		Desired: desired.GetParameters().GetJson(),
		Secrets: desired.GetSensitiveValues(),
	}, nil
}

func checkName(kind *pb.ResourceKind, request about) error {
	name, rules := request.GetTarget().GetExternalName(), kind.GetExternalName()
	if name == "" {
		derived := rules.GetSource() == pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_DERIVED
		byMarker := slices.Contains(kind.GetCapabilities().GetCreateRecovery(), pb.CreateRecovery_CREATE_RECOVERY_MARKER)
		switch request.(type) {
		case *pb.PollOperationRequest:
			return nil
		case *pb.ObserveRequest:
			if derived || byMarker {
				return nil
			}
		case *pb.CreateRequest:
			if derived {
				return nil
			}
		}
		return call.Reject("target.external_name is required, and is not set")
	}
	if !regexp.MustCompile(`^(?:` + rules.GetPattern() + `)$`).MatchString(name) {
		return call.InvalidSpec("", "InvalidName", "A name matches %s.", rules.GetPattern())
	}
	// 0: no limit of its own.
	if longest := int(rules.GetMaxLength()); longest > 0 && len(name) > longest {
		return call.InvalidSpec("", "InvalidName", "A name has %d bytes at most.", longest)
	}
	return nil
}

// failure is the error's, if the press rejected; else the error goes on as a status.
func failure(ctx context.Context, err error) (*pb.Failure, error) {
	if failed, ok := errors.AsType[*call.Failed](err); ok {
		return failed.Failure, nil
	}
	if _, ok := status.FromError(err); ok {
		return nil, err
	}
	logBug(ctx, err)
	return &pb.Failure{Code: pb.FailureCode_FAILURE_CODE_INTERNAL, Effect: pb.Effect_EFFECT_UNKNOWN, Reason: "PluginBug", Message: bug}, nil
}
