package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sdk "crossbridge.dev/sdk/go"
	"crossbridge.dev/sdk/go/crossbridgetest"
)

func TestAFileIsPreparedAndGoes(t *testing.T) {
	harness := crossbridgetest.New(t, plugin).Settings(settings{t.TempDir()})
	notes := harness.Resource("__KIND__", parameters{"Buy milk."}).Named("notes.txt")
	notes.Observe().Absent()
	preparing := notes.Create()
	if handle := preparing.Operation().Handle; !strings.Contains(handle, "notes.txt") {
		t.Fatal(handle)
	}
	notes = notes.On(harness.Replica())
	notes.Follow(preparing).Completed()
	if !notes.Observe().Found().Ready {
		t.Fatal("it is not ready")
	}
	notes.SetParameters(parameters{"Tea."})
	notes.Update().Completed()
	var found parameters
	notes.Observe().Found().Parameters(&found)
	if found.Content != "Tea." {
		t.Fatal(found.Content)
	}
	notes.Delete().Completed()
	notes.Delete().AlreadyDone()
}

func TestAnExistingFileIsNotOverwritten(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "notes.txt")
	if err := os.WriteFile(file, []byte("Mine."), 0o600); err != nil {
		t.Fatal(err)
	}
	harness := crossbridgetest.New(t, plugin).Settings(settings{folder})
	second := harness.Resource("__KIND__", parameters{"Mine too."}).Named("notes.txt")
	if failure := second.Create().Failure(); failure.Code != sdk.CodeAlreadyExists {
		t.Fatal(failure)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "Mine." {
		t.Fatal(string(text), err)
	}
}

func TestAKillInsideCreateLeavesOneFile(t *testing.T) {
	folder := t.TempDir()
	harness := crossbridgetest.New(t, plugin).Settings(settings{folder})
	harness.KilledInCreate(
		func(point int) *crossbridgetest.Resource {
			return harness.Resource("__KIND__", parameters{"Buy milk."}).Named("notes-" + strconv.Itoa(point) + ".txt")
		},
		func(notes *crossbridgetest.Resource) int {
			files, err := filepath.Glob(filepath.Join(folder, notes.ExternalName()))
			if err != nil {
				t.Fatal(err)
			}
			return len(files)
		})
}
