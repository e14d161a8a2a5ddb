package crossbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

const (
	vectorFolder = "../../tests/vectors"
	// No test waits longer for anything.
	patience = 30 * time.Second
)

// Vectors that cannot be written in Go, each with the reason.
var skipped = map[string]string{
	"answers: a text is returned, from Create":                          "the compiler rejects it",
	"answers: an outcome is returned, from Observe":                     "the compiler rejects it",
	"answers: an observation is returned, from Update":                  "the compiler rejects it",
	"answers: a connection detail that is no text; the name goes along": "the compiler rejects it",
	"mistakes: missing method":                                          "the compiler rejects it",
	"mistakes: missing poll":                                            "a kind is asynchronous by having a Poll",
	"mistakes: missing list":                                            "a kind is listable by having a List",
}

type methodOf struct {
	service           string
	request, response proto.Message
}

var methods = map[string]methodOf{
	"GetPluginInfo":     {"PluginService", &pb.GetPluginInfoRequest{}, &pb.GetPluginInfoResponse{}},
	"ListResourceKinds": {"PluginService", &pb.ListResourceKindsRequest{}, &pb.ListResourceKindsResponse{}},
	"GetResourceKind":   {"PluginService", &pb.GetResourceKindRequest{}, &pb.GetResourceKindResponse{}},
	"CheckConfig":       {"PluginService", &pb.CheckConfigRequest{}, &pb.CheckConfigResponse{}},
	"Observe":           {"ResourceService", &pb.ObserveRequest{}, &pb.ObserveResponse{}},
	"Create":            {"ResourceService", &pb.CreateRequest{}, &pb.CreateResponse{}},
	"Update":            {"ResourceService", &pb.UpdateRequest{}, &pb.UpdateResponse{}},
	"Delete":            {"ResourceService", &pb.DeleteRequest{}, &pb.DeleteResponse{}},
	"PollOperation":     {"ResourceService", &pb.PollOperationRequest{}, &pb.PollOperationResponse{}},
	"ListExternal":      {"DiscoveryService", &pb.ListExternalRequest{}, &pb.ListExternalResponse{}},
}

// vectors reads a file of them; without the repository around there are none.
func vectors(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(vectorFolder, file+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the shared vectors are in the repository, not in the module")
	}
	if err != nil {
		t.Fatal(err)
	}
	value, err := decoded(text)
	if err != nil {
		t.Fatal(err)
	}
	return value.(map[string]any)
}

func TestVectors(t *testing.T) {
	base := vectors(t, "base")
	for _, file := range []string{"requests", "deadlines", "failures", "answers", "secrets", "config", "plugin", "concurrency"} {
		for _, vector := range vectors(t, file)["vectors"].([]any) {
			vector := vector.(map[string]any)
			name := file + ": " + vector["name"].(string)
			t.Run(name, func(t *testing.T) {
				if why := skipped[name]; why != "" {
					t.Skip(why)
				}
				t.Parallel()
				run := newRunner(t, base)
				for _, step := range vector["steps"].([]any) {
					run.step(step.(map[string]any))
				}
			})
		}
	}
}

// answer to a call.
type answer struct {
	value any
	err   error
	took  time.Duration
}

// runner is one vector with a plugin of its own.
type runner struct {
	*testing.T
	base    map[string]any
	folder  string
	stage   *stage
	stop    context.CancelFunc
	ended   chan error
	client  *grpc.ClientConn
	matcher matcher
	calls   map[string]chan answer
	cancels map[string]context.CancelFunc
}

func newRunner(t *testing.T, base map[string]any) *runner {
	t.Helper()
	// Short enough for a socket wherever the tests run.
	folder, err := os.MkdirTemp("", "cb")
	if err != nil {
		t.Fatal(err)
	}
	run := &runner{
		T: t, base: base, folder: folder, stage: newStage(), matcher: matcher{map[string]any{}}, calls: map[string]chan answer{},
		cancels: map[string]context.CancelFunc{},
	}
	run.start()
	t.Cleanup(func() {
		run.client.Close()
		run.stop()
		run.releaseAll()
		<-run.ended
		os.RemoveAll(folder)
	})
	return run
}

func (r *runner) releaseAll() { r.stage.release.Do(func() { close(r.stage.released) }) }

func (r *runner) start() {
	r.Helper()
	ctx, stop := context.WithCancel(context.Background())
	socket := filepath.Join(r.folder, "s")
	r.stop, r.ended = stop, make(chan error, 1)
	plugin, ended := vectorPlugin(r.stage), r.ended
	go func() { ended <- plugin.ServeAt(ctx, "unix://"+socket) }()
	client, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			// The socket appears when it can be reached.
			for {
				conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
				if err == nil || ctx.Err() != nil {
					return conn, err
				}
				time.Sleep(time.Millisecond)
			}
		}))
	if err != nil {
		r.Fatal(err)
	}
	r.client = client
}

func (r *runner) step(step map[string]any) {
	r.Helper()
	switch {
	case step["call"] != nil:
		ended, cancel := r.send(step)
		if label, starts := step["start"].(string); starts {
			r.calls[label], r.cancels[label] = ended, cancel
			return
		}
		r.expect(step, <-ended)
		cancel()
	case step["await"] != nil:
		r.expect(step, <-r.calls[step["await"].(string)])
	case step["cancel"] != nil:
		r.cancels[step["cancel"].(string)]()
	case step["until"] != nil:
		r.events(step["until"])
	case step["release"] != nil:
		r.releaseAll()
	case step["stop"] != nil:
		r.stop()
	case step["ended"] != nil:
		select {
		case err := <-r.ended:
			if err != nil {
				r.Fatal(err)
			}
			r.ended <- nil
		case <-time.After(patience):
			r.Fatal("it has not ended")
		}
	case step["restart"] != nil:
		r.client.Close()
		r.stop()
		<-r.ended
		r.start()
	default:
		r.Fatalf("unknown step %v", step)
	}
}

// send sends a call.
func (r *runner) send(step map[string]any) (chan answer, context.CancelFunc) {
	r.Helper()
	name := step["call"].(string)
	method := methods[name]
	request, response := proto.Clone(method.request), proto.Clone(method.response)
	text, err := json.Marshal(r.request(name, step))
	if err == nil {
		err = protojson.Unmarshal(text, request)
	}
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	timeout, isSet := step["timeoutMs"]
	if !isSet {
		timeout = json.Number("20000")
	}
	stop := cancel
	if number, ok := timeout.(json.Number); ok {
		milliseconds, _ := number.Int64()
		ctx, stop = context.WithTimeout(ctx, time.Duration(milliseconds)*time.Millisecond)
	}
	if sent, ok := step["metadata"].(map[string]any); ok {
		for key, value := range sent {
			ctx = metadata.AppendToOutgoingContext(ctx, key, value.(string))
		}
	}
	if number, ok := step["deadlineInMs"].(json.Number); ok {
		milliseconds, _ := number.Int64()
		at := time.Now().UnixMilli() + milliseconds
		ctx = metadata.AppendToOutgoingContext(ctx, "crossbridge-deadline-ms", strconv.FormatInt(at, 10))
	}
	ended := make(chan answer, 1)
	go func() {
		begun := time.Now()
		err := r.client.Invoke(ctx, "/crossbridge.provider.v1alpha1."+method.service+"/"+name, request, response)
		answer := answer{err: err, took: time.Since(begun)}
		if err == nil {
			text, _ := protojson.Marshal(response)
			answer.value, answer.err = decoded(text)
		}
		ended <- answer
	}()
	return ended, func() { stop(); cancel() }
}

// request of a call: the base's, with the vector's own laid over it.
func (r *runner) request(name string, step map[string]any) any {
	kind, hasKind := step["kind"].(string)
	if !hasKind {
		kind = "Widget"
	}
	found, has := r.base[name+"/"+kind]
	if !has {
		found = r.base[name]
	}
	// A copy.
	text, _ := json.Marshal(found)
	request, _ := decoded(text)
	request = merge(request, r.filled(step["request"]))
	parameters, hasParameters := r.filled(step["parameters"]).(map[string]any)
	script, hasScript := step["script"]
	if !hasParameters && !hasScript {
		return request
	}
	if parameters == nil {
		parameters = map[string]any{}
	}
	if hasScript {
		parameters["script"] = script
	}
	document, _ := json.Marshal(parameters)
	return merge(request, map[string]any{"desired": map[string]any{"parameters": map[string]any{"json": string(document)}}})
}

// merge as RFC 7396 has it.
func merge(target, patch any) any {
	changes, isObject := patch.(map[string]any)
	if patch == nil {
		return target
	}
	if !isObject {
		return patch
	}
	object, _ := target.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	for key, change := range changes {
		if change == nil {
			delete(object, key)
		} else {
			object[key] = merge(object[key], change)
		}
	}
	return object
}

// filled has the values in which $repeat and $saved stand.
func (r *runner) filled(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if repeat, has := value["$repeat"].([]any); has {
			count, _ := repeat[1].(json.Number).Int64()
			return strings.Repeat(repeat[0].(string), int(count))
		}
		if label, has := value["$saved"].(string); has {
			return r.matcher.saved[label]
		}
		all := map[string]any{}
		for key, member := range value {
			all[key] = r.filled(member)
		}
		return all
	case []any:
		all := []any{}
		for _, item := range value {
			all = append(all, r.filled(item))
		}
		return all
	}
	return value
}

var statusCodes = map[codes.Code]string{
	codes.InvalidArgument: "INVALID_ARGUMENT", codes.FailedPrecondition: "FAILED_PRECONDITION", codes.NotFound: "NOT_FOUND",
	codes.Unimplemented: "UNIMPLEMENTED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED", codes.OutOfRange: "OUT_OF_RANGE",
}

func (r *runner) expect(step map[string]any, got answer) {
	r.Helper()
	expected, _ := step["expect"].(map[string]any)
	wanted, wantsStatus := expected["status"]
	switch {
	case wantsStatus && got.err == nil:
		r.Errorf("answered %v, and not %v", got.value, wanted)
	case wantsStatus:
		said := status.Convert(got.err)
		code, known := statusCodes[said.Code()]
		if !known {
			code = said.Code().String()
		}
		if problem := r.matcher.match(wanted, code, "status"); problem != "" {
			r.Error(problem, said.Message())
		}
		if message, has := expected["message"]; has {
			if problem := r.matcher.match(message, said.Message(), "message"); problem != "" {
				r.Error(problem)
			}
		}
	case got.err != nil:
		r.Errorf("ended in %v", got.err)
	default:
		if wanted, has := expected["answer"]; has {
			if problem := r.matcher.match(wanted, got.value, "answer"); problem != "" {
				text, _ := json.Marshal(got.value)
				r.Errorf("%s\n%s", problem, text)
			}
		}
	}
	if limit, has := expected["withinMs"].(json.Number); has {
		if milliseconds, _ := limit.Int64(); got.took > time.Duration(milliseconds)*time.Millisecond {
			r.Errorf("it took %v", got.took)
		}
	}
	r.events(expected["events"])
	for _, secret := range listOf(expected["printedLacks"]) {
		r.stage.Lock()
		if i := bytes.Index(r.stage.printed.Bytes(), []byte(secret)); i >= 0 {
			r.Errorf("%q was printed: %s", secret, r.stage.printed.Bytes()[max(0, i-200):i+40])
		}
		r.stage.Unlock()
	}
	if saves, has := step["save"].(map[string]any); has {
		for path, label := range saves {
			r.matcher.saved[label.(string)] = valueAt(got.value, path)
		}
	}
}

// events waits until they are these.
func (r *runner) events(expected any) {
	r.Helper()
	if expected == nil {
		return
	}
	wanted := listOf(expected)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		seen := r.stage.seen()
		if slices.Equal(seen, wanted) {
			return
		}
		if time.Now().After(end) || len(seen) > len(wanted) {
			r.Fatalf("the events are %q, and not %q", seen, wanted)
		}
	}
}

func listOf(value any) []string {
	items, _ := value.([]any)
	all := []string{}
	for _, item := range items {
		all = append(all, item.(string))
	}
	return all
}

func valueAt(value any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch at := value.(type) {
		case map[string]any:
			value = at[part]
		case []any:
			i, _ := strconv.Atoi(part)
			value = at[i]
		}
	}
	return value
}
