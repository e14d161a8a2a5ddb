package crossbridge

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

const (
	redacted = "[redacted]"
	// Shorter ones occur by chance.
	shortestSecret = 6
)

// Connection holds keys and values for the connection Secret, each declared by the kind. Printed and logged, it shows its keys only.
type Connection map[string][]byte

// Format prints the keys only, by whichever verb.
func (c Connection) Format(state fmt.State, _ rune) {
	keys := slices.Sorted(maps.Keys(c))
	_, _ = fmt.Fprintf(state, "Connection%q", keys)
}

// LogValue logs the keys only.
func (c Connection) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// MarshalJSON writes the keys only.
func (c Connection) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%q", fmt.Sprint(c)), nil }

// secrets of one call: what no text may hold.
type secrets [][]byte

func secretsOf(config *pb.ConfigContext, sensitive map[string]string) secrets {
	var all secrets
	for _, value := range config.GetCredentials() {
		all = append(all, bytes.TrimSpace(value))
	}
	for _, value := range sensitive {
		all = append(all, []byte(strings.TrimSpace(value)))
	}
	all = slices.DeleteFunc(all, func(secret []byte) bool { return len(secret) < shortestSecret })
	// One may be a part of another.
	slices.SortFunc(all, func(a, b []byte) int { return len(b) - len(a) })
	return all
}

func (s secrets) in(text string) bool {
	return slices.ContainsFunc(s, func(secret []byte) bool { return strings.Contains(text, string(secret)) })
}

func (s secrets) redact(texts ...*string) {
	for _, text := range texts {
		for _, secret := range s {
			*text = strings.ReplaceAll(*text, string(secret), redacted)
		}
	}
}

func (s secrets) redactFailure(failure *pb.Failure) {
	if failure == nil {
		return
	}
	s.redact(&failure.Message, &failure.UpstreamCode, &failure.UpstreamRequestId)
	for _, violation := range failure.GetViolations() {
		s.redact(&violation.Message)
	}
}

func (s secrets) redactObservation(observation *pb.Observation) {
	if observation == nil {
		return
	}
	s.redact(&observation.ReadyMessage)
	s.redactWarnings(observation.GetWarnings())
	if operation := observation.GetOperation(); operation != nil {
		s.redact(&operation.Message)
	}
}

func (s secrets) redactWarnings(warnings []*pb.Warning) {
	for _, warning := range warnings {
		s.redact(&warning.Message)
	}
}

func (s secrets) redactOutcome(outcome *pb.Outcome) {
	s.redactWarnings(outcome.GetWarnings())
	s.redactFailure(outcome.GetFailure())
	s.redactObservation(outcome.GetCompleted().GetObservation())
	if operation := outcome.GetOperation(); operation != nil {
		s.redact(&operation.Message)
	}
}
