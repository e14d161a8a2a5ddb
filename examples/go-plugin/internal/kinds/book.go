package kinds

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	crossbridge "crossbridge.dev/sdk/go"

	"example.org/press/internal/press"
)

const (
	mostPages = 10_000
	pageTime  = 200 * time.Millisecond
)

var noLetters = regexp.MustCompile(`[^a-z0-9]+`)

// BookParameters are what a user writes of a book.
type BookParameters struct {
	Title string  `json:"title" minLength:"1" crossbridge:"immutable" doc:"The name is derived from it."`
	Paper *string `json:"paper,omitempty" doc:"plain, if not said."`
	Pages int64   `json:"pages" minimum:"1"`
}

// BookStatus is what is only observed.
type BookStatus struct {
	Printed int64 `json:"printed"`
}

// books are named after their titles, and printed page by page, one with each poll.
type books struct{}

type book struct {
	// Parameters as they are: Pages are those that are printed.
	record[edition]
	// Dry is when the next page may be printed.
	Dry time.Time `json:"dry"`
}

type edition struct {
	Title string `json:"title"`
	Paper string `json:"paper"`
	Pages int64  `json:"pages"`
	// Begun distinguishes a book from a later one of the same name: Unix nanoseconds.
	Begun int64 `json:"begun"`
}

// printing is the handle of an operation.
type printing struct {
	Verb    crossbridge.Verb `json:"verb"`
	Edition int64            `json:"edition"`
	Pages   int64            `json:"pages"`
	Name    string           `json:"name"`
}

type (
	bookOutcome     = crossbridge.Outcome[BookParameters, BookStatus]
	bookObservation = crossbridge.Observation[BookParameters, BookStatus]
)

// ServeBooks is the kind Book.
func ServeBooks() crossbridge.Served {
	return crossbridge.Serve(crossbridge.Kind{
		Group: Group, Version: "v1alpha1", Kind: "Book", Description: "A book, printed page by page.",
		Names:               crossbridge.ExternalName{Source: crossbridge.Derived, Pattern: "[a-z0-9][a-z0-9-]*", MaxLength: 63, Example: "three-men-in-a-boat"},
		Recovery:            []crossbridge.Recovery{crossbridge.RecoverByName, crossbridge.RecoverByMarker},
		DeleteDuringCreate:  true,
		VisibleWhenAccepted: true,
		Columns:             []crossbridge.Column{{Name: "Printed", Type: "integer", Path: ".status.atProvider.printed"}},
		Examples: []crossbridge.Example{{
			Name:    "three-men",
			Create:  map[string]any{"title": "Three Men in a Boat", "pages": 4},
			Update:  map[string]any{"title": "Three Men in a Boat", "pages": 6, "paper": "fine"},
			Invalid: map[string]any{"title": "Three Men in a Boat", "pages": mostPages + 1},
		}},
	}, books{})
}

// Observe observes, without a name by the marker, else by the name that is derived from the title.
func (books) Observe(
	_ context.Context, request *crossbridge.ObserveRequest[BookParameters, BookStatus],
) (*crossbridge.Observed[BookParameters, BookStatus], error) {
	press, err := press.Open(request.Config)
	if err != nil {
		return nil, err
	}
	name := request.ExternalName
	if name == "" {
		if name, err = marked(press, &request.Call, "books", (*book).marker); err != nil {
			return nil, err
		}
	}
	var pages int64
	if request.Parameters != nil {
		pages = request.Parameters.Pages
		if name, err = request.Parameters.named(name); err != nil {
			return nil, err
		}
	}
	var book book
	if exists, err := press.Read("books", name, &book); err != nil || !exists {
		return request.AbsentAs(name), err
	}
	return request.Found(book.observed(name, pages)), nil
}

// Create prints the first page; polls print the others.
func (books) Create(ctx context.Context, request *crossbridge.CreateRequest[BookParameters, BookStatus]) (*bookOutcome, error) {
	name, err := request.Parameters.named(request.ExternalName)
	if err != nil {
		return nil, err
	}
	if err := request.Parameters.check(); err != nil {
		return nil, err
	}
	desired := request.Parameters.over(edition{Paper: "plain", Begun: time.Now().UnixNano()})
	return change(ctx, request.Config, "books", name, func(press *press.Press, before *book) (*bookOutcome, error) {
		if before == nil {
			created := &book{record: record[edition]{Parameters: desired, Marker: request.OwnershipMarker}}
			created.Parameters.Pages = 0
			return created.print(ctx, press, printing{crossbridge.VerbCreate, desired.Begun, desired.Pages, name})
		}
		// The name resolves it: what bears our marker and is on its way to the desired state is our own earlier work.
		is := before.Parameters
		if !request.Owns(before.Marker) || is.Title != desired.Title || is.Paper != desired.Paper || is.Pages > desired.Pages {
			return nil, taken(name)
		}
		outcome, err := before.outcome(printing{crossbridge.VerbCreate, is.Begun, desired.Pages, name})
		if err == nil && is.Pages >= desired.Pages {
			outcome.Done()
		}
		return outcome, err
	})
}

// Update prints further pages, tears out those that are too many, or takes other paper.
func (books) Update(ctx context.Context, request *crossbridge.UpdateRequest[BookParameters, BookStatus]) (*bookOutcome, error) {
	name, desired := request.ExternalName, request.Parameters
	return change(ctx, request.Config, "books", name, func(press *press.Press, before *book) (*bookOutcome, error) {
		if before == nil {
			return nil, notFound(name)
		}
		if err := cmp.Or(request.EnsureOwned(before.Marker), request.EnsureETag(before.etag())); err != nil {
			return nil, err
		}
		if err := desired.check(); err != nil {
			return nil, err
		}
		if desired.Title != before.Parameters.Title {
			return nil, crossbridge.ImmutableField("The title of a book cannot change.").WithReason("AnotherBook").At("/title")
		}
		after := &book{record[edition]{desired.over(before.Parameters), request.OwnershipMarker, before.Version + 1}, before.Dry}
		after.Parameters.Pages = min(before.Parameters.Pages, desired.Pages)
		if err := press.Write(ctx, "books", name, after); err != nil {
			return nil, err
		}
		return after.outcome(printing{crossbridge.VerbUpdate, after.Parameters.Begun, desired.Pages, name})
	})
}

// Delete throws it away, printed or not.
func (books) Delete(ctx context.Context, request *crossbridge.DeleteRequest[BookParameters, BookStatus]) (*bookOutcome, error) {
	name := request.ExternalName
	return change(ctx, request.Config, "books", name, func(press *press.Press, before *book) (*bookOutcome, error) {
		if before == nil {
			return request.AlreadyDone(), nil
		}
		if err := cmp.Or(request.EnsureOwned(before.Marker), request.EnsureETag(before.etag())); err != nil {
			return nil, err
		}
		return request.Completed(), press.Remove(ctx, "books", name)
	})
}

// Poll prints the next page, if the one before is dry.
func (books) Poll(ctx context.Context, request *crossbridge.PollRequest[BookParameters, BookStatus]) (*bookOutcome, error) {
	printing, err := crossbridge.DecodeHandle[printing]("handle", request.Handle, 1)
	if err != nil {
		return nil, err
	}
	name := printing.Name
	if request.ExternalName != "" && request.ExternalName != name {
		return nil, crossbridge.Reject("handle", "is foreign: no operation of this book")
	}
	return change(ctx, request.Config, "books", name, func(press *press.Press, before *book) (*bookOutcome, error) {
		if before == nil {
			return nil, notFound(name)
		}
		if err := request.EnsureOwned(before.Marker); err != nil {
			return nil, err
		}
		switch {
		case before.Parameters.Begun != printing.Edition:
			return nil, crossbridge.OperationExpired("%s is another edition by now.", name).WithReason("AnotherEdition")
		case before.Parameters.Pages >= printing.Pages || time.Now().Before(before.Dry):
			return before.outcome(printing)
		}
		return before.print(ctx, press, printing)
	})
}

// named is the name that is derived, where there is none.
func (p *BookParameters) named(name string) (string, error) {
	if name == "" {
		name = strings.Trim(noLetters.ReplaceAllString(strings.ToLower(p.Title), "-"), "-")
	}
	if name == "" || len(name) > 63 {
		return "", crossbridge.InvalidSpec("A title has 1 to 63 letters and digits.").WithReason("InvalidTitle").At("/title")
	}
	return name, nil
}

func (p *BookParameters) check() error {
	if p.Pages < 1 || p.Pages > mostPages {
		return crossbridge.InvalidSpec("A book has 1 to %d pages.", mostPages).WithReason("InvalidPages").At("/pages")
	}
	return nil
}

// over lays what the user asked for over what there is: an absent field means no opinion.
func (p *BookParameters) over(is edition) edition {
	is.Title, is.Pages = p.Title, p.Pages
	if p.Paper != nil {
		is.Paper = *p.Paper
	}
	return is
}

// print prints one page.
func (b *book) print(ctx context.Context, press *press.Press, printing printing) (*bookOutcome, error) {
	b.Parameters.Pages++
	b.Version++
	b.Dry = time.Now().Add(pageTime)
	if err := press.Write(ctx, "books", printing.Name, b); err != nil {
		return nil, err
	}
	return b.outcome(printing)
}

func (b *book) outcome(printing printing) (*bookOutcome, error) {
	printed := b.Parameters.Pages
	if printed >= printing.Pages {
		return crossbridge.CompletedWith(b.observed(printing.Name, printing.Pages)), nil
	}
	handle, err := crossbridge.EncodeHandle(1, printing)
	outcome := crossbridge.UnderWay[BookParameters, BookStatus](crossbridge.Operation{
		Handle:     handle,
		Verb:       printing.Verb,
		PollAfter:  pageTime,
		Progress:   crossbridge.Percent(printed, printing.Pages),
		Phase:      "Printing",
		Message:    fmt.Sprintf("%d of %d pages are printed.", printed, printing.Pages),
		PollDriven: true,
	})
	outcome.ExternalName = printing.Name
	return outcome, err
}

// observed is ready when all desired pages are printed; 0: none are desired.
func (b *book) observed(name string, pages int64) *bookObservation {
	observation := &bookObservation{
		ExternalName: name,
		Parameters:   BookParameters{Title: b.Parameters.Title, Paper: &b.Parameters.Paper, Pages: b.Parameters.Pages},
		Status:       &BookStatus{Printed: b.Parameters.Pages},
		Ready:        b.Parameters.Pages >= pages,
		ETag:         b.etag(),
		FoundMarker:  b.Marker,
	}
	if !observation.Ready {
		observation.ReadyMessage = "It is being printed."
	}
	return observation
}
