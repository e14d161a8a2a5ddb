package service

import (
	"context"
	"regexp"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
	"example.org/press/internal/kinds"
)

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Resources is the ResourceService.
type Resources struct {
	pb.UnimplementedResourceServiceServer
	*Served
}

// Observe reads the resource from its file.
func (r Resources) Observe(ctx context.Context, request *pb.ObserveRequest) (*pb.ObserveResponse, error) {
	kind, c, err := r.begin(request)
	var answer *pb.ObserveResponse
	if err == nil {
		answer, err = kind.Observe(ctx, c)
	}
	if err != nil {
		failure, err := failure(ctx, err)
		return &pb.ObserveResponse{Result: &pb.ObserveResponse_Failure{Failure: failure}}, err
	}
	return answer, nil
}

// Create writes the resource under its token, once.
func (r Resources) Create(ctx context.Context, request *pb.CreateRequest) (*pb.CreateResponse, error) {
	if !uuid.MatchString(request.GetClientRequestToken()) {
		return nil, call.Reject("client_request_token is malformed: not a UUID")
	}
	outcome, err := r.change(ctx, request, func(kind kinds.Kind, c *call.Call) (*pb.Outcome, error) { return kind.Create(ctx, c) })
	return &pb.CreateResponse{Outcome: outcome}, err
}

// Update changes.
func (r Resources) Update(ctx context.Context, request *pb.UpdateRequest) (*pb.UpdateResponse, error) {
	outcome, err := r.change(ctx, request, func(kind kinds.Kind, c *call.Call) (*pb.Outcome, error) {
		return kind.Update(ctx, c, request.GetEtag())
	})
	return &pb.UpdateResponse{Outcome: outcome}, err
}

// Delete removes.
func (r Resources) Delete(ctx context.Context, request *pb.DeleteRequest) (*pb.DeleteResponse, error) {
	outcome, err := r.change(ctx, request, func(kind kinds.Kind, c *call.Call) (*pb.Outcome, error) {
		return kind.Delete(ctx, c, request.GetEtag())
	})
	return &pb.DeleteResponse{Outcome: outcome}, err
}

// PollOperation follows.
func (r Resources) PollOperation(ctx context.Context, request *pb.PollOperationRequest) (*pb.PollOperationResponse, error) {
	outcome, err := r.change(ctx, request, func(kind kinds.Kind, c *call.Call) (*pb.Outcome, error) {
		return kind.Poll(ctx, c, request.GetHandle())
	})
	return &pb.PollOperationResponse{Outcome: outcome}, err
}

func (s *Served) change(ctx context.Context, request about, work func(kinds.Kind, *call.Call) (*pb.Outcome, error)) (*pb.Outcome, error) {
	kind, c, err := s.begin(request)
	var outcome *pb.Outcome
	if err == nil {
		outcome, err = work(kind, c)
	}
	if err != nil {
		failure, err := failure(ctx, err)
		return &pb.Outcome{Result: &pb.Outcome_Failure{Failure: failure}}, err
	}
	return outcome, nil
}
