package press

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	crossbridge "crossbridge.dev/sdk/go"
)

func at(t *testing.T, folder string) *Press {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return &Press{folder}
}

func write(t *testing.T, press *Press, name string) {
	t.Helper()
	ctx := context.Background()
	if err := press.Change(ctx, func() error { return press.Write(ctx, "pages", name, name) }); err != nil {
		t.Fatal(err)
	}
}

// isUnavailable reports whether the bridge is told that nothing is known.
func isUnavailable(err error) bool {
	failure := MapError(err)
	return failure != nil && failure.Code() == crossbridge.CodeUnavailable
}

func TestRecordsAreListedWhateverTheFolderIsCalled(t *testing.T) {
	press := at(t, filepath.Join(t.TempDir(), "a[b"))
	if names, err := press.Names("pages"); err != nil || len(names) != 0 {
		t.Errorf("of none: %v, %v", names, err)
	}
	write(t, press, "one")
	write(t, press, "two")
	if names, err := press.Names("pages"); err != nil || !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("of two: %v, %v", names, err)
	}
}

func TestALookThatFailsIsNotAbsence(t *testing.T) {
	damaged := at(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(damaged.folder, "pages"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := at(t, filepath.Join(t.TempDir(), "press"))
	if err := os.Remove(gone.folder); err != nil {
		t.Fatal(err)
	}
	for what, press := range map[string]*Press{"a file instead of a folder": damaged, "a press that is gone": gone} {
		if _, err := press.Names("pages"); !isUnavailable(err) {
			t.Errorf("%s: Names: %v", what, err)
		}
		if _, err := press.Read("pages", "one", new(string)); !isUnavailable(err) {
			t.Errorf("%s: Read: %v", what, err)
		}
		if err := press.Write(context.Background(), "pages", "one", "one"); !isUnavailable(err) {
			t.Errorf("%s: Write: %v", what, err)
		}
	}
}

func TestACancelledCallHasNoEffect(t *testing.T) {
	press := at(t, t.TempDir())
	write(t, press, "old")
	attempts := map[string]func(ctx context.Context) error{
		"write":  func(ctx context.Context) error { return press.Write(ctx, "pages", "new", "new") },
		"remove": func(ctx context.Context) error { return press.Remove(ctx, "pages", "old") },
	}
	for what, attempt := range attempts {
		ctx, cancel := context.WithCancel(context.Background())
		err := press.Change(ctx, func() error {
			cancel()
			return attempt(ctx)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if names, err := press.Names("pages"); err != nil || !slices.Equal(names, []string{"old"}) {
		t.Errorf("there is %v, %v", names, err)
	}
	if _, err := os.Stat(press.draft()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a draft is left: %v", err)
	}
}

func TestTheDraftOfAKilledProcessIsRemoved(t *testing.T) {
	press := at(t, t.TempDir())
	if err := os.WriteFile(press.draft(), []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := press.Change(context.Background(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(press.draft()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
