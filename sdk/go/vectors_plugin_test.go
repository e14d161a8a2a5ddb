package crossbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
)

// stage is what a vector's runner and its plugin share: tests/vectors/README.md.
type stage struct {
	sync.Mutex
	events   []string
	printed  bytes.Buffer
	released chan struct{}
	release  sync.Once
}

func newStage() *stage { return &stage{released: make(chan struct{})} }

func (s *stage) event(format string, arguments ...any) {
	s.Lock()
	defer s.Unlock()
	s.events = append(s.events, fmt.Sprintf(format, arguments...))
}

func (s *stage) seen() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.events)
}

// Write takes the log.
func (s *stage) Write(text []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.printed.Write(text)
}

func (s *stage) print(values ...any) {
	for _, value := range values {
		// What cannot be written as JSON is no matter.
		text, _ := json.Marshal(value)
		_, _ = fmt.Fprintf(s, "%v\n%+v\n%#v\n%s\n", value, value, value, text)
	}
}

type vectorParameters struct {
	Size     *int64           `json:"size,omitempty" doc:"How big."`
	Note     *string          `json:"note,omitempty" crossbridge:"immutable"`
	Password *string          `json:"password,omitempty" crossbridge:"sensitive"`
	Rules    []vectorRule     `json:"rules,omitempty"`
	Script   []map[string]any `json:"script,omitempty"`
}

type vectorRule struct {
	Port int32 `json:"port"`
}

type vectorStatus struct {
	State *string `json:"state,omitempty"`
}

type vectorSettings struct {
	Region  *string `json:"region,omitempty" doc:"Where."`
	Retries *int64  `json:"retries,omitempty"`
}

type (
	vectorOutcome     = crossbridge.Outcome[vectorParameters, vectorStatus]
	vectorObserved    = crossbridge.Observed[vectorParameters, vectorStatus]
	vectorObservation = crossbridge.Observation[vectorParameters, vectorStatus]
)

// busyError is one that the plugin's mapping knows.
type busyError struct{ text string }

func (b busyError) Error() string { return "busy: " + b.text }

// step of a script.
type step struct {
	Step              string            `json:"step"`
	Field             string            `json:"field"`
	Text              string            `json:"text"`
	Milliseconds      int64             `json:"milliseconds"`
	Code              string            `json:"code"`
	Message           string            `json:"message"`
	Effect            string            `json:"effect"`
	Reason            string            `json:"reason"`
	Seconds           *float64          `json:"seconds"`
	Name              string            `json:"name"`
	Path              string            `json:"path"`
	UpstreamCode      string            `json:"upstreamCode"`
	UpstreamRequestID string            `json:"upstreamRequestId"`
	ExternalName      string            `json:"externalName"`
	CanonicalID       string            `json:"canonicalId"`
	ProviderState     string            `json:"providerState"`
	Connection        map[string]string `json:"connection"`
	ConnectionFrom    string            `json:"connectionFrom"`
	AlreadyDone       bool              `json:"alreadyDone"`
	Handle            *string           `json:"handle"`
	Length            int               `json:"length"`
	Verb              string            `json:"verb"`
	Phase             string            `json:"phase"`
	Progress          *int              `json:"progress"`
	PollDriven        bool              `json:"pollDriven"`
	UpstreamID        string            `json:"upstreamId"`
	Hours             int64             `json:"hours"`
	Size              *int64            `json:"size"`
	Password          *string           `json:"password"`
	Status            *string           `json:"status"`
	Ready             *bool             `json:"ready"`
	ETag              string            `json:"etag"`
	Marker            string            `json:"marker"`
	Deleting          bool              `json:"deleting"`
	UpToDate          *bool             `json:"upToDate"`
	NeedsReplacement  bool              `json:"needsReplacement"`
	Differences       int               `json:"differences"`
	Error             string            `json:"error"`
}

// scene is one call of the vector plugin.
type scene struct {
	stage      *stage
	verb       string
	call       *crossbridge.Call
	request    any
	parameters *vectorParameters
	// fields that only this request has.
	fields   map[string]string
	printing bool
}

// play carries out the script; the step that answers, if one does.
func (s *scene) play(ctx context.Context) (*step, error) {
	s.stage.event("began:%s", s.verb)
	if s.parameters == nil {
		return nil, nil
	}
	for _, raw := range s.parameters.Script {
		text, _ := json.Marshal(raw)
		var step step
		if err := json.Unmarshal(text, &step); err != nil {
			return nil, err
		}
		answers, err := s.carryOut(ctx, &step)
		if answers || err != nil {
			return &step, err
		}
	}
	return nil, nil
}

func (s *scene) carryOut(ctx context.Context, step *step) (answers bool, err error) {
	switch step.Step {
	case "note":
		value, err := s.field(step)
		if err != nil {
			return false, err
		}
		s.stage.event("%s=%s", step.Field, value)
	case "check_deadline":
		if left := crossbridge.Remaining(ctx); left <= 0 || left > time.Duration(step.Milliseconds)*time.Millisecond {
			return false, crossbridge.Internal("%v are left", left)
		}
	case "hang":
		<-ctx.Done()
		s.stage.event("stopped:%s", s.verb)
		return false, ctx.Err()
	case "hold":
		select {
		case <-s.stage.released:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	case "record_name":
		s.call.RecordName(step.Text)
	case "print":
		s.printing = true
		s.stage.print(s.request, s.call, *s.call, s.call.Config)
	case "fail":
		if step.ExternalName != "" {
			return true, nil
		}
		return false, step.failure()
	case "reject":
		return false, crossbridge.Reject(step.Field, "%s", step.Message)
	case "raise":
		return false, step.error()
	case "panic":
		panic("a bug: " + step.Text)
	default:
		return true, nil
	}
	return false, nil
}

func (s *scene) field(step *step) (string, error) {
	call, parameters := s.call, s.parameters
	text := func(value *string) string {
		if value == nil {
			return ""
		}
		return *value
	}
	switch step.Field {
	case "call_id":
		return call.ID, nil
	case "external_name":
		return call.ExternalName, nil
	case "provider_state":
		return call.ProviderState, nil
	case "ownership_marker":
		return call.OwnershipMarker, nil
	case "former_marker":
		return call.FormerMarker, nil
	case "owner":
		return fmt.Sprintf("%s/%s/%s/%d", call.Owner.Namespace, call.Owner.Name, call.Owner.UID, call.Owner.Generation), nil
	case "size":
		if parameters.Size == nil {
			return "", nil
		}
		return strconv.FormatInt(*parameters.Size, 10), nil
	case "note":
		return text(parameters.Note), nil
	case "password_field":
		return text(parameters.Password), nil
	case "password":
		value, _ := call.Sensitive("/password")
		return value, nil
	case "region":
		settings, err := crossbridge.Settings[vectorSettings](call.Config)
		return text(settings.Region), err
	case "credential":
		value, _ := call.Config.Credential("key")
		return string(value), nil
	case "config":
		return call.Config.ID + "/" + call.Config.Revision, nil
	case "is_ambient":
		return strconv.FormatBool(call.Config.IsAmbient()), nil
	case "is_ours":
		return strconv.FormatBool(call.Owns(step.Text)), nil
	}
	value, has := s.fields[step.Field]
	if !has {
		return "", fmt.Errorf("%s has no field %s", s.verb, step.Field)
	}
	return value, nil
}

var constructors = map[string]func(format string, arguments ...any) *crossbridge.Failure{
	"INVALID_SPEC": crossbridge.InvalidSpec, "IMMUTABLE_FIELD": crossbridge.ImmutableField, "UNSUPPORTED": crossbridge.Unsupported,
	"NOT_FOUND": crossbridge.NotFound, "CONFLICT": crossbridge.Conflict, "DEPENDENCY_NOT_READY": crossbridge.DependencyNotReady,
	"INVALID_CONFIG": crossbridge.InvalidConfig, "UNAUTHENTICATED": crossbridge.Unauthenticated,
	"CREDENTIALS_EXPIRED": crossbridge.CredentialsExpired, "PERMISSION_DENIED": crossbridge.PermissionDenied,
	"QUOTA_EXCEEDED": crossbridge.QuotaExceeded, "UNAVAILABLE": crossbridge.Unavailable, "TIMEOUT": crossbridge.Timeout,
	"OPERATION_FAILED": crossbridge.OperationFailed, "OPERATION_EXPIRED": crossbridge.OperationExpired,
	"TOKEN_REUSED": crossbridge.TokenReused, "INTERNAL": crossbridge.Internal,
}

func (s *step) failure() *crossbridge.Failure {
	var failure *crossbridge.Failure
	switch s.Code {
	case "ALREADY_EXISTS":
		failure = crossbridge.AlreadyExists(s.Name, "%s", s.Message)
	case "THROTTLED":
		failure = crossbridge.Throttled(seconds(s.Seconds), "%s", s.Message)
	default:
		failure = constructors[s.Code]("%s", s.Message)
		if s.Seconds != nil {
			failure = failure.WithRetryAfter(seconds(s.Seconds))
		}
	}
	effects := map[string]crossbridge.Effect{
		"NONE": crossbridge.EffectNone, "PARTIAL": crossbridge.EffectPartial, "UNKNOWN": crossbridge.EffectUnknown,
	}
	if effect, has := effects[s.Effect]; has {
		failure = failure.WithEffect(effect)
	}
	if s.Reason != "" {
		failure = failure.WithReason(s.Reason)
	}
	if s.Path != "" {
		failure = failure.WithViolation(s.Path, s.Text)
	}
	if s.UpstreamCode != "" {
		failure = failure.WithUpstream(s.UpstreamCode, s.UpstreamRequestID)
	}
	return failure
}

func (s *step) error() error {
	switch s.Error {
	case "Busy":
		return fmt.Errorf("wrapped: %w", busyError{s.Text})
	case "Timeout":
		return fmt.Errorf("wrapped: %w", context.DeadlineExceeded)
	case "Connection":
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return errors.New("it went wrong: " + s.Text)
}

func seconds(value *float64) time.Duration {
	if value == nil {
		return 0
	}
	return time.Duration(*value * float64(time.Second))
}

func (s *step) padded(text string) string {
	return text + strings.Repeat("x", max(0, s.Length-len(text)))
}

func (s *step) warnings() []crossbridge.Warning {
	if s.Reason == "" {
		return nil
	}
	return []crossbridge.Warning{{Reason: s.Reason, Message: s.Message}}
}

func (s *step) operation(own crossbridge.Verb) *crossbridge.Operation {
	verbs := map[string]crossbridge.Verb{"": own, "CREATE": crossbridge.VerbCreate, "UPDATE": crossbridge.VerbUpdate, "DELETE": crossbridge.VerbDelete}
	operation := &crossbridge.Operation{
		Handle: s.padded(*s.Handle), Verb: verbs[s.Verb], Phase: s.Phase, Progress: s.Progress, PollDriven: s.PollDriven, UpstreamID: s.UpstreamID,
	}
	if s.Step == "operation" {
		operation.PollAfter, operation.Message = seconds(s.Seconds), s.Message
	}
	if s.Hours > 0 {
		operation.Expires = time.Now().Add(time.Duration(s.Hours) * time.Hour)
	}
	return operation
}

func connectionOf(texts map[string]string) crossbridge.Connection {
	if texts == nil {
		return nil
	}
	connection := crossbridge.Connection{}
	for key, text := range texts {
		connection[key] = []byte(text)
	}
	return connection
}

func (s *step) observation(sent string) *vectorObservation {
	observation := &vectorObservation{
		ExternalName: sent, Parameters: vectorParameters{Size: s.Size, Password: s.Password}, CanonicalID: s.CanonicalID,
		Ready: s.Ready != nil && *s.Ready, ReadyMessage: s.Text, ETag: s.ETag, FoundMarker: s.Marker, Deleting: s.Deleting,
		Connection: connectionOf(s.Connection), ObserveAfter: seconds(s.Seconds), Warnings: s.warnings(),
	}
	if s.ExternalName != "" {
		observation.ExternalName = s.ExternalName
	}
	if s.Text == "wrong parameters" {
		// Of the type, and no JSON.
		observation.Parameters.Script = []map[string]any{{"step": func() {}}}
	}
	if s.ProviderState != "" {
		observation.ProviderState = s.padded(s.ProviderState)
	}
	if s.Status != nil {
		observation.Status = &vectorStatus{s.Status}
	}
	if s.Handle != nil {
		observation.Operation = s.operation(crossbridge.VerbCreate)
	}
	if s.UpToDate != nil && *s.UpToDate {
		observation.Comparison = crossbridge.InSync()
	}
	if s.Path != "" {
		observation.Comparison = crossbridge.Differs(crossbridge.Difference{Path: s.Path, NeedsReplacement: s.NeedsReplacement})
	}
	if s.Differences > 0 {
		differences := make([]crossbridge.Difference, s.Differences)
		for i := range differences {
			differences[i].Path = fmt.Sprintf("/size/%d", i)
		}
		observation.Comparison = crossbridge.Differs(differences...)
	}
	return observation
}

// outcome of the call; fallback: where no step answers.
func (s *scene) outcome(ctx context.Context, own crossbridge.Verb, fallback *vectorOutcome) (*vectorOutcome, error) {
	step, err := s.play(ctx)
	if err != nil {
		return nil, err
	}
	outcome := fallback
	if step != nil {
		outcome = s.outcomeOf(step, own)
	}
	if s.printing {
		s.stage.print(outcome)
		if outcome != nil {
			s.stage.print(*outcome)
		}
	}
	return outcome, nil
}

func (s *scene) outcomeOf(step *step, own crossbridge.Verb) *vectorOutcome {
	var outcome *vectorOutcome
	switch step.Step {
	case "return":
		return nil
	case "fail":
		outcome = crossbridge.Failed[vectorParameters, vectorStatus](step.failure())
	case "observed":
		return crossbridge.CompletedWith(step.observation(s.call.ExternalName))
	case "operation":
		outcome = crossbridge.UnderWay[vectorParameters, vectorStatus](*step.operation(own))
		if step.ProviderState != "" {
			outcome.ProviderState = step.ProviderState
		}
	default:
		outcome = crossbridge.Completed[vectorParameters, vectorStatus]()
		if step.AlreadyDone {
			outcome.Done()
		}
		outcome.CanonicalID, outcome.Connection, outcome.Warnings = step.CanonicalID, connectionOf(step.Connection), step.warnings()
		if step.ProviderState != "" {
			outcome.ProviderState = step.padded(step.ProviderState)
		}
		if step.ConnectionFrom != "" {
			field := *step
			field.Field = step.ConnectionFrom
			value, _ := s.field(&field)
			outcome.Connection = crossbridge.Connection{"password": []byte(value)}
		}
	}
	outcome.ExternalName = step.ExternalName
	return outcome
}
