package crossbridge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
)

// small is a kind of which nothing is ever asked.
type small[P, S any] struct{}

func (small[P, S]) Observe(context.Context, *crossbridge.ObserveRequest[P, S]) (*crossbridge.Observed[P, S], error) {
	return nil, nil
}

func (small[P, S]) Create(context.Context, *crossbridge.CreateRequest[P, S]) (*crossbridge.Outcome[P, S], error) {
	return nil, nil
}

func (small[P, S]) Update(context.Context, *crossbridge.UpdateRequest[P, S]) (*crossbridge.Outcome[P, S], error) {
	return nil, nil
}

func (small[P, S]) Delete(context.Context, *crossbridge.DeleteRequest[P, S]) (*crossbridge.Outcome[P, S], error) {
	return nil, nil
}

type sized struct {
	Size *int64 `json:"size,omitempty"`
}

type tree struct {
	Children []tree `json:"children,omitempty"`
}

type several struct {
	Port interface{ Number() int } `json:"port,omitempty"`
}

// poorPoll has a method of the right name and the wrong form.
type poorPoll struct{ small[sized, sized] }

func (poorPoll) Poll(context.Context) error { return nil }

func smallKind() crossbridge.Kind {
	return crossbridge.Kind{
		Group: vectorGroup, Version: "v1", Kind: "Widget",
		Names:    crossbridge.ExternalName{Source: crossbridge.ByUser, Pattern: "[a-z][a-z0-9-]*", MaxLength: 20, Example: "a-widget"},
		Recovery: []crossbridge.Recovery{crossbridge.RecoverByName},
		Examples: []crossbridge.Example{{Name: "plain", ExternalName: "a-widget", Create: sized{}}},
	}
}

// ofKind is the smallest plugin, with this changed in its kind.
func ofKind(change func(kind *crossbridge.Kind)) *crossbridge.Plugin {
	kind := smallKind()
	change(&kind)
	return plugged(crossbridge.Serve(kind, small[sized, sized]{}))
}

// ofExample is the same, with this changed in its example.
func ofExample(change func(example *crossbridge.Example)) *crossbridge.Plugin {
	return ofKind(func(kind *crossbridge.Kind) { change(&kind.Examples[0]) })
}

func plugged(kinds ...crossbridge.Served) *crossbridge.Plugin {
	return &crossbridge.Plugin{Name: vectorGroup, Version: "1.0.0", Kinds: kinds}
}

// ofPlugin is the same, with this changed in the plugin.
func ofPlugin(change func(plugin *crossbridge.Plugin)) *crossbridge.Plugin {
	plugin := ofKind(func(*crossbridge.Kind) {})
	change(plugin)
	return plugin
}

var mistakes = map[string]*crossbridge.Plugin{
	"none": ofKind(func(*crossbridge.Kind) {}),
	"duplicate kind": plugged(
		crossbridge.Serve(smallKind(), small[sized, sized]{}), crossbridge.Serve(smallKind(), small[sized, sized]{})),
	"no example":              ofKind(func(kind *crossbridge.Kind) { kind.Examples = nil }),
	"example of another type": ofExample(func(e *crossbridge.Example) { e.Name, e.Create = "odd", map[string]any{"size": "big"} }),
	"example with a bad name": ofExample(func(e *crossbridge.Example) { e.ExternalName = "A1" }),
	"example with a long name": ofExample(func(e *crossbridge.Example) {
		e.ExternalName = strings.Repeat("a", 21)
	}),
	"example that requires what is not there": ofExample(func(e *crossbridge.Example) { e.Requires = []string{"Gadget/plain"} }),
	"two examples of one name":                ofKind(func(kind *crossbridge.Kind) { kind.Examples = append(kind.Examples, kind.Examples[0]) }),
	"example of the name rules":               ofKind(func(kind *crossbridge.Kind) { kind.Names.Example = "A1" }),
	"bad plural":                              ofKind(func(kind *crossbridge.Kind) { kind.Plural = "Widgets" }),
	"bad group":                               ofKind(func(kind *crossbridge.Kind) { kind.Group = "Vectors!" }),
	"bad kind":                                ofKind(func(kind *crossbridge.Kind) { kind.Kind, kind.Plural = "a widget", "widgets" }),
	"rule of no field": ofKind(func(kind *crossbridge.Kind) {
		kind.Rules = []crossbridge.FieldRule{{Path: "/secret", Rules: "sensitive"}}
	}),
	"no recovery": ofKind(func(kind *crossbridge.Kind) { kind.Recovery = nil }),
	"recovery by name of a name that the upstream gives": ofKind(func(kind *crossbridge.Kind) {
		kind.Names.Source, kind.Examples[0].ExternalName = crossbridge.ByUpstream, ""
	}),
	"bad pattern":       ofKind(func(kind *crossbridge.Kind) { kind.Names.Pattern = "[" }),
	"long call timeout": ofKind(func(kind *crossbridge.Kind) { kind.Timeouts.Call = 61 * time.Second }),
	"connection key twice": ofKind(func(kind *crossbridge.Kind) {
		kind.ConnectionKeys = []crossbridge.ConnectionKey{{Name: "password"}, {Name: "password"}}
	}),
	"bad connection key": ofKind(func(kind *crossbridge.Kind) {
		kind.ConnectionKeys = []crossbridge.ConnectionKey{{Name: "pass word"}}
	}),
	"bad printer column": ofKind(func(kind *crossbridge.Kind) {
		kind.Columns = []crossbridge.Column{{Name: "SIZE", Type: "text", Path: ".spec"}}
	}),
	"parameters that are no object":      plugged(crossbridge.Serve(smallKind(), small[string, sized]{})),
	"status that is no object":           plugged(crossbridge.Serve(smallKind(), small[sized, string]{})),
	"parameters that contain themselves": plugged(crossbridge.Serve(smallKind(), small[tree, sized]{})),
	"a field of several types":           plugged(crossbridge.Serve(smallKind(), small[several, sized]{})),
	"bad plugin name":                    ofPlugin(func(plugin *crossbridge.Plugin) { plugin.Name = "Vectors" }),
	"bad plugin version":                 ofPlugin(func(plugin *crossbridge.Plugin) { plugin.Version = "one" }),
	// In Go 0 is what is not set.
	"bad limit of calls":          ofPlugin(func(plugin *crossbridge.Plugin) { plugin.MaxConcurrentCalls = -1 }),
	"settings that are no object": ofPlugin(func(plugin *crossbridge.Plugin) { plugin.Settings = crossbridge.TypeOf[string]() }),
	"no kinds":                    ofPlugin(func(plugin *crossbridge.Plugin) { plugin.Kinds = nil }),
}

func TestMistakeVectors(t *testing.T) {
	written := map[string]bool{}
	for _, vector := range vectors(t, "mistakes")["mistakes"].([]any) {
		vector := vector.(map[string]any)
		name := vector["name"].(string)
		written["mistakes: "+name] = true
		t.Run(name, func(t *testing.T) {
			if why := skipped["mistakes: "+name]; why != "" {
				t.Skip(why)
			}
			plugin, has := mistakes[name]
			if !has {
				t.Fatal("the mistake is not made in Go")
			}
			mentions(t, plugin.Check(), listOf(vector["mentions"]))
		})
	}
	for _, file := range []string{"requests", "deadlines", "failures", "answers", "secrets", "config", "plugin", "concurrency"} {
		for _, vector := range vectors(t, file)["vectors"].([]any) {
			written[file+": "+vector.(map[string]any)["name"].(string)] = true
		}
	}
	for name := range skipped {
		if !written[name] {
			t.Errorf("%q is skipped, and is no vector", name)
		}
	}
}

func mentions(t *testing.T, err error, words []string) {
	t.Helper()
	if (err == nil) != (len(words) == 0) {
		t.Fatalf("the error is %v", err)
	}
	for _, word := range words {
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) {
			t.Errorf("%q does not mention %q", err, word)
		}
	}
}

func TestAMistakeInTheTypesNamesFieldAndType(t *testing.T) {
	type unnamed struct{ Size int64 }
	type misspelled struct {
		Size *int64 `json:"size,omitempty" crossbridge:"imutable"`
	}
	type unknown struct {
		Size *int64 `json:"size,omitempty" x-kubernetes-list-typ:"set"`
	}
	type odd struct {
		Size int64 `json:"size" default:"big"`
	}
	type secret struct {
		Password string `json:"password" crossbridge:"sensitive"`
	}
	cases := map[string]struct {
		served crossbridge.Served
		words  []string
	}{
		"a field without a json tag": {crossbridge.Serve(smallKind(), small[unnamed, sized]{}), []string{"unnamed.Size", "json"}},
		"a rule that does not exist": {crossbridge.Serve(smallKind(), small[misspelled, sized]{}), []string{"misspelled.Size", "imutable"}},
		"an unknown extension":       {crossbridge.Serve(smallKind(), small[unknown, sized]{}), []string{"size", "x-kubernetes-list-typ"}},
		"a default of another type":  {crossbridge.Serve(smallKind(), small[odd, sized]{}), []string{"odd.Size", "default", "big"}},
		"a required secret":          {crossbridge.Serve(smallKind(), small[secret, sized]{}), []string{"password", "omitempty"}},
		"a rule in the status":       {crossbridge.Serve(smallKind(), small[sized, sensitive]{}), []string{"status", "/field"}},
		"a Poll of another form":     {crossbridge.Serve(smallKind(), poorPoll{}), []string{"Widget", "poorPoll", "Poll"}},
		"nothing at all":             {crossbridge.Served{}, []string{"Serve"}},
	}
	for name, mistake := range cases {
		t.Run(name, func(t *testing.T) { mentions(t, plugged(mistake.served).Check(), mistake.words) })
	}
}

func TestAMistakeNamesTypeAndFile(t *testing.T) {
	misfits := smallKind()
	misfits.Plural = "Widgets"
	once := crossbridge.Serve(smallKind(), small[sized, sized]{})
	for what, plugin := range map[string]*crossbridge.Plugin{
		"a mistake in a declaration": plugged(crossbridge.Serve(misfits, small[sized, sized]{})),
		"a kind that is there twice": plugged(once, once),
	} {
		t.Run(what, func(t *testing.T) {
			mentions(t, plugin.Check(), []string{"Widget", "crossbridge_test.small[", "vectors_mistakes_test.go:"})
		})
	}
}

func TestEndpointVectors(t *testing.T) {
	for _, vector := range vectors(t, "endpoints")["endpoints"].([]any) {
		vector := vector.(map[string]any)
		t.Run(vector["name"].(string), func(t *testing.T) {
			endpoint, _ := vector["endpoint"].(string)
			t.Setenv("PROVIDER_PLUGIN_ENDPOINT", endpoint)
			for _, variable := range []string{"PROVIDER_PLUGIN_TLS_CERT", "PROVIDER_PLUGIN_TLS_KEY", "PROVIDER_PLUGIN_TLS_CA"} {
				t.Setenv(variable, "")
			}
			environment, _ := vector["environment"].(map[string]any)
			for variable, value := range environment {
				t.Setenv(variable, value.(string))
			}
			mentions(t, vectorPlugin(newStage()).Serve(t.Context()), listOf(vector["mentions"]))
		})
	}
}
