package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
)

const bug = "The plugin has a bug; its log has the details."

// Guard bounds each call of the contract, checks it, logs how it ended, and keeps a panic to it.
func Guard(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	message, ok := request.(proto.Message)
	if !ok || message.ProtoReflect().Descriptor().ParentFile().Package() != pb.File_crossbridge_provider_v1alpha1_target_proto.Package() {
		return next(ctx, request)
	}
	// The bridge asks every few seconds who is there.
	log, level := slog.With("call", path.Base(info.FullMethod)), slog.LevelDebug
	if id := metadata.ValueFromIncomingContext(ctx, "crossbridge-call-id"); len(id) > 0 {
		log = log.With("id", id[0])
	}
	if about, ok := request.(about); ok {
		level = slog.LevelInfo
		owner := about.GetTarget().GetOwner()
		log = log.With("kind", about.GetTarget().GetResourceType().GetKind(), "owner", owner.GetNamespace()+"/"+owner.GetName())
	}
	ctx = context.WithValue(ctx, logKey{}, log)
	defer func() {
		if panicked := recover(); panicked != nil {
			// What it panicked with may hold anything, secrets too; the stack holds places only.
			log.Error("panicked", "with", fmt.Sprintf("%T", panicked), "stack", string(debug.Stack()))
			// On a call that changes something this status means: unknown outcome.
			answer, err = nil, status.Error(codes.Internal, bug)
		}
	}()
	answer, err = guarded(ctx, message, next)
	if err != nil {
		said, ok := status.FromError(err)
		if !ok {
			logBug(ctx, err)
			return nil, status.Error(codes.Internal, bug)
		}
		log.Info("rejected", "why", said.Message())
		return nil, err
	}
	if failure := failureOf(answer); failure != nil {
		log.Info("failed", "code", failure.GetCode().String(), "reason", failure.GetReason())
	} else {
		log.Log(ctx, level, "done")
	}
	return answer, nil
}

func guarded(ctx context.Context, request proto.Message, next grpc.UnaryHandler) (any, error) {
	var changes bool
	switch request.(type) {
	case *pb.CreateRequest, *pb.UpdateRequest, *pb.DeleteRequest:
		changes = true
	}
	bounded, cancel, err := call.Deadline(ctx, changes)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if err := call.Check(request); err != nil {
		return nil, err
	}
	return next(bounded, request)
}

// failureOf is what an answer reports of one; nil: none.
func failureOf(answer any) *pb.Failure {
	switch answer := answer.(type) {
	case interface{ GetFailure() *pb.Failure }:
		return answer.GetFailure()
	case interface{ GetOutcome() *pb.Outcome }:
		return answer.GetOutcome().GetFailure()
	}
	return nil
}

// logKey is under what a call's context holds its logger.
type logKey struct{}

// logBug names an error by its types, outermost first: its text may hold anything, secrets too.
func logBug(ctx context.Context, err error) {
	log, ok := ctx.Value(logKey{}).(*slog.Logger)
	if !ok {
		log = slog.Default()
	}
	var types []string
	for ; err != nil; err = errors.Unwrap(err) {
		types = append(types, fmt.Sprintf("%T", err))
	}
	log.Error("a bug", "error", types)
}
