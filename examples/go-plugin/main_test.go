package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
	"crossbridge.dev/sdk/go/crossbridgetest"

	"example.org/press/internal/kinds"
	"example.org/press/internal/press"
)

func inFolder(t *testing.T) (*crossbridgetest.Harness, string) {
	t.Helper()
	folder := t.TempDir()
	return crossbridgetest.New(t, plugin).Settings(press.Settings{Folder: folder}), folder
}

func boat(pages int64) kinds.BookParameters {
	return kinds.BookParameters{Title: "Three Men in a Boat", Pages: pages}
}

func count(t *testing.T, folder, kind string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, kind, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestABookIsPrintedPageByPage(t *testing.T) {
	harness, _ := inFolder(t)
	book := harness.Resource("Book", boat(3))
	begun := time.Now()
	first := book.Create().Operation()
	if book.ExternalName() != "three-men-in-a-boat" || *first.Progress != 33 || first.Verb != crossbridge.VerbCreate {
		t.Errorf("%s: %+v", book.ExternalName(), first)
	}
	// An early poll prints nothing, and another replica goes on.
	early := book.Poll().Operation()
	isEarly := time.Since(begun) < first.PollAfter
	if early.Handle != first.Handle || isEarly && *early.Progress != 33 {
		t.Errorf("%+v", early)
	}
	book = book.On(harness.Replica())
	var printed kinds.BookStatus
	if book.Follow(book.Poll()).Completed().Status(&printed); printed.Printed != 3 {
		t.Error(printed)
	}
	book.SetParameters(kinds.BookParameters{Title: "Three Men on the Bummel", Pages: 3})
	if failure := book.Update().Failure(); failure.Code != crossbridge.CodeImmutableField || failure.Violations["/title"] == "" {
		t.Error(failure)
	}
	book.Delete().Completed()
	book.Delete().AlreadyDone()
}

func TestAPageThatIsKilledInCreateIsThereOnce(t *testing.T) {
	harness, folder := inFolder(t)
	points := harness.KilledInCreate(
		func(int) *crossbridgetest.Resource {
			return harness.Resource("Page", kinds.PageParameters{Text: "Hello!"}).Named("greeting").Sensitive("/watermark", "a small crane")
		},
		func(*crossbridgetest.Resource) int { return count(t, folder, "pages") })
	if points < 3 {
		t.Errorf("it was killed at %d points only", points)
	}
}

func TestABookThatIsKilledInCreateIsThereOnce(t *testing.T) {
	harness, folder := inFolder(t)
	harness.KilledInCreate(
		func(int) *crossbridgetest.Resource { return harness.Resource("Book", boat(1)) },
		func(*crossbridgetest.Resource) int { return count(t, folder, "books") })
}

func TestAnotherOwnersPageIsLeftAlone(t *testing.T) {
	harness, folder := inFolder(t)
	mine := harness.Resource("Page", kinds.PageParameters{Text: "Mine."}).Named("greeting")
	mine.Create().Completed()
	other := harness.Resource("Page", kinds.PageParameters{Text: "Another's."}).Named("greeting")
	if failure := other.Create().Failure(); failure.Code != crossbridge.CodeAlreadyExists || failure.ExistingExternalName != "greeting" {
		t.Error(failure)
	}
	for what, answer := range map[string]*crossbridgetest.Answer{"update": other.Update(), "delete": other.Delete()} {
		if failure := answer.Failure(); failure.Code != crossbridge.CodeNotFound || failure.Effect != crossbridge.EffectNone {
			t.Errorf("%s: %v", what, failure)
		}
	}
	if count(t, folder, "pages") != 1 {
		t.Error("it is gone")
	}
}

func TestAPressThatIsAwayIsNoAbsence(t *testing.T) {
	harness, folder := inFolder(t)
	page := harness.Resource("Page", kinds.PageParameters{Text: "Hello!"}).Named("greeting")
	page.Create().Completed()
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	if failure := page.Observe().Failure(); failure.Code != crossbridge.CodeInvalidConfig {
		t.Error(failure)
	}
	if _, failure := harness.CheckConfig(); failure == nil || failure.Reason != "NoPress" {
		t.Error(failure)
	}
}
