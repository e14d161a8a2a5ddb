package crossbridge

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"crossbridge.dev/sdk/go/internal/check"
	"crossbridge.dev/sdk/go/internal/hook"
	"crossbridge.dev/sdk/go/internal/schema"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

const (
	kindsPerPage = 100
	// How long code that was told to stop may take to return what it knows, as a share of what was kept back of the deadline.
	returnGrace = 4
)

// service is what the contract's services share.
type service struct {
	pb.UnimplementedPluginServiceServer
	pb.UnimplementedResourceServiceServer
	pb.UnimplementedDiscoveryServiceServer

	plugin *Plugin
	info   *pb.GetPluginInfoResponse
	kinds  []servedKind
	// permits are one for each call that the author's code may work on at once.
	permits chan struct{}
	log     *slog.Logger
	// running counts the calls, those that wait included.
	running atomic.Int64
}

func newService(plugin *Plugin, info *pb.GetPluginInfoResponse, kinds []servedKind) *service {
	calls := plugin.MaxConcurrentCalls
	if calls == 0 {
		calls = defaultCalls
	}
	return &service{plugin: plugin, info: info, kinds: kinds, permits: make(chan struct{}, calls), log: plugin.logger()}
}

func (s *service) maxMessageBytes() int {
	if s.plugin.MaxMessageBytes == 0 {
		return defaultMessageBytes
	}
	return s.plugin.MaxMessageBytes
}

func (s *service) lists() bool { return len(s.info.GetFeatures()) > 0 }

func (s *service) kind(of *pb.ResourceType) (servedKind, error) {
	for _, kind := range s.kinds {
		if proto.Equal(kind.published().wire.GetResourceType(), of) {
			return kind, nil
		}
	}
	return nil, reject(codes.NotFound, "%s does not serve %s", s.plugin.Name, typeText(of))
}

// begun is a call that is in form, and has time to work.
type begun struct {
	callMetadata
	ctx    context.Context
	cancel context.CancelFunc
	// reserve is what is kept back of the deadline.
	reserve time.Duration
}

// begin reads the metadata, the deadline and the form of a call, in this order.
func (s *service) begin(ctx context.Context, rpc string, request proto.Message, changes bool) (begun, error) {
	metadata, err := readMetadata(ctx)
	if err != nil {
		return begun{}, err
	}
	bounded, cancel, reserve, err := metadata.bound(ctx, changes)
	if err != nil {
		return begun{}, err
	}
	if violation := checkRequest(request); violation != nil {
		cancel()
		return begun{}, reject(codes.InvalidArgument, "%v", violation)
	}
	logger := metadata.logger(s.log, rpc)
	if about, ok := request.(resourceRequest); ok {
		target := about.GetTarget()
		logger = logger.With("kind", target.GetResourceType().GetKind(),
			"owner", target.GetOwner().GetNamespace()+"/"+target.GetOwner().GetName(), "external_name", target.GetExternalName())
	}
	return begun{metadata, context.WithValue(bounded, loggerKey{}, logger), cancel, reserve}, nil
}

// checkConfig rejects stale credentials, and ones that lack what is required.
func (s *service) checkConfig(config *pb.ConfigContext) error {
	if expiry := config.GetCredentialsExpireTime(); expiry != nil && !expiry.AsTime().After(time.Now()) {
		return CredentialsExpired("the provider config's credentials have expired")
	}
	read := configOf(config)
	if read.IsAmbient() {
		return nil
	}
	for _, key := range s.plugin.Credentials {
		if !key.Required {
			continue
		}
		if _, err := read.RequiredCredential(key.Name); err != nil {
			return err
		}
	}
	return nil
}

// guarded runs the author's code: with a permit, until the deadline, and with panics kept to the call. Code that does not stop at the deadline keeps its
// permit until it does, and what it returns then is thrown away.
func guarded[T any](begun begun, s *service, work func(ctx context.Context) (T, error)) (T, error) {
	var none T
	ctx := begun.ctx
	select {
	case s.permits <- struct{}{}:
	case <-ctx.Done():
		return none, notBegun(ctx)
	}
	if EnsureTime(ctx) != nil {
		<-s.permits
		return none, notBegun(ctx)
	}
	type result struct {
		answer T
		err    error
	}
	ended := make(chan result, 1)
	go func() {
		returned := result{err: Internal("internal error in the plugin (a panic); see its log").WithReason("PluginPanicked")}
		finished := false
		defer func() {
			if panicked := recover(); panicked != nil {
				// What it panicked with may hold anything, secrets too; the stack holds places only.
				Logger(ctx).Error("the plugin panicked", "with", panicType(panicked), "stack", string(debug.Stack()))
			} else if !finished && !hook.IsWatched(ctx) {
				Logger(ctx).Error("the plugin's code ended its goroutine")
			}
			<-s.permits
			ended <- returned
		}()
		answer, err := work(hook.Wrap(ctx))
		returned, finished = result{answer, err}, true
	}()
	select {
	case result := <-ended:
		return result.answer, atDeadline(ctx, result.err)
	case <-ctx.Done():
	}
	select {
	case result := <-ended:
		return result.answer, atDeadline(ctx, result.err)
	case <-time.After(begun.reserve / returnGrace):
		return none, atDeadline(ctx, ctx.Err())
	}
}

// atDeadline is the error of code that was stopped; whatever the code made of that.
func atDeadline(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case context.Cause(ctx) == context.DeadlineExceeded: // The context's own.
		return Timeout("the call's deadline passed before the work was done").WithReason("DeadlineExceeded")
	}
	return reject(codes.Canceled, "the caller has cancelled")
}

func notBegun(ctx context.Context) error {
	if context.Cause(ctx) == context.Canceled { // The context's own.
		return reject(codes.Canceled, "the caller has cancelled: nothing was done")
	}
	return reject(codes.FailedPrecondition, "the deadline passed before the call could begin: nothing was done")
}

func (s *service) page(request *pb.ListResourceKindsRequest) (*pb.ListResourceKindsResponse, error) {
	size := int(request.GetPageSize())
	if size == 0 {
		size = kindsPerPage
	}
	kinds := s.kinds
	// The token names the last kind of the page before: it is good on any replica.
	if after := request.GetPageToken(); after != "" {
		at := slices.IndexFunc(kinds, func(kind servedKind) bool { return typeText(kind.published().wire.GetResourceType()) == after })
		if at < 0 {
			return nil, reject(codes.InvalidArgument, "page_token: is of no page of this plugin")
		}
		kinds = kinds[at+1:]
	}
	response := &pb.ListResourceKindsResponse{}
	if size < len(kinds) {
		kinds = kinds[:size]
		response.NextPageToken = typeText(kinds[size-1].published().wire.GetResourceType())
	}
	for _, kind := range kinds {
		published := kind.published()
		response.Kinds = append(response.Kinds, &pb.ResourceKindSummary{ResourceType: published.wire.GetResourceType(), Digest: published.digest})
	}
	return response, nil
}

// GetPluginInfo reports who answers.
func (s *service) GetPluginInfo(context.Context, *pb.GetPluginInfoRequest) (*pb.GetPluginInfoResponse, error) {
	return s.info, nil
}

// ListResourceKinds pages through the kinds.
func (s *service) ListResourceKinds(_ context.Context, request *pb.ListResourceKindsRequest) (*pb.ListResourceKindsResponse, error) {
	if violation := checkRequest(request); violation != nil {
		return nil, reject(codes.InvalidArgument, "%v", violation)
	}
	return s.page(request)
}

// GetResourceKind reports all of one.
func (s *service) GetResourceKind(_ context.Context, request *pb.GetResourceKindRequest) (*pb.GetResourceKindResponse, error) {
	if violation := checkRequest(request); violation != nil {
		return nil, reject(codes.InvalidArgument, "%v", violation)
	}
	kind, err := s.kind(request.GetResourceType())
	if err != nil {
		return nil, err
	}
	return &pb.GetResourceKindResponse{ResourceKind: kind.published().wire}, nil
}

// CheckConfig tries a config.
func (s *service) CheckConfig(ctx context.Context, request *pb.CheckConfigRequest) (*pb.CheckConfigResponse, error) {
	begun, err := s.begin(ctx, "CheckConfig", request, false)
	if err != nil {
		return nil, err
	}
	defer begun.cancel()
	answer := &answerTo{service: s, secrets: secretsOf(request.GetConfig(), nil)}
	identity, err := s.tryConfig(begun, request.GetConfig())
	if err != nil {
		failure, err := answer.failure(begun.ctx, err)
		if err != nil {
			return nil, err
		}
		s.logEnd(begun.ctx, failure)
		return &pb.CheckConfigResponse{Failure: failure}, nil
	}
	// The id of an account may be one of its credentials.
	if check.UTF8(identity, "identity") != nil {
		failure := answer.broken(begun.ctx, check.NotAllowed("identity", "it is no text"))
		return &pb.CheckConfigResponse{Failure: failure}, nil
	}
	s.logEnd(begun.ctx, nil)
	return &pb.CheckConfigResponse{Identity: identity}, nil
}

func (s *service) tryConfig(begun begun, config *pb.ConfigContext) (string, error) {
	if err := s.checkConfig(config); err != nil {
		return "", err
	}
	read := configOf(config)
	if s.plugin.Settings != nil {
		if err := checkSettings(read, s.plugin.Settings); err != nil {
			return "", err
		}
	}
	if s.plugin.CheckConfig == nil {
		return "", nil
	}
	return guarded(begun, s, func(ctx context.Context) (string, error) {
		return s.plugin.CheckConfig(ctx, &ConfigRequest{Config: read, ID: begun.id, TraceParent: begun.trace})
	})
}

// ListExternal lists what exists.
func (s *service) ListExternal(ctx context.Context, request *pb.ListExternalRequest) (*pb.ListExternalResponse, error) {
	begun, err := s.begin(ctx, "ListExternal", request, false)
	if err != nil {
		return nil, err
	}
	defer begun.cancel()
	answer := &answerTo{service: s, secrets: secretsOf(request.GetConfig(), nil)}
	if kind, err := s.kind(request.GetResourceType()); err == nil {
		answer.kind = kind.published()
	}
	response, err := s.listed(begun, request)
	if err != nil {
		failure, err := answer.failure(begun.ctx, err)
		if err != nil {
			return nil, err
		}
		s.logEnd(begun.ctx, failure)
		return &pb.ListExternalResponse{Failure: failure}, nil
	}
	s.logEnd(begun.ctx, nil)
	return response, nil
}

func (s *service) listed(begun begun, request *pb.ListExternalRequest) (*pb.ListExternalResponse, error) {
	kind, err := s.kind(request.GetResourceType())
	if err != nil {
		return nil, err
	}
	if !kind.published().canList {
		return nil, errUnserved
	}
	if err := s.checkConfig(request.GetConfig()); err != nil {
		return nil, err
	}
	return guarded(begun, s, func(ctx context.Context) (*pb.ListExternalResponse, error) {
		return kind.list(ctx, &ListRequest{
			Config: configOf(request.GetConfig()), ID: begun.id, TraceParent: begun.trace, Filter: []byte(request.GetFilter().GetJson()),
			PageSize: int(request.GetPageSize()), PageToken: request.GetPageToken(), IncludeParameters: request.GetIncludeParameters(),
		})
	})
}

// logEnd logs how a call ended: code and reason, and no text that came from anywhere else.
func (s *service) logEnd(ctx context.Context, failure *pb.Failure) {
	if failure != nil {
		Logger(ctx).Info("failed", "code", failure.GetCode().String(), "effect", failure.GetEffect().String(), "reason", failure.GetReason())
		return
	}
	Logger(ctx).Debug("done")
}

func checkSettings(config Config, of *Type) error {
	text := config.settings
	if text == "" {
		text = "{}"
	}
	if misfit := schema.Read([]byte(text), newOf(of)); misfit != nil {
		return InvalidConfig("the provider config's settings: %v", misfit)
	}
	return nil
}
