package kinds

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
	"example.org/press/internal/press"
)

const (
	mostPages = 10_000
	pageTime  = 200 * time.Millisecond
)

var (
	bookType  = &pb.ResourceType{Group: Group, Version: "v1alpha1", Kind: "Book"}
	noLetters = regexp.MustCompile(`[^a-z0-9]+`)
)

// Books are named after their titles, and printed page by page, one with each poll.
type Books struct{}

type bookParameters struct {
	Title string `json:"title"`
	Paper string `json:"paper"`
	Pages int64  `json:"pages"`
}

type book struct {
	// Parameters as they are: Pages are those that are printed.
	Parameters bookParameters `json:"parameters"`
	// Edition distinguishes a book from a later one of the same name: Unix nanoseconds.
	Edition int64 `json:"edition"`
	// Dry is when the next page may be printed.
	Dry     time.Time `json:"dry"`
	Marker  string    `json:"marker"`
	Version int64     `json:"version"`
}

// Described is what the bridge knows of books.
func (Books) Described() *pb.ResourceKind {
	return &pb.ResourceKind{
		ResourceType: bookType,
		Plural:       "books",
		Namespaced:   true,
		Description:  "A book, printed page by page.",
		ParametersSchemaJson: text(object{
			"type": "object", "required": []string{"title", "pages"},
			"properties": object{
				"title": object{"type": "string", "minLength": 1, "description": "The name is derived from it."},
				"paper": object{"type": "string", "description": "plain, if not said."},
				"pages": object{"type": "integer", "minimum": 1},
			},
		}),
		StatusSchemaJson: text(object{"type": "object", "properties": object{"printed": object{"type": "integer"}}}),
		PrinterColumns:   []*pb.PrinterColumn{{Name: "Printed", DataType: "integer", JsonPath: ".status.atProvider.printed"}},
		Capabilities: &pb.KindCapabilities{
			CanCreate: true, CanUpdate: true, CanDelete: true,
			CreateRecovery: []pb.CreateRecovery{
				pb.CreateRecovery_CREATE_RECOVERY_DETERMINISTIC_NAME,
				pb.CreateRecovery_CREATE_RECOVERY_MARKER,
			},
			HoldsMarker:         true,
			DeleteDuringCreate:  true,
			VisibleWhenAccepted: true,
		},
		ExternalName: &pb.ExternalNameRules{
			Source: pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_DERIVED, Pattern: "[a-z0-9][a-z0-9-]*", MaxLength: 63, Example: "three-men-in-a-boat",
		},
		FieldRules: []*pb.FieldRule{{Path: "/title", Mutability: pb.Mutability_MUTABILITY_IMMUTABLE}},
		Examples: []*pb.KindExample{{
			Name:              "three-men",
			CreateParameters:  call.Document(object{"title": "Three Men in a Boat", "pages": 4}),
			UpdateParameters:  call.Document(object{"title": "Three Men in a Boat", "pages": 6, "paper": "fine"}),
			InvalidParameters: call.Document(object{"title": "Three Men in a Boat", "pages": mostPages + 1}),
		}},
	}
}

// Observe observes, without a name by the marker, else by the name that is derived from the title.
func (Books) Observe(_ context.Context, c *call.Call) (*pb.ObserveResponse, error) {
	press, err := press.Open(c.Target.GetConfig())
	if err != nil {
		return nil, err
	}
	if c.Name() == "" {
		if c.Target.ExternalName, err = marked(press, c, "books", func(book *book) string { return book.Marker }); err != nil {
			return nil, err
		}
	}
	desired, err := named(c)
	if err != nil {
		return nil, err
	}
	var book book
	if exists, err := press.Read("books", c.Name(), &book); err != nil || !exists {
		return absent(c.Name()), err
	}
	return found(book.observed(c.Name(), desired.Pages)), nil
}

// Create prints the first page; polls print the others.
func (Books) Create(ctx context.Context, c *call.Call) (*pb.Outcome, error) {
	desired, err := named(c)
	if err != nil {
		return nil, err
	}
	if err := desired.check(); err != nil {
		return nil, err
	}
	return change(ctx, c, "books", func(press *press.Press, before *book) (*pb.Outcome, error) {
		if before != nil {
			// The name resolves it: what bears our marker and is on its way to the desired state is our own earlier work.
			is := before.Parameters
			if !c.Owns(before.Marker) || is.Title != desired.Title || is.Paper != desired.Paper || is.Pages > desired.Pages {
				return nil, taken(c.Name())
			}
			outcome := before.outcome(c.Name(), pb.OperationVerb_OPERATION_VERB_CREATE, desired.Pages)
			if done := outcome.GetCompleted(); done != nil {
				done.AlreadyDone = true
			}
			return outcome, nil
		}
		created := &book{Parameters: desired, Edition: time.Now().UnixNano(), Marker: c.Target.GetOwnershipMarker()}
		created.Parameters.Pages = 0
		return created.print(ctx, press, c.Name(), pb.OperationVerb_OPERATION_VERB_CREATE, desired.Pages)
	})
}

// Update prints further pages, tears out those that are too many, or takes other paper.
func (Books) Update(ctx context.Context, c *call.Call, etag string) (*pb.Outcome, error) {
	return change(ctx, c, "books", func(press *press.Press, before *book) (*pb.Outcome, error) {
		// One without a marker is being adopted.
		if before == nil || before.Marker != "" && !c.Owns(before.Marker) {
			return nil, notFound(c.Name())
		}
		if etag != "" && etag != before.etag() {
			return nil, changed(c.Name())
		}
		desired, err := desired(c, before.Parameters)
		if err != nil {
			return nil, err
		}
		if err := desired.check(); err != nil {
			return nil, err
		}
		if desired.Title != before.Parameters.Title {
			return nil, call.Fail(pb.FailureCode_FAILURE_CODE_IMMUTABLE_FIELD, "AnotherBook", "The title of a book cannot change.").At("/title")
		}
		after := *before
		after.Marker, after.Parameters = c.Target.GetOwnershipMarker(), desired
		after.Parameters.Pages = min(before.Parameters.Pages, desired.Pages)
		after.Version++
		if err := press.Write(ctx, "books", c.Name(), after); err != nil {
			return nil, err
		}
		return after.outcome(c.Name(), pb.OperationVerb_OPERATION_VERB_UPDATE, desired.Pages), nil
	})
}

// Delete throws it away, printed or not.
func (Books) Delete(ctx context.Context, c *call.Call, etag string) (*pb.Outcome, error) {
	return change(ctx, c, "books", func(press *press.Press, before *book) (*pb.Outcome, error) {
		if before == nil {
			return completed(c.Name(), &pb.Completed{AlreadyDone: true}), nil
		}
		if !c.Owns(before.Marker) {
			return nil, notFound(c.Name())
		}
		if etag != "" && etag != before.etag() {
			return nil, changed(c.Name())
		}
		return completed(c.Name(), &pb.Completed{}), press.Remove(ctx, "books", c.Name())
	})
}

// Poll prints the next page, if the one before is dry.
func (Books) Poll(ctx context.Context, c *call.Call, handle string) (*pb.Outcome, error) {
	verb, edition, pages, name, ok := parse(handle)
	if !ok || c.Name() != "" && c.Name() != name {
		return nil, call.Reject("handle is malformed or foreign: no operation of this book")
	}
	c.Target.ExternalName = name
	return change(ctx, c, "books", func(press *press.Press, before *book) (*pb.Outcome, error) {
		switch {
		case before == nil || !c.Owns(before.Marker):
			return nil, notFound(name)
		case before.Edition != edition:
			return nil, call.Fail(pb.FailureCode_FAILURE_CODE_OPERATION_EXPIRED, "AnotherEdition", "%s is another edition by now.", name)
		case before.Parameters.Pages >= pages || time.Now().Before(before.Dry):
			return before.outcome(name, verb, pages), nil
		}
		return before.print(ctx, press, name, verb, pages)
	})
}

// named reads the desired state, and gives the call the name that is derived from it where it came without.
func named(c *call.Call) (bookParameters, error) {
	desired, err := desired(c, bookParameters{Paper: "plain"})
	if err != nil {
		return desired, err
	}
	if c.Name() == "" {
		c.Target.ExternalName = strings.Trim(noLetters.ReplaceAllString(strings.ToLower(desired.Title), "-"), "-")
	}
	if name := c.Name(); name == "" || len(name) > 63 {
		return desired, call.InvalidSpec("/title", "InvalidTitle", "A title has 1 to 63 letters and digits.")
	}
	return desired, nil
}

func (p bookParameters) check() error {
	if p.Pages < 1 || p.Pages > mostPages {
		return call.InvalidSpec("/pages", "InvalidPages", "A book has 1 to %d pages.", mostPages)
	}
	return nil
}

// print prints one page.
func (b *book) print(ctx context.Context, press *press.Press, name string, verb pb.OperationVerb, pages int64) (*pb.Outcome, error) {
	b.Parameters.Pages++
	b.Version++
	b.Dry = time.Now().Add(pageTime)
	if err := press.Write(ctx, "books", name, b); err != nil {
		return nil, err
	}
	return b.outcome(name, verb, pages), nil
}

func (b *book) outcome(name string, verb pb.OperationVerb, pages int64) *pb.Outcome {
	printed := b.Parameters.Pages
	if printed >= pages {
		return completed(name, &pb.Completed{Observation: b.observed(name, pages)})
	}
	return underWay(name, &pb.Operation{
		Handle:          write(verb, b.Edition, pages, name),
		Verb:            verb,
		PollAfter:       durationpb.New(pageTime),
		ProgressPercent: percent(printed, pages),
		Phase:           "Printing",
		Message:         strconv.FormatInt(printed, 10) + " of " + strconv.FormatInt(pages, 10) + " pages are printed.",
		PollDriven:      true,
	})
}

func (b *book) etag() string { return strconv.FormatInt(b.Version, 10) }

// observed is ready when all desired pages are printed; 0: none are desired.
func (b *book) observed(name string, pages int64) *pb.Observation {
	observation := &pb.Observation{
		ExternalName: name,
		Parameters:   call.Document(b.Parameters),
		Status:       call.Document(object{"printed": b.Parameters.Pages}),
		Ready:        b.Parameters.Pages >= pages,
		Etag:         b.etag(),
		FoundMarker:  b.Marker,
	}
	if !observation.Ready {
		observation.ReadyMessage = "It is being printed."
	}
	return observation
}

func write(verb pb.OperationVerb, edition, pages int64, name string) string {
	word := map[pb.OperationVerb]string{pb.OperationVerb_OPERATION_VERB_CREATE: "create", pb.OperationVerb_OPERATION_VERB_UPDATE: "update"}[verb]
	return strings.Join([]string{word, strconv.FormatInt(edition, 10), strconv.FormatInt(pages, 10), name}, "/")
}

func parse(handle string) (verb pb.OperationVerb, edition, pages int64, name string, ok bool) {
	parts := strings.Split(handle, "/")
	if len(parts) != 4 || !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`).MatchString(parts[3]) {
		return 0, 0, 0, "", false
	}
	switch parts[0] {
	case "create":
		verb = pb.OperationVerb_OPERATION_VERB_CREATE
	case "update":
		verb = pb.OperationVerb_OPERATION_VERB_UPDATE
	default:
		return 0, 0, 0, "", false
	}
	edition, err := strconv.ParseInt(parts[1], 10, 64)
	pages, err2 := strconv.ParseInt(parts[2], 10, 64)
	return verb, edition, pages, parts[3], err == nil && err2 == nil && pages > 0
}
