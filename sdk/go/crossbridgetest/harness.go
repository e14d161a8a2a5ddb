// Package crossbridgetest drives a plugin in a unit test: in process, without a socket, and with the checks of the wire.
//
// A [Harness] holds the plugin; a [Resource] is one managed resource as a bridge keeps it: its desired state, its token, and what the plugin's answers
// reported. [Harness.Restart] creates the plugin anew, as after kill -9, and [Harness.Replica] is another one beside it: what they know is what the contract's
// fields carry.
//
// [Resource.CutAt] ends a call inside, as a killed process does: at the n-th point at which the author's code asks its context (Done, Err, Deadline,
// [crossbridge.EnsureTime], whatever waits for the context), or reaches a [Point], which a fake upstream has before and after what it does; the [Transport]
// of an HTTP client has both. [Harness.KilledInCreate] does it at every point of a creation, restarts, repeats the recorded request as the bridge would, and
// counts what there is.
//
// What is cut runs its deferred functions, as it does in a panic, and goes no further.
package crossbridgetest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
	"crossbridge.dev/sdk/go/internal/hook"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Harness is a plugin in this process, with the config of its calls.
type Harness struct {
	t      testing.TB
	plugin func() *crossbridge.Plugin
	config *pb.ConfigContext

	mutex    sync.Mutex
	services *hook.Services
}

// New starts a plugin, which is created once now and once at each [Harness.Restart]: the upstream, and nothing else, is what the function shares between them. A
// mistake in its declarations ends the test.
func New(t testing.TB, plugin func() *crossbridge.Plugin) *Harness {
	t.Helper()
	harness := &Harness{t: t, plugin: plugin, config: &pb.ConfigContext{ConfigId: "lab", Revision: "1"}}
	harness.Restart()
	return harness
}

// Settings of the ProviderConfig: a struct or a map.
func (h *Harness) Settings(settings any) *Harness {
	h.t.Helper()
	h.config.Settings = document(h.t, settings)
	return h
}

// Credential of the ProviderConfig. None at all means ambient identity.
func (h *Harness) Credential(key, value string) *Harness {
	if h.config.Credentials == nil {
		h.config.Credentials = map[string][]byte{}
	}
	h.config.Credentials[key] = []byte(value)
	return h
}

// Restart creates the plugin anew, as after kill -9.
func (h *Harness) Restart() {
	h.t.Helper()
	services, err := hook.New(h.plugin())
	if err != nil {
		h.t.Fatal(err)
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.services = services
}

// Replica is another process of the same plugin, with the same config.
func (h *Harness) Replica() *Harness {
	h.t.Helper()
	replica := &Harness{t: h.t, plugin: h.plugin, config: h.config}
	replica.Restart()
	return replica
}

// CheckConfig is the plugin's verdict on the config: the identity, or the failure.
func (h *Harness) CheckConfig() (identity string, failure *Failure) {
	h.t.Helper()
	response, err := h.current().Plugin.CheckConfig(context.Background(), &pb.CheckConfigRequest{Config: h.config})
	if err != nil {
		h.t.Fatalf("CheckConfig was not processed: %v", err)
	}
	return response.GetIdentity(), failureOf(response.GetFailure())
}

func (h *Harness) current() *hook.Services {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.services
}

// kind as the plugin publishes it; the only one of this name.
func (h *Harness) kind(name string) *pb.ResourceKind {
	h.t.Helper()
	response, err := h.current().Plugin.ListResourceKinds(context.Background(), &pb.ListResourceKindsRequest{PageSize: 10_000})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, summary := range response.GetKinds() {
		if summary.GetResourceType().GetKind() != name {
			continue
		}
		found, err := h.current().Plugin.GetResourceKind(context.Background(), &pb.GetResourceKindRequest{ResourceType: summary.GetResourceType()})
		if err != nil {
			h.t.Fatal(err)
		}
		return found.GetResourceKind()
	}
	h.t.Fatalf("the plugin does not serve the kind %s", name)
	return nil
}

// window: for how long absence is not to be believed after a creation in doubt.
func window(kind *pb.ResourceKind) time.Duration {
	return kind.GetCapabilities().GetConsistencyWindow().AsDuration() + kind.GetCapabilities().GetLateMargin().AsDuration()
}

func document(t testing.TB, value any) *pb.Document {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return &pb.Document{Json: string(text)}
}
