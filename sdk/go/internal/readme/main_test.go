package main

import (
	"os"
	"strings"
	"testing"

	"crossbridge.dev/sdk/go/crossbridgetest"
)

func TestTheLifeOfANote(t *testing.T) {
	harness := crossbridgetest.New(t, plugin).Settings(Settings{Folder: t.TempDir()})
	milk := harness.Resource("Note", Note{Text: "Buy milk."}).Named("milk.txt")
	milk.Observe().Absent()
	milk.Create().Completed()
	milk.SetParameters(Note{Text: "Buy tea."})
	milk.Update().Completed()
	var found Note
	if milk.Observe().Found().Parameters(&found); found.Text != "Buy tea." {
		t.Error(found)
	}
	milk.Delete().Completed()
}

func TestAFolderThatIsAwayIsNoAbsence(t *testing.T) {
	harness := crossbridgetest.New(t, plugin).Settings(Settings{Folder: "/there/is/none"})
	milk := harness.Resource("Note", Note{Text: "Buy milk."}).Named("milk.txt")
	if failure := milk.Observe().Failure(); failure.Reason != "Unavailable" {
		t.Error(failure)
	}
}

// The README shows this very plugin, and its test.
func TestTheReadmeShowsThisPlugin(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("main_test.go")
	if err != nil {
		t.Fatal(err)
	}
	from := strings.Index(string(tests), "func TestTheLifeOfANote")
	to := strings.Index(string(tests), "\nfunc TestAFolder")
	for name, text := range map[string]string{"the plugin": string(plugin), "its test": strings.TrimSpace(string(tests)[from:to]) + "\n"} {
		if !strings.Contains(string(readme), "```go\n"+text+"```") {
			t.Errorf("%s in the README is not the one that is compiled", name)
		}
	}
}
