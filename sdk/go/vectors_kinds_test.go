package crossbridge_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
)

// common is what both kinds do.
type common struct{ stage *stage }

func (c common) Observe(ctx context.Context, request *crossbridge.ObserveRequest[vectorParameters, vectorStatus]) (*vectorObserved, error) {
	scene := &scene{stage: c.stage, verb: "observe", call: &request.Call, request: request, parameters: request.Parameters}
	step, err := scene.play(ctx)
	switch {
	case err != nil:
		return nil, err
	case step == nil && request.ExternalName == "":
		return request.Absent(), nil
	case step == nil:
		observation := &vectorObservation{ExternalName: request.ExternalName}
		if request.Parameters != nil {
			observation.Parameters.Size = request.Parameters.Size
		}
		return request.Found(observation), nil
	case step.Step == "absent":
		return request.AbsentAs(step.ExternalName), nil
	case step.Step == "return":
		return nil, nil
	}
	observation := step.observation(request.ExternalName)
	if scene.printing {
		c.stage.print(observation, *observation)
	}
	return request.Found(observation), nil
}

func (c common) create(
	ctx context.Context, request *crossbridge.CreateRequest[vectorParameters, vectorStatus], name string,
) (*vectorOutcome, error) {
	scene := &scene{
		stage: c.stage, verb: "create", call: &request.Call, request: request, parameters: &request.Parameters,
		fields: map[string]string{"token": request.Token, "outcome_unknown": strconv.FormatBool(request.OutcomeUnknown)},
	}
	fallback := request.Completed()
	fallback.ExternalName = name
	return scene.outcome(ctx, crossbridge.VerbCreate, fallback)
}

func (c common) Delete(ctx context.Context, request *crossbridge.DeleteRequest[vectorParameters, vectorStatus]) (*vectorOutcome, error) {
	scene := &scene{
		stage: c.stage, verb: "delete", call: &request.Call, request: request, parameters: request.Parameters,
		fields: map[string]string{"etag": request.ETag},
	}
	return scene.outcome(ctx, crossbridge.VerbDelete, request.Completed())
}

type widgets struct{ common }

func (w widgets) Create(ctx context.Context, request *crossbridge.CreateRequest[vectorParameters, vectorStatus]) (*vectorOutcome, error) {
	return w.create(ctx, request, "")
}

func (w widgets) Update(ctx context.Context, request *crossbridge.UpdateRequest[vectorParameters, vectorStatus]) (*vectorOutcome, error) {
	scene := &scene{
		stage: w.stage, verb: "update", call: &request.Call, request: request, parameters: &request.Parameters,
		fields: map[string]string{"etag": request.ETag, "changed_paths": strings.Join(request.ChangedPaths, ",")},
	}
	return scene.outcome(ctx, crossbridge.VerbUpdate, request.Completed())
}

func (w widgets) List(_ context.Context, request *crossbridge.ListRequest) (*crossbridge.Listed[vectorParameters], error) {
	type item = crossbridge.ListedItem[vectorParameters]
	switch request.PageToken {
	case "":
		first := item{ExternalName: "a-widget", CanonicalID: "id-a", DisplayName: "A", FoundMarker: "cb-1"}
		second := item{ExternalName: "b-widget"}
		if request.IncludeParameters {
			first.Parameters = &vectorParameters{Size: pointer(int64(1)), Password: pointer("sesame-two")}
			second.Parameters = &vectorParameters{}
		}
		return &crossbridge.Listed[vectorParameters]{Items: []item{first, second}, NextPageToken: "2"}, nil
	case "2":
		return &crossbridge.Listed[vectorParameters]{Items: []item{{ExternalName: "c-widget"}}, Unreachable: []string{"north"}}, nil
	case "fail":
		return nil, crossbridge.Throttled(3*time.Second, "slow down")
	case "boom":
		return nil, errors.New("it went wrong")
	case "nameless":
		return &crossbridge.Listed[vectorParameters]{Items: []item{{ExternalName: "a-widget"}, {}}}, nil
	}
	return nil, crossbridge.Reject("page_token", "is none of this plugin's")
}

func pointer[T any](value T) *T { return &value }

type jobs struct {
	common
	crossbridge.NoUpdate[vectorParameters, vectorStatus]
}

func (j jobs) Create(ctx context.Context, request *crossbridge.CreateRequest[vectorParameters, vectorStatus]) (*vectorOutcome, error) {
	return j.create(ctx, request, "job-7")
}

func (j jobs) Poll(ctx context.Context, request *crossbridge.PollRequest[vectorParameters, vectorStatus]) (*vectorOutcome, error) {
	scene := &scene{
		stage: j.stage, verb: "poll", call: &request.Call, request: request, parameters: request.Parameters,
		fields: map[string]string{"handle": request.Handle},
	}
	return scene.outcome(ctx, crossbridge.VerbCreate, request.Completed())
}

const vectorGroup = "vectors.example.org"

func vectorPlugin(stage *stage) *crossbridge.Plugin {
	widget := crossbridge.Kind{
		Group: vectorGroup, Version: "v1", Kind: "Widget", Description: "A widget.", ShortNames: []string{"wi"}, Categories: []string{"things"},
		Names:               crossbridge.ExternalName{Source: crossbridge.ByUser, Pattern: "[a-z][a-z0-9-]*", MaxLength: 20, Example: "a-widget"},
		Recovery:            []crossbridge.Recovery{crossbridge.RecoverByName},
		ConsistencyWindow:   5 * time.Second,
		LateMargin:          time.Second,
		VisibleWhenAccepted: true,
		RateLimitGroup:      "widgets",
		Timeouts:            crossbridge.Timeouts{Call: 5 * time.Second, Create: 600 * time.Second},
		Columns:             []crossbridge.Column{{Name: "SIZE", Type: "integer", Path: ".spec.forProvider.size"}},
		ConnectionKeys: []crossbridge.ConnectionKey{
			{Name: "password", Description: "As it is now."}, {Name: "endpoint", Description: "Where it listens."},
		},
		Examples: []crossbridge.Example{{
			Name: "plain", ExternalName: "a-widget", Create: vectorParameters{Size: pointer(int64(1))}, Update: map[string]any{"size": 2},
			Invalid: map[string]any{"size": -1}, Sensitive: map[string]string{"/password": "invented"},
		}},
	}
	job := crossbridge.Kind{
		Group: vectorGroup, Version: "v1", Kind: "Job", Description: "A job.",
		Names:              crossbridge.ExternalName{Source: crossbridge.ByUpstream, Example: "job-7"},
		Recovery:           []crossbridge.Recovery{crossbridge.RecoverByToken(crossbridge.Forever), crossbridge.RecoverByMarker},
		PluginCompares:     true,
		DeleteDuringCreate: true,
		ConnectionKeys:     []crossbridge.ConnectionKey{{Name: "password", Description: "Given once.", OneTime: true}},
		Examples:           []crossbridge.Example{{Name: "short", Create: vectorParameters{}}},
	}
	return &crossbridge.Plugin{
		Name: vectorGroup, Version: "1.2.3", MaxConcurrentCalls: 2, MaxMessageBytes: 65536,
		Kinds: []crossbridge.Served{
			crossbridge.Serve(widget, widgets{common{stage}}), crossbridge.Serve(job, jobs{common: common{stage}}),
		},
		Settings:    crossbridge.TypeOf[vectorSettings](),
		Credentials: []crossbridge.CredentialKey{{Name: "key", Description: "Opens it.", Required: true}, {Name: "other"}},
		CheckConfig: func(ctx context.Context, request *crossbridge.ConfigRequest) (string, error) {
			settings, err := crossbridge.Settings[vectorSettings](request.Config)
			if err != nil || settings.Region == nil {
				return "account-1", err
			}
			switch *settings.Region {
			case "nowhere":
				return "", crossbridge.InvalidConfig("there is no such region")
			case "boom":
				return "", errors.New("it went wrong")
			case "hang":
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "account-1", nil
		},
		MapError: func(err error) *crossbridge.Failure {
			var busy busyError
			if errors.As(err, &busy) {
				return crossbridge.Conflict("it is busy")
			}
			return nil
		},
		Logger: slog.New(slog.NewTextHandler(stage, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}
