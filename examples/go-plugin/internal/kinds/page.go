package kinds

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
	"example.org/press/internal/press"
)

const mostCopiesOfGold = 100

var pageType = &pb.ResourceType{Group: Group, Version: "v1alpha1", Kind: "Page"}

// Pages are created and changed within the call, and named by the user.
type Pages struct{}

type pageParameters struct {
	Text   string `json:"text"`
	Ink    string `json:"ink"`
	Copies int64  `json:"copies"`
}

type page struct {
	Parameters pageParameters `json:"parameters"`
	Watermark  string         `json:"watermark,omitempty"`
	Marker     string         `json:"marker"`
	Version    int64          `json:"version"`
}

// Described is what the bridge knows of pages.
func (Pages) Described() *pb.ResourceKind {
	return &pb.ResourceKind{
		ResourceType: pageType,
		Plural:       "pages",
		Namespaced:   true,
		Description:  "A single page.",
		ParametersSchemaJson: text(object{
			"type": "object", "required": []string{"text"},
			"properties": object{
				"text":      object{"type": "string"},
				"ink":       object{"type": "string", "enum": []string{"black", "gold"}, "description": "black, if not said."},
				"copies":    object{"type": "integer", "format": "int64", "minimum": 1, "description": "1, if not said."},
				"watermark": object{"type": "string", "description": "Tells true copies from false ones."},
			},
		}),
		StatusSchemaJson: text(object{"type": "object", "properties": object{"words": object{"type": "integer"}}}),
		Capabilities: &pb.KindCapabilities{
			CanCreate: true, CanUpdate: true, CanDelete: true,
			// Its name is its file's, and its marker is in the file.
			CreateRecovery: []pb.CreateRecovery{
				pb.CreateRecovery_CREATE_RECOVERY_DETERMINISTIC_NAME,
				pb.CreateRecovery_CREATE_RECOVERY_MARKER,
			},
			HoldsMarker:         true,
			VisibleWhenAccepted: true,
		},
		ExternalName: &pb.ExternalNameRules{
			Source: pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_USER, Pattern: "[a-z][a-z0-9-]*", MaxLength: 63, Example: "greeting",
		},
		FieldRules:     []*pb.FieldRule{{Path: "/watermark", Sensitive: true}},
		ConnectionKeys: []*pb.ConnectionKey{{Name: "path", Description: "Where the page lies."}},
		Examples: []*pb.KindExample{{
			Name: "greeting", ExternalName: "greeting",
			// More than a double can hold: whoever counts with one loses the last copy.
			CreateParameters:  call.Document(object{"text": "Hello!", "copies": 9007199254740993}),
			UpdateParameters:  call.Document(object{"text": "Good morning!", "ink": "gold", "copies": 2}),
			InvalidParameters: call.Document(object{"text": "Hello!", "ink": "gold", "copies": mostCopiesOfGold + 1}),
			SensitiveValues:   map[string]string{"/watermark": "a small crane"},
		}},
	}
}

// Observe reads the resource from its file.
func (Pages) Observe(_ context.Context, c *call.Call) (*pb.ObserveResponse, error) {
	press, err := press.Open(c.Target.GetConfig())
	if err != nil {
		return nil, err
	}
	name := c.Name()
	if name == "" {
		if name, err = marked(press, c, "pages", func(page *page) string { return page.Marker }); err != nil || name == "" {
			return absent(""), err
		}
	}
	var page page
	if exists, err := press.Read("pages", name, &page); err != nil || !exists {
		return absent(""), err
	}
	return found(page.observed(press, name)), nil
}

// Create prints one.
func (Pages) Create(ctx context.Context, c *call.Call) (*pb.Outcome, error) {
	desired, err := desired(c, pageParameters{Ink: "black", Copies: 1})
	if err != nil {
		return nil, err
	}
	return change(ctx, c, "pages", func(press *press.Press, before *page) (*pb.Outcome, error) {
		if before != nil {
			// The name resolves it: what bears our marker and is as desired is our own earlier work.
			if c.Owns(before.Marker) && before.Parameters == desired {
				return completed(c.Name(), &pb.Completed{Observation: before.observed(press, c.Name()), AlreadyDone: true}), nil
			}
			return nil, taken(c.Name())
		}
		created := page{Parameters: desired, Watermark: c.Secrets["/watermark"], Marker: c.Target.GetOwnershipMarker(), Version: 1}
		return created.save(ctx, press, c.Name())
	})
}

// Update prints it anew.
func (Pages) Update(ctx context.Context, c *call.Call, etag string) (*pb.Outcome, error) {
	return change(ctx, c, "pages", func(press *press.Press, before *page) (*pb.Outcome, error) {
		// One without a marker is being adopted.
		if before == nil || before.Marker != "" && !c.Owns(before.Marker) {
			return nil, notFound(c.Name())
		}
		if etag != "" && etag != before.etag() {
			return nil, changed(c.Name())
		}
		after, err := *before, error(nil)
		if after.Parameters, err = desired(c, before.Parameters); err != nil {
			return nil, err
		}
		if watermark, isSet := c.Secrets["/watermark"]; isSet {
			after.Watermark = watermark
		}
		after.Marker = c.Target.GetOwnershipMarker()
		after.Version++
		return after.save(ctx, press, c.Name())
	})
}

// Delete throws it away.
func (Pages) Delete(ctx context.Context, c *call.Call, etag string) (*pb.Outcome, error) {
	return change(ctx, c, "pages", func(press *press.Press, before *page) (*pb.Outcome, error) {
		if before == nil {
			return completed(c.Name(), &pb.Completed{AlreadyDone: true}), nil
		}
		if !c.Owns(before.Marker) {
			return nil, notFound(c.Name())
		}
		if etag != "" && etag != before.etag() {
			return nil, changed(c.Name())
		}
		return completed(c.Name(), &pb.Completed{}), press.Remove(ctx, "pages", c.Name())
	})
}

// Poll has nothing to follow.
func (Pages) Poll(context.Context, *call.Call, string) (*pb.Outcome, error) {
	return nil, call.Reject("handle is foreign: pages have no operations")
}

func (p *page) save(ctx context.Context, press *press.Press, name string) (*pb.Outcome, error) {
	desired := p.Parameters
	switch {
	case desired.Text == "":
		return nil, call.InvalidSpec("/text", "Empty", "A page has a text.")
	case desired.Ink != "black" && desired.Ink != "gold":
		return nil, call.InvalidSpec("/ink", "UnknownInk", "Ink is black or gold.")
	case desired.Copies < 1:
		return nil, call.InvalidSpec("/copies", "NoCopies", "There is 1 copy or more.")
	case desired.Ink == "gold" && desired.Copies > mostCopiesOfGold:
		return nil, call.InvalidSpec("/copies", "TooMuchGold", "The gold is enough for %d copies.", mostCopiesOfGold)
	}
	if err := press.Write(ctx, "pages", name, p); err != nil {
		return nil, err
	}
	return completed(name, &pb.Completed{Observation: p.observed(press, name)}), nil
}

func (p *page) etag() string { return strconv.FormatInt(p.Version, 10) }

func (p *page) observed(press *press.Press, name string) *pb.Observation {
	return &pb.Observation{
		ExternalName:      name,
		Parameters:        call.Document(p.Parameters),
		Status:            call.Document(object{"words": len(strings.Fields(p.Parameters.Text))}),
		Ready:             true,
		Etag:              p.etag(),
		FoundMarker:       p.Marker,
		ConnectionDetails: map[string][]byte{"path": fmt.Appendf(nil, "%s/pages/%s.json", press.Identity(), name)},
	}
}
