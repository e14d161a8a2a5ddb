package crossbridge

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

const (
	// HTTP/2 streams beside the calls: health, reflection.
	spareStreams = 64
	// A call may slip in before its client knows that the plugin stops.
	closeGrace = 2 * time.Second
	tick       = 20 * time.Millisecond
)

// serve serves until the context is done and the calls that ran then have ended.
func serve(ctx context.Context, endpoint string, service *service) error {
	listener, options, err := listen(endpoint, service.log)
	if err != nil {
		return err
	}
	server := grpc.NewServer(append(options,
		grpc.MaxRecvMsgSize(service.maxMessageBytes()), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(uint32(min(cap(service.permits)+spareStreams, math.MaxInt32))), // Bounded.
		grpc.UnaryInterceptor(service.count))...)
	pb.RegisterPluginServiceServer(server, service)
	pb.RegisterResourceServiceServer(server, service)
	if service.lists() {
		pb.RegisterDiscoveryServiceServer(server, service)
	}
	status := health.NewServer()
	for name := range server.GetServiceInfo() {
		status.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	healthpb.RegisterHealthServer(server, status)
	reflection.Register(server)

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	service.log.Info("serving", "plugin", service.info.GetName(), "version", service.info.GetVersion(), "endpoint", endpoint)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	service.log.Info("stopping: running calls may end, no new ones begin")
	status.Shutdown()
	service.drain(server)
	service.log.Info("stopped")
	return nil
}

// count counts the calls that run, and keeps a panic to its call wherever it comes from: a type of the author's may have methods that read it.
func (s *service) count(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	s.running.Add(1)
	defer s.running.Add(-1)
	defer func() {
		if panicked := recover(); panicked != nil {
			s.log.Error("panicked", "call", info.FullMethod, "with", panicType(panicked), "stack", string(debug.Stack()))
			// On a call that changes something this status means: unknown outcome.
			answer, err = nil, reject(codes.Internal, "internal error in the plugin (a panic); see its log")
		}
	}()
	return next(ctx, request)
}

// drain lets the calls that run end. Streams of health and reflection last as long as their clients want: they are cut.
func (s *service) drain(server *grpc.Server) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.GracefulStop()
	}()
	longest := time.After(longestCall + closeGrace)
	for quiet := time.Duration(0); quiet < closeGrace; quiet += tick {
		select {
		case <-ended:
			return
		case <-longest:
			server.Stop()
			return
		case <-time.After(tick):
		}
		if s.running.Load() > 0 {
			quiet = 0
		}
	}
	server.Stop()
}
