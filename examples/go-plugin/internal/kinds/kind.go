// Package kinds holds what the press creates.
package kinds

import (
	"context"
	"encoding/json"
	"math"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
)

// Group of all kinds.
const Group = "press.example.org"

// Kind of resource. Methods return *call.Failed for what the press rejects.
type Kind interface {
	Described() *pb.ResourceKind
	Observe(ctx context.Context, c *call.Call) (*pb.ObserveResponse, error)
	Create(ctx context.Context, c *call.Call) (*pb.Outcome, error)
	Update(ctx context.Context, c *call.Call, etag string) (*pb.Outcome, error)
	Delete(ctx context.Context, c *call.Call, etag string) (*pb.Outcome, error)
	Poll(ctx context.Context, c *call.Call, handle string) (*pb.Outcome, error)
}

// object is a JSON object for schemas and examples.
type object map[string]any

func text(schema object) string {
	// Constants of this package: they have a text.
	bytes, _ := json.Marshal(schema)
	return string(bytes)
}

// desired lays what the user asked for over what there is: an absent field means no opinion.
func desired[P any](c *call.Call, over P) (P, error) {
	if c.Desired == "" {
		return over, nil
	}
	if err := json.Unmarshal([]byte(c.Desired), &over); err != nil {
		return over, call.InvalidSpec("", "InvalidParameters", "The parameters do not fit the schema.")
	}
	return over, nil
}

func absent(name string) *pb.ObserveResponse {
	return &pb.ObserveResponse{Result: &pb.ObserveResponse_Absent{Absent: &pb.Absent{ExternalName: name}}}
}

func found(observation *pb.Observation) *pb.ObserveResponse {
	return &pb.ObserveResponse{Result: &pb.ObserveResponse_Observation{Observation: observation}}
}

func completed(name string, done *pb.Completed) *pb.Outcome {
	return &pb.Outcome{ExternalName: name, Result: &pb.Outcome_Completed{Completed: done}}
}

func underWay(name string, operation *pb.Operation) *pb.Outcome {
	return &pb.Outcome{ExternalName: name, Result: &pb.Outcome_Operation{Operation: operation}}
}

func notFound(name string) error {
	return call.Fail(pb.FailureCode_FAILURE_CODE_NOT_FOUND, "NotThere", "There is no %s of this object.", name)
}

func changed(name string) error {
	return call.Fail(pb.FailureCode_FAILURE_CODE_CONFLICT, "Changed", "%s was changed meanwhile.", name)
}

func taken(name string) error {
	failed := call.Fail(pb.FailureCode_FAILURE_CODE_ALREADY_EXISTS, "NameTaken", "There is a %s already.", name)
	failed.ExistingExternalName = name
	return failed
}

// percent of a whole, 0 to 100.
func percent(part, whole int64) *int32 {
	value := int32(math.Floor(100 * float64(part) / float64(whole)))
	return &value
}
