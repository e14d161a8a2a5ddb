package kinds

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	crossbridge "crossbridge.dev/sdk/go"

	"example.org/press/internal/press"
)

const mostCopiesOfGold = 100

// PageParameters are what a user writes of a page.
type PageParameters struct {
	Text      string  `json:"text"`
	Ink       *string `json:"ink,omitempty" enum:"black,gold" doc:"black, if not said."`
	Copies    *int64  `json:"copies,omitempty" minimum:"1" doc:"1, if not said."`
	Watermark *string `json:"watermark,omitempty" crossbridge:"sensitive" doc:"Tells true copies from false ones."`
}

// PageStatus is what is only observed.
type PageStatus struct {
	Words int `json:"words"`
}

// pages are created and changed within the call, and named by the user.
type pages struct{}

// sheet is what is printed.
type sheet struct {
	Text   string `json:"text"`
	Ink    string `json:"ink"`
	Copies int64  `json:"copies"`
}

type page struct {
	record[sheet]
	Watermark string `json:"watermark,omitempty"`
}

type (
	pageOutcome     = crossbridge.Outcome[PageParameters, PageStatus]
	pageObservation = crossbridge.Observation[PageParameters, PageStatus]
)

// ServePages is the kind Page.
func ServePages() crossbridge.Served {
	return crossbridge.Serve(crossbridge.Kind{
		Group: Group, Version: "v1alpha1", Kind: "Page", Description: "A single page.",
		Names: crossbridge.ExternalName{Source: crossbridge.ByUser, Pattern: "[a-z][a-z0-9-]*", MaxLength: 63, Example: "greeting"},
		// Its name is its file's, and its marker is in the file.
		Recovery:            []crossbridge.Recovery{crossbridge.RecoverByName, crossbridge.RecoverByMarker},
		VisibleWhenAccepted: true,
		ConnectionKeys:      []crossbridge.ConnectionKey{{Name: "path", Description: "Where the page lies."}},
		Examples: []crossbridge.Example{{
			Name: "greeting", ExternalName: "greeting",
			// More than a double can hold: whoever counts with one loses the last copy.
			Create:    map[string]any{"text": "Hello!", "copies": 9007199254740993},
			Update:    map[string]any{"text": "Good morning!", "ink": "gold", "copies": 2},
			Invalid:   map[string]any{"text": "Hello!", "ink": "gold", "copies": mostCopiesOfGold + 1},
			Sensitive: map[string]string{"/watermark": "a small crane"},
		}},
	}, pages{})
}

// Observe reads the page from its file.
func (pages) Observe(
	_ context.Context, request *crossbridge.ObserveRequest[PageParameters, PageStatus],
) (*crossbridge.Observed[PageParameters, PageStatus], error) {
	press, err := press.Open(request.Config)
	if err != nil {
		return nil, err
	}
	name := request.ExternalName
	if name == "" {
		if name, err = marked(press, &request.Call, "pages", (*page).marker); err != nil || name == "" {
			return request.Absent(), err
		}
	}
	var page page
	if exists, err := press.Read("pages", name, &page); err != nil || !exists {
		return request.Absent(), err
	}
	return request.Found(page.observed(press, name)), nil
}

// Create prints one.
func (pages) Create(ctx context.Context, request *crossbridge.CreateRequest[PageParameters, PageStatus]) (*pageOutcome, error) {
	name := request.ExternalName
	return change(ctx, request.Config, "pages", name, func(press *press.Press, before *page) (*pageOutcome, error) {
		desired := request.Parameters.over(sheet{Ink: "black", Copies: 1})
		if before != nil {
			// The name resolves it: what bears our marker and is as desired is our own earlier work.
			if request.Owns(before.Marker) && before.Parameters == desired {
				return request.Observed(before.observed(press, name)).Done(), nil
			}
			return nil, taken(name)
		}
		watermark, _ := request.Sensitive("/watermark")
		created := &page{record[sheet]{desired, request.OwnershipMarker, 1}, watermark}
		return created.save(ctx, press, name)
	})
}

// Update prints it anew.
func (pages) Update(ctx context.Context, request *crossbridge.UpdateRequest[PageParameters, PageStatus]) (*pageOutcome, error) {
	name := request.ExternalName
	return change(ctx, request.Config, "pages", name, func(press *press.Press, before *page) (*pageOutcome, error) {
		if before == nil {
			return nil, notFound(name)
		}
		if err := cmp.Or(request.EnsureOwned(before.Marker), request.EnsureETag(before.etag())); err != nil {
			return nil, err
		}
		after := &page{record[sheet]{request.Parameters.over(before.Parameters), request.OwnershipMarker, before.Version + 1}, before.Watermark}
		if watermark, isSet := request.Sensitive("/watermark"); isSet {
			after.Watermark = watermark
		}
		return after.save(ctx, press, name)
	})
}

// Delete throws it away.
func (pages) Delete(ctx context.Context, request *crossbridge.DeleteRequest[PageParameters, PageStatus]) (*pageOutcome, error) {
	name := request.ExternalName
	return change(ctx, request.Config, "pages", name, func(press *press.Press, before *page) (*pageOutcome, error) {
		if before == nil {
			return request.AlreadyDone(), nil
		}
		if err := cmp.Or(request.EnsureOwned(before.Marker), request.EnsureETag(before.etag())); err != nil {
			return nil, err
		}
		return request.Completed(), press.Remove(ctx, "pages", name)
	})
}

// over lays what the user asked for over what there is: an absent field means no opinion.
func (p PageParameters) over(sheet sheet) sheet {
	sheet.Text = p.Text
	if p.Ink != nil {
		sheet.Ink = *p.Ink
	}
	if p.Copies != nil {
		sheet.Copies = *p.Copies
	}
	return sheet
}

func (p *page) save(ctx context.Context, press *press.Press, name string) (*pageOutcome, error) {
	desired := p.Parameters
	switch {
	case desired.Text == "":
		return nil, crossbridge.InvalidSpec("A page has a text.").WithReason("Empty").At("/text")
	case desired.Ink == "gold" && desired.Copies > mostCopiesOfGold:
		return nil, crossbridge.InvalidSpec("The gold is enough for %d copies.", mostCopiesOfGold).WithReason("TooMuchGold").At("/copies")
	}
	if err := press.Write(ctx, "pages", name, p); err != nil {
		return nil, err
	}
	return crossbridge.CompletedWith(p.observed(press, name)), nil
}

func (p *page) observed(press *press.Press, name string) *pageObservation {
	return &pageObservation{
		ExternalName: name,
		Parameters:   PageParameters{Text: p.Parameters.Text, Ink: &p.Parameters.Ink, Copies: &p.Parameters.Copies},
		Status:       &PageStatus{Words: len(strings.Fields(p.Parameters.Text))},
		Ready:        true,
		ETag:         p.etag(),
		FoundMarker:  p.Marker,
		Connection:   crossbridge.Connection{"path": fmt.Appendf(nil, "%s/pages/%s.json", press.Identity(), name)},
	}
}
