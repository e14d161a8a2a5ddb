package crossbridge

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Code decides what the bridge does about a failure. docs/contract.md has the reaction to each.
type Code int

// The codes of the contract.
const (
	CodeInvalidSpec        = Code(pb.FailureCode_FAILURE_CODE_INVALID_SPEC)
	CodeImmutableField     = Code(pb.FailureCode_FAILURE_CODE_IMMUTABLE_FIELD)
	CodeUnsupported        = Code(pb.FailureCode_FAILURE_CODE_UNSUPPORTED)
	CodeAlreadyExists      = Code(pb.FailureCode_FAILURE_CODE_ALREADY_EXISTS)
	CodeNotFound           = Code(pb.FailureCode_FAILURE_CODE_NOT_FOUND)
	CodeConflict           = Code(pb.FailureCode_FAILURE_CODE_CONFLICT)
	CodeDependencyNotReady = Code(pb.FailureCode_FAILURE_CODE_DEPENDENCY_NOT_READY)
	CodeInvalidConfig      = Code(pb.FailureCode_FAILURE_CODE_INVALID_CONFIG)
	CodeUnauthenticated    = Code(pb.FailureCode_FAILURE_CODE_UNAUTHENTICATED)
	CodeCredentialsExpired = Code(pb.FailureCode_FAILURE_CODE_CREDENTIALS_EXPIRED)
	CodePermissionDenied   = Code(pb.FailureCode_FAILURE_CODE_PERMISSION_DENIED)
	CodeThrottled          = Code(pb.FailureCode_FAILURE_CODE_THROTTLED)
	CodeQuotaExceeded      = Code(pb.FailureCode_FAILURE_CODE_QUOTA_EXCEEDED)
	CodeUnavailable        = Code(pb.FailureCode_FAILURE_CODE_UNAVAILABLE)
	CodeTimeout            = Code(pb.FailureCode_FAILURE_CODE_TIMEOUT)
	CodeOperationFailed    = Code(pb.FailureCode_FAILURE_CODE_OPERATION_FAILED)
	CodeOperationExpired   = Code(pb.FailureCode_FAILURE_CODE_OPERATION_EXPIRED)
	CodeTokenReused        = Code(pb.FailureCode_FAILURE_CODE_TOKEN_REUSED)
	CodeInternal           = Code(pb.FailureCode_FAILURE_CODE_INTERNAL)
)

func (c Code) String() string { return pb.FailureCode(c).String() } // One of the above.

// Effect is what a failed call left behind.
type Effect int

const (
	// EffectNone: this call changed nothing and will change nothing.
	EffectNone = Effect(pb.Effect_EFFECT_NONE)
	// EffectPartial: something was changed; the name is recorded if a resource may exist.
	EffectPartial = Effect(pb.Effect_EFFECT_PARTIAL)
	// EffectUnknown: the plugin cannot know.
	EffectUnknown = Effect(pb.Effect_EFFECT_UNKNOWN)
)

func (e Effect) String() string { return pb.Effect(e).String() } // One of the above.

// Failure is an error that says what the bridge shall do, and what the call left behind. There is one constructor for each code; it sets the effect
// that is usual for the code, and the code's name as reason. Methods return a changed copy. Texts hold no secrets.
//
// In a creation, once the upstream has given a name ([Call.RecordName]), [EffectNone] is sent as [EffectPartial], save with [NotFound].
type Failure struct {
	code       Code
	effect     Effect
	reason     string
	message    string
	retryAfter *time.Duration
	violations []*pb.FieldViolation
	upstream   [2]string
	existing   string
}

func newFailure(code Code, effect Effect, reason, format string, arguments []any) *Failure {
	return &Failure{code: code, effect: effect, reason: reason, message: fmt.Sprintf(format, arguments...)}
}

// InvalidSpec makes the object wait for a spec change. Nothing was done.
func InvalidSpec(format string, arguments ...any) *Failure {
	return newFailure(CodeInvalidSpec, EffectNone, "InvalidSpec", format, arguments)
}

// ImmutableField makes the object wait for a spec change or a replacement: this cannot change in place. Nothing was done.
func ImmutableField(format string, arguments ...any) *Failure {
	return newFailure(CodeImmutableField, EffectNone, "ImmutableField", format, arguments)
}

// Unsupported is what cannot be done here at all. Nothing was done.
func Unsupported(format string, arguments ...any) *Failure {
	return newFailure(CodeUnsupported, EffectNone, "Unsupported", format, arguments)
}

// AlreadyExists: a resource of this name is there, and not by this request. Nothing was done.
func AlreadyExists(existing, format string, arguments ...any) *Failure {
	failure := newFailure(CodeAlreadyExists, EffectNone, "AlreadyExists", format, arguments)
	failure.existing = existing
	return failure
}

// NotFound: the resource to update is absent, or has another owner. Nothing was done.
func NotFound(format string, arguments ...any) *Failure {
	return newFailure(CodeNotFound, EffectNone, "NotFound", format, arguments)
}

// Conflict is busy, locked, or another etag: observed again, then retried. Nothing was done.
func Conflict(format string, arguments ...any) *Failure {
	return newFailure(CodeConflict, EffectNone, "Conflict", format, arguments)
}

// DependencyNotReady: something else must come first. Retried, and reported as waiting. Nothing was done.
func DependencyNotReady(format string, arguments ...any) *Failure {
	return newFailure(CodeDependencyNotReady, EffectNone, "DependencyNotReady", format, arguments)
}

// InvalidConfig: the settings are wrong, and every object of the config waits. Nothing was done.
func InvalidConfig(format string, arguments ...any) *Failure {
	return newFailure(CodeInvalidConfig, EffectNone, "InvalidConfig", format, arguments)
}

// Unauthenticated: the credentials are rejected, and every object of the config waits. Nothing was done.
func Unauthenticated(format string, arguments ...any) *Failure {
	return newFailure(CodeUnauthenticated, EffectNone, "Unauthenticated", format, arguments)
}

// CredentialsExpired: the credentials are stale, and the bridge reads them afresh. Nothing was done.
func CredentialsExpired(format string, arguments ...any) *Failure {
	return newFailure(CodeCredentialsExpired, EffectNone, "CredentialsExpired", format, arguments)
}

// PermissionDenied: these credentials may not do this. Nothing was done.
func PermissionDenied(format string, arguments ...any) *Failure {
	return newFailure(CodePermissionDenied, EffectNone, "PermissionDenied", format, arguments)
}

// Throttled is an upstream rate limit: every object of this config and rate-limit group waits. Nothing was done.
func Throttled(retryAfter time.Duration, format string, arguments ...any) *Failure {
	return newFailure(CodeThrottled, EffectNone, "Throttled", format, arguments).WithRetryAfter(retryAfter)
}

// QuotaExceeded: a person must raise a limit. Nothing was done.
func QuotaExceeded(format string, arguments ...any) *Failure {
	return newFailure(CodeQuotaExceeded, EffectNone, "QuotaExceeded", format, arguments)
}

// Unavailable is an upstream 5xx, or the network. What it left behind is unknown.
func Unavailable(format string, arguments ...any) *Failure {
	return newFailure(CodeUnavailable, EffectUnknown, "Unavailable", format, arguments)
}

// Timeout: no answer in time. What it left behind is unknown.
func Timeout(format string, arguments ...any) *Failure {
	return newFailure(CodeTimeout, EffectUnknown, "Timeout", format, arguments)
}

// OperationFailed: the operation ended badly, or was stopped upstream. What it left behind is unknown.
func OperationFailed(format string, arguments ...any) *Failure {
	return newFailure(CodeOperationFailed, EffectUnknown, "OperationFailed", format, arguments)
}

// OperationExpired: the handle is of no more use. The poll changed nothing.
func OperationExpired(format string, arguments ...any) *Failure {
	return newFailure(CodeOperationExpired, EffectNone, "OperationExpired", format, arguments)
}

// TokenReused: another request came earlier under this token. Nothing was done.
func TokenReused(format string, arguments ...any) *Failure {
	return newFailure(CodeTokenReused, EffectNone, "TokenReused", format, arguments)
}

// Internal is a bug in the plugin. What it left behind is unknown.
func Internal(format string, arguments ...any) *Failure {
	return newFailure(CodeInternal, EffectUnknown, "Internal", format, arguments)
}

// WithEffect sets what the call left behind, where the usual effect of the code is not true.
func (f *Failure) WithEffect(effect Effect) *Failure {
	changed := *f
	changed.effect = effect
	return &changed
}

// WithReason sets a stable reason in PascalCase of at most 63 bytes: it becomes a condition's reason and a metric's label.
func (f *Failure) WithReason(reason string) *Failure {
	changed := *f
	changed.reason = reason
	return &changed
}

// WithRetryAfter sets that there is no retry sooner than this; the bridge takes more than an hour for an hour.
func (f *Failure) WithRetryAfter(after time.Duration) *Failure {
	changed := *f
	changed.retryAfter = &after
	return &changed
}

// At names a parameter at fault, by JSON Pointer, with the failure's own message; an empty pointer means the external name.
func (f *Failure) At(pointer string) *Failure { return f.WithViolation(pointer, f.message) }

// WithViolation names a parameter at fault, by JSON Pointer, with a message of its own.
func (f *Failure) WithViolation(pointer, message string) *Failure {
	changed := *f
	changed.violations = append(slices.Clip(f.violations), &pb.FieldViolation{Path: pointer, Message: message})
	return &changed
}

// WithUpstream sets what the upstream called it: its error code, and its request id where there is one.
func (f *Failure) WithUpstream(code, requestID string) *Failure {
	changed := *f
	changed.upstream = [2]string{code, requestID}
	return &changed
}

// Code of the failure.
func (f *Failure) Code() Code { return f.code }

// Effect of the failure.
func (f *Failure) Effect() Effect { return f.effect }

// Reason of the failure.
func (f *Failure) Reason() string { return f.reason }

// Message of the failure.
func (f *Failure) Message() string { return f.message }

func (f *Failure) Error() string { return f.reason + ": " + f.message }

func (f *Failure) wire() *pb.Failure {
	return &pb.Failure{
		Code: pb.FailureCode(f.code), Effect: pb.Effect(f.effect), // Of the contract's own.
		Reason: f.reason, Message: f.message,
		RetryAfter: optionalDuration(f.retryAfter), Violations: slices.Clone(f.violations),
		UpstreamCode: f.upstream[0], UpstreamRequestId: f.upstream[1], ExistingExternalName: f.existing,
	}
}

// rejection is a call that was not processed: nothing was done. It is a gRPC status, and no failure of the upstream.
type rejection struct {
	code    codes.Code
	message string
}

func (r *rejection) Error() string { return r.code.String() + ": " + r.message }

// GRPCStatus is how grpc-go reads it.
func (r *rejection) GRPCStatus() *status.Status { return status.New(r.code, r.message) }

func reject(code codes.Code, format string, arguments ...any) *rejection {
	return &rejection{code, fmt.Sprintf(format, arguments...)}
}

// Reject is the answer to what is none of this plugin's: a malformed or foreign "handle", "target.provider_state" or "page_token". Nothing was done.
func Reject(field, format string, arguments ...any) error {
	return reject(codes.InvalidArgument, "%s: %s", field, fmt.Sprintf(format, arguments...))
}
