// Package call is one call: what it is about, until when it may work, and how it can fail.
package call

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "example.org/press/internal/contract"
)

const longestChange = time.Minute

var marker = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Call is a checked request.
type Call struct {
	Target *pb.Target
	// Desired is the JSON text of the parameters; empty in a Delete or a poll that carries none.
	Desired string
	// Secrets are sensitive values by JSON Pointer.
	Secrets map[string]string
}

// Name of the external resource; empty where none is known.
func (c *Call) Name() string { return c.Target.GetExternalName() }

// Owns reports whether this object owns what bears the marker.
func (c *Call) Owns(marker string) bool {
	return marker != "" && (marker == c.Target.GetOwnershipMarker() || marker == c.Target.GetFormerMarker())
}

// Reject is the caller's mistake: nothing was done.
func Reject(format string, arguments ...any) error {
	return status.Errorf(codes.InvalidArgument, format, arguments...)
}

// Failed is what the press rejects. Nothing was done, unless another effect is reported.
type Failed struct{ *pb.Failure }

func (f *Failed) Error() string { return f.GetMessage() }

// Fail returns a failure with EFFECT_NONE.
func Fail(code pb.FailureCode, reason, format string, arguments ...any) *Failed {
	return &Failed{&pb.Failure{Code: code, Effect: pb.Effect_EFFECT_NONE, Reason: reason, Message: fmt.Sprintf(format, arguments...)}}
}

// At reports which field is at fault.
func (f *Failed) At(path string) *Failed {
	f.Violations = append(f.Violations, &pb.FieldViolation{Path: path, Message: f.GetMessage()})
	return f
}

// InvalidSpec rejects a desired state.
func InvalidSpec(path, reason, format string, arguments ...any) error {
	return Fail(pb.FailureCode_FAILURE_CODE_INVALID_SPEC, reason, format, arguments...).At(path)
}

// Deadline bounds the context: gRPC's own deadline is relative to the arrival, and the metadata may carry the absolute one.
func Deadline(ctx context.Context, changes bool) (context.Context, context.CancelFunc, error) {
	reject := func(text string) (context.Context, context.CancelFunc, error) {
		return nil, nil, status.Error(codes.FailedPrecondition, text)
	}
	now := time.Now()
	end, isSet := ctx.Deadline()
	if changes && (!isSet || end.Sub(now) > longestChange) {
		return reject("a call that changes something needs a deadline of at most 60 s")
	}
	if !isSet || end.Sub(now) > longestChange {
		end = now.Add(longestChange)
	}
	if values := metadata.ValueFromIncomingContext(ctx, "crossbridge-deadline-ms"); len(values) > 0 {
		milliseconds, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return nil, nil, Reject("the metadata crossbridge-deadline-ms is malformed")
		}
		if absolute := time.UnixMilli(milliseconds); absolute.Before(end) {
			end = absolute
		}
	}
	if !end.After(now) {
		return reject("the deadline has passed: nothing was done")
	}
	bounded, cancel := context.WithDeadline(ctx, end)
	return bounded, cancel, nil
}

// EnsureTime rejects to begin anything after the deadline, or for a caller who has cancelled. It asks the clock too: where the process
// was stopped, the context hears of its deadline late.
func EnsureTime(ctx context.Context) error {
	if end, isSet := ctx.Deadline(); ctx.Err() != nil || isSet && !time.Now().Before(end) {
		return status.Error(codes.FailedPrecondition, "the deadline passed, or the call was cancelled: nothing was done")
	}
	return nil
}

// Check rejects a request in which a field is not set that the contract marks as required.
func Check(request proto.Message) error { return check(request.ProtoReflect(), "") }

func check(message protoreflect.Message, path string) error {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		at := path + string(field.Name())
		if proto.GetExtension(field.Options(), pb.E_IsRequired).(bool) && !message.Has(field) {
			return Reject("%s is required, and is not set", at)
		}
		if field.Message() == nil || field.IsList() || field.IsMap() || !message.Has(field) {
			continue
		}
		if err := check(message.Get(field).Message(), at+"."); err != nil {
			return err
		}
	}
	if target, ok := message.Interface().(*pb.Target); ok {
		return checkTarget(target, path)
	}
	return nil
}

func checkTarget(target *pb.Target, path string) error {
	markers := map[string]string{"ownership_marker": target.GetOwnershipMarker(), "former_marker": target.GetFormerMarker()}
	for name, value := range markers {
		if value != "" && !marker.MatchString(value) {
			return Reject("%s%s is malformed: at most 63 of a-z, 0-9 and '-', beginning with a letter", path, name)
		}
	}
	if target.GetProviderState() != "" {
		return Reject("%sprovider_state is foreign: this plugin gives out none", path)
	}
	return nil
}

// Object checks that a document holds the JSON text of an object.
func Object(document *pb.Document, at string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(document.GetJson()), &object); err != nil || object == nil {
		return Reject("%s.json is malformed: not the JSON text of an object", at)
	}
	return nil
}

// Document is the JSON text of a value that is an object.
func Document(object any) *pb.Document {
	// The plugin's own types always have a text.
	text, _ := json.Marshal(object)
	return &pb.Document{Json: string(text)}
}
