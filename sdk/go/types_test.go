package crossbridge_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
	"crossbridge.dev/sdk/go/internal/hook"
	"crossbridge.dev/sdk/go/internal/schema"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

func TestTheStubsAreThoseOfTheContract(t *testing.T) {
	files, err := filepath.Glob("../../proto/crossbridge/provider/v1alpha1/*.proto")
	if err != nil || len(files) == 0 {
		t.Skip("the contract is in the repository, not in the module")
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	recorded, err := os.ReadFile("internal/v1alpha1/digest.txt")
	if err != nil || strings.TrimSpace(string(recorded)) != hex.EncodeToString(sum.Sum(nil)) {
		t.Errorf("the stubs are stale: (cd tools && go run .): %v", err)
	}
}

type full struct {
	Lucky *int64           `json:"lucky,omitempty" default:"7"`
	Mode  string           `json:"mode" default:"on"`
	Since time.Time        `json:"since" default:"2020-01-02T03:04:05Z"`
	Rules []limits2        `json:"rules,omitempty"`
	Named map[string]inner `json:"named,omitempty"`
	Any   any              `json:"any,omitempty"`
}

type limits2 struct {
	Port  int32   `json:"port"`
	Proto *string `json:"proto,omitempty" default:"tcp"`
}

func TestADocumentIsReadWithItsDefaults(t *testing.T) {
	var read full
	text := `{"lucky":9,"mode":null,"rules":[{"port":1},{"port":2,"proto":"udp"}],"named":{"a":{"key":"k"}},"any":{"big":9007199254740993},"more":1}`
	if misfit := schema.Read([]byte(text), &read); misfit != nil {
		t.Fatal(misfit)
	}
	if *read.Lucky != 9 || read.Mode != "on" || read.Since.Year() != 2020 || *read.Rules[0].Proto != "tcp" || *read.Rules[1].Proto != "udp" {
		t.Errorf("%+v", read)
	}
	written, err := schema.Write(read, nil)
	if text := fmt.Sprint(schema.At(written, "/any/big")); err != nil || text != "9007199254740993" {
		t.Errorf("%v, %v", text, err)
	}
}

func TestAMisfitIsNamedByItsPointer(t *testing.T) {
	cases := map[string]string{
		`{"rules":[{"port":1},{}]}`:                 "/rules/1/port",
		`{"rules":[{"port":1},{"port":"x"}]}`:       "/rules/1/port",
		`{"named":{"a/b":{"key":7}}}`:               "/named/a~1b/key",
		`{"named":{"c":{}}}`:                        "/named/c/key",
		`{"since":"yesterday"}`:                     "/since",
		`{"lucky":92233720368547758070}`:            "/lucky",
		`{"mode":["a"]}`:                            "/mode",
		`{"rules":{"port":1}}`:                      "/rules",
		`{"lucky":7,"any":"free","mode":"x"}`:       "",
		`{"rules":[],"named":{},"any":[1,{"a":2}]}`: "",
	}
	for text, expected := range cases {
		misfit := schema.Read([]byte(text), new(full))
		if (misfit == nil) != (expected == "") || misfit != nil && misfit.Pointer != expected {
			t.Errorf("%s: %v, and not at %q", text, misfit, expected)
		}
	}
}

func TestWhatIsSensitiveIsTakenOutWhereverItsPathMatches(t *testing.T) {
	document := map[string]any{
		"password": "p", "a/b": 1, "keep": 2, "none": nil,
		"users": []any{map[string]any{"name": "a", "key": "k"}, map[string]any{"name": "b"}},
		"maps":  map[string]any{"x": map[string]any{"key": "k", "n": 1}},
		"all":   map[string]any{"x": "s", "y": "s"},
	}
	written, err := schema.Write(document, []string{"/password", "/a~1b", "/users/*/key", "/maps/*/key", "/all/*", "/not/there"})
	expected := "map[all:map[] keep:2 maps:map[x:map[n:1]] users:[map[name:a] map[name:b]]]"
	if text := fmt.Sprint(written); err != nil || text != expected {
		t.Errorf("%s, %v", text, err)
	}
}

type handleState struct {
	Region string `json:"region"`
	ID     int64  `json:"id"`
}

func TestAHandleIsReadAsItWasWrittenAndNoOther(t *testing.T) {
	state := handleState{"north", 9007199254740993}
	handle, err := crossbridge.EncodeHandle(2, state)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := crossbridge.DecodeHandle[handleState]("handle", handle, 2); err != nil || read != state {
		t.Errorf("%v, %v", read, err)
	}
	foreign := []string{
		"", "2", "2:", "1" + handle[1:], handle + " ", handle + "{}", `2:{"region":"north"}`, `2:{"region":"north","id":1,"more":2}`, "2:[]", "2:null", "vol-1",
	}
	for _, text := range foreign {
		if _, err := crossbridge.DecodeHandle[handleState]("handle", text, 2); err == nil || !strings.Contains(err.Error(), "InvalidArgument: handle") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAHandleOfAnEarlierBuildIsReadAsOneOfToday(t *testing.T) {
	type before struct {
		ID int64 `json:"id"`
	}
	read := func(text string) (handleState, error) {
		former := crossbridge.Former(1, func(old before) handleState { return handleState{"north", old.ID} })
		return crossbridge.DecodeHandle("handle", text, 2, former)
	}
	if state, err := read(`1:{"id":7}`); err != nil || state != (handleState{"north", 7}) {
		t.Errorf("%v, %v", state, err)
	}
	if state, err := read(`2:{"region":"south","id":7}`); err != nil || state != (handleState{"south", 7}) {
		t.Errorf("%v, %v", state, err)
	}
	for _, foreign := range []string{`3:{"id":7}`, `1:{"id":"7"}`, `1: {"id":7}`, `1:{"region":"north","id":7}`} {
		if state, err := read(foreign); err == nil || !strings.Contains(err.Error(), "InvalidArgument: handle") || state != (handleState{}) {
			t.Errorf("%q: %v, %v", foreign, state, err)
		}
	}
}

func TestAHandleThatNoBridgeStoresIsNotWritten(t *testing.T) {
	state := handleState{Region: strings.Repeat("x", 4096)}
	expected := "the handle of crossbridge_test.handleState cannot be written: it has 4118 bytes, and 4096 are allowed"
	if _, err := crossbridge.EncodeHandle(1, state); err == nil || err.Error() != expected {
		t.Error(err)
	}
}

type lookOnly struct {
	crossbridge.ObserveOnly[sized, sized]
}

func (lookOnly) Observe(context.Context, *crossbridge.ObserveRequest[sized, sized]) (*crossbridge.Observed[sized, sized], error) {
	return nil, nil
}

func TestWhatAKindCannotDoIsPublished(t *testing.T) {
	kind := smallKind()
	kind.Examples = nil
	services, err := hook.New(plugged(crossbridge.Serve(kind, lookOnly{})))
	if err != nil {
		t.Fatal(err)
	}
	response, err := services.Plugin.GetResourceKind(t.Context(), &pb.GetResourceKindRequest{
		ResourceType: &pb.ResourceType{Group: vectorGroup, Version: "v1", Kind: "Widget"},
	})
	can := response.GetResourceKind().GetCapabilities()
	if err != nil || can.GetCanCreate() || can.GetCanUpdate() || can.GetCanDelete() {
		t.Errorf("%v, %v", can, err)
	}
}

func TestAFailureThatIsChangedIsACopy(t *testing.T) {
	busy := crossbridge.Conflict("it is busy: %d%%", 7)
	changed := busy.WithReason("Busy").WithEffect(crossbridge.EffectPartial).WithRetryAfter(time.Second).At("/size").WithUpstream("E7", "req-1")
	if busy.Reason() != "Conflict" || busy.Effect() != crossbridge.EffectNone || busy.Message() != "it is busy: 7%" || changed.Reason() != "Busy" {
		t.Errorf("%v, %v", busy, changed)
	}
	var found *crossbridge.Failure
	if !errors.As(fmt.Errorf("wrapped: %w", changed), &found) || found.Code() != crossbridge.CodeConflict {
		t.Errorf("%v", found)
	}
}

func TestConnectionDetailsArePrintedByTheirKeys(t *testing.T) {
	connection := crossbridge.Connection{"password": []byte(secretText)}
	holder := struct{ Connection crossbridge.Connection }{connection}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{connection, &connection, holder, &holder} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, secretText) || strings.Contains(text, hex.EncodeToString([]byte(secretText))) || strings.Contains(text, "115 119") {
				t.Errorf("%s of %s: %s", verb, reflect.TypeOf(value), text)
			}
		}
	}
}
