package crossbridgetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
	"crossbridge.dev/sdk/go/crossbridgetest"
)

type note struct {
	Text string `json:"text"`
}

type noteStatus struct {
	Letters int `json:"letters"`
}

// stored is what the cloud keeps of a note.
type stored struct{ text, marker, token string }

// cloud keeps notes by name, and gives names if none is given.
type cloud struct {
	sync.Mutex
	notes map[string]stored
	given int
}

func (c *cloud) get(ctx context.Context, name string) (stored, bool) {
	crossbridgetest.Point(ctx)
	c.Lock()
	defer c.Unlock()
	found, has := c.notes[name]
	return found, has
}

func (c *cloud) byToken(token string) string {
	c.Lock()
	defer c.Unlock()
	for name, note := range c.notes {
		if note.token == token {
			return name
		}
	}
	return ""
}

func (c *cloud) put(ctx context.Context, name string, note stored) string {
	crossbridgetest.Point(ctx)
	c.Lock()
	if name == "" {
		c.given++
		name = fmt.Sprintf("note-%d", c.given)
	}
	if c.notes == nil {
		c.notes = map[string]stored{}
	}
	c.notes[name] = note
	c.Unlock()
	crossbridgetest.Point(ctx)
	return name
}

func (c *cloud) count() int {
	c.Lock()
	defer c.Unlock()
	return len(c.notes)
}

// notes are created by an operation of three steps, named by the cloud, and found again by their token, unless the plugin forgets to look.
type notes struct {
	cloud    *cloud
	forgets  bool
	upstream *http.Client
	url      string
}

type (
	outcome  = crossbridge.Outcome[note, noteStatus]
	observed = crossbridge.Observed[note, noteStatus]
)

func (n notes) Observe(ctx context.Context, request *crossbridge.ObserveRequest[note, noteStatus]) (*observed, error) {
	found, has := n.cloud.get(ctx, request.ExternalName)
	if !has {
		return request.Absent(), nil
	}
	return request.Found(&crossbridge.Observation[note, noteStatus]{
		Parameters: note{found.text}, Status: &noteStatus{len(found.text)}, Ready: true, FoundMarker: found.marker,
	}), nil
}

func (n notes) Create(ctx context.Context, request *crossbridge.CreateRequest[note, noteStatus]) (*outcome, error) {
	if n.upstream != nil {
		asked, _ := http.NewRequestWithContext(ctx, http.MethodPost, n.url+"/"+request.Token, strings.NewReader(request.Parameters.Text))
		response, err := n.upstream.Do(asked)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
	}
	name := n.cloud.byToken(request.Token)
	if name == "" || n.forgets {
		name = n.cloud.put(ctx, "", stored{request.Parameters.Text, request.OwnershipMarker, request.Token})
	}
	request.RecordName(name)
	handle, err := crossbridge.EncodeHandle(1, step{name, 1})
	return request.UnderWay(crossbridge.Operation{Handle: handle, PollAfter: time.Millisecond}), err
}

type step struct {
	Name string `json:"name"`
	Step int    `json:"step"`
}

func (n notes) Poll(_ context.Context, request *crossbridge.PollRequest[note, noteStatus]) (*outcome, error) {
	at, err := crossbridge.DecodeHandle[step]("handle", request.Handle, 1)
	if err != nil || at.Step == 3 {
		return request.Completed(), err
	}
	handle, err := crossbridge.EncodeHandle(1, step{at.Name, at.Step + 1})
	return request.UnderWay(crossbridge.Operation{Handle: handle, Verb: crossbridge.VerbCreate, PollAfter: time.Millisecond}), err
}

func (n notes) Update(ctx context.Context, request *crossbridge.UpdateRequest[note, noteStatus]) (*outcome, error) {
	before, has := n.cloud.get(ctx, request.ExternalName)
	if !has {
		return nil, crossbridge.NotFound("there is no such note")
	}
	before.text = request.Parameters.Text
	n.cloud.put(ctx, request.ExternalName, before)
	return request.Completed(), nil
}

func (n notes) Delete(_ context.Context, request *crossbridge.DeleteRequest[note, noteStatus]) (*outcome, error) {
	n.cloud.Lock()
	defer n.cloud.Unlock()
	if _, has := n.cloud.notes[request.ExternalName]; !has {
		return request.AlreadyDone(), nil
	}
	delete(n.cloud.notes, request.ExternalName)
	return request.Completed(), nil
}

func pluginOf(notes notes) func() *crossbridge.Plugin {
	return func() *crossbridge.Plugin {
		return &crossbridge.Plugin{Name: "notes.example.org", Version: "1.0.0", Kinds: []crossbridge.Served{crossbridge.Serve(crossbridge.Kind{
			Group: "notes.example.org", Version: "v1", Kind: "Note",
			Names:    crossbridge.ExternalName{Source: crossbridge.ByUpstream, Example: "note-1"},
			Recovery: []crossbridge.Recovery{crossbridge.RecoverByToken(crossbridge.Forever)},
			Examples: []crossbridge.Example{{Name: "milk", Create: note{"Buy milk."}}},
		}, notes)}}
	}
}

func TestTheLifeOfANote(t *testing.T) {
	harness := crossbridgetest.New(t, pluginOf(notes{cloud: &cloud{}}))
	milk := harness.Resource("Note", note{"Buy milk."})
	milk.Follow(milk.Create()).Completed()
	milk.SetParameters(note{"Buy tea."})
	milk.Update().Completed()
	var found note
	if milk.Observe().Found().Parameters(&found); found.Text != "Buy tea." {
		t.Error(found)
	}
	milk.Delete().Completed()
	milk.Observe().Absent()
}

func TestAnOperationIsFollowedOnAnotherReplicaAndAfterARestart(t *testing.T) {
	harness := crossbridgetest.New(t, pluginOf(notes{cloud: &cloud{}}))
	milk := harness.Resource("Note", note{"Buy milk."})
	first := milk.Create().Operation()
	other := milk.On(harness.Replica())
	if second := other.Poll().Operation(); second.Handle == first.Handle || other.ExternalName() != "note-1" {
		t.Errorf("%v, %v", second, other.ExternalName())
	}
	harness.Restart()
	milk.Follow(milk.Poll()).Completed()
}

func TestAPluginThatIsKilledInCreateLeavesOne(t *testing.T) {
	cloud := &cloud{}
	harness := crossbridgetest.New(t, pluginOf(notes{cloud: cloud}))
	points := harness.KilledInCreate(
		func(int) *crossbridgetest.Resource { return harness.Resource("Note", note{"Buy milk."}) },
		func(*crossbridgetest.Resource) int { return cloud.count() })
	// Before it, before and after the cloud has it, and at its end.
	if points != 3 {
		t.Errorf("it was killed at %d points", points)
	}
}

func TestAPluginThatForgetsToLookFails(t *testing.T) {
	cloud := &cloud{}
	verdict := failed(t, func(t testing.TB) {
		harness := crossbridgetest.New(t, pluginOf(notes{cloud: cloud, forgets: true}))
		harness.KilledInCreate(
			func(int) *crossbridgetest.Resource { return harness.Resource("Note", note{"Buy milk."}) },
			func(*crossbridgetest.Resource) int { return cloud.count() })
	})
	if !strings.Contains(verdict, "durable/killed-in-create-one-resource") {
		t.Errorf("the verdict is %q", verdict)
	}
}

func TestAnHTTPClientIsCutBeforeAndAfterItsRequest(t *testing.T) {
	var mutex sync.Mutex
	arrived := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		arrived[request.URL.Path] = true
	}))
	defer server.Close()
	client := &http.Client{Transport: crossbridgetest.Transport(http.DefaultTransport)}
	harness := crossbridgetest.New(t, pluginOf(notes{cloud: &cloud{}, upstream: client, url: server.URL}))
	var course []bool
	for point := range 100 {
		milk := harness.Resource("Note", note{"Buy milk."})
		cut := milk.CutAt(point, (*crossbridgetest.Resource).Create)
		mutex.Lock()
		course = append(course, arrived["/"+milk.Token()])
		mutex.Unlock()
		if milk.ExternalName() != "" {
			t.Error("a call that was cut taught the bridge something")
		}
		if cut == crossbridgetest.Ended {
			break
		}
	}
	text, _ := json.Marshal(course)
	if course[0] || !course[len(course)-1] || strings.Contains(string(text), "true,false") || len(course) < 4 {
		t.Errorf("the request arrived at these points: %s", text)
	}
}

func TestAMistakeInTheDeclarationsEndsTheTest(t *testing.T) {
	verdict := failed(t, func(t testing.TB) {
		crossbridgetest.New(t, func() *crossbridge.Plugin { return &crossbridge.Plugin{Name: "Notes"} })
	})
	if !strings.Contains(verdict, "name is malformed") {
		t.Errorf("the verdict is %q", verdict)
	}
}

// verdict takes what would end a test.
type verdict struct {
	testing.TB
	text string
}

func (v *verdict) Helper() {}

func (v *verdict) Fatal(arguments ...any) {
	v.text = fmt.Sprint(arguments...)
	panic(v)
}

func (v *verdict) Fatalf(format string, arguments ...any) { v.Fatal(fmt.Sprintf(format, arguments...)) }

// failed runs a test that must fail; its verdict.
func failed(t *testing.T, test func(testing.TB)) (text string) {
	t.Helper()
	verdict := &verdict{TB: t}
	defer func() {
		if recovered := recover(); recovered != nil && recovered != any(verdict) {
			panic(recovered)
		}
		text = verdict.text
	}()
	test(verdict)
	return ""
}
