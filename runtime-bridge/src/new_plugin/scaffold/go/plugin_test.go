package main

import (
	"os"
	"path/filepath"
	"testing"

	sdk "crossbridge.dev/sdk/go"
	"crossbridge.dev/sdk/go/crossbridgetest"
)

func TestAFileLivesAndGoes(t *testing.T) {
	harness := crossbridgetest.New(t, plugin).Settings(settings{t.TempDir()})
	notes := harness.Resource("__KIND__", parameters{"Buy milk."}).Named("notes.txt")
	notes.Observe().Absent()
	notes.Create().Completed()
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
