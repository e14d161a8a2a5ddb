// Command notes is a Crossbridge plugin: text files in a folder.
package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	crossbridge "crossbridge.dev/sdk/go"
)

// Settings of a ProviderConfig.
type Settings struct {
	Folder string `json:"folder" doc:"Where the notes are. It must exist."`
}

// Note is what a user writes: spec.forProvider.
type Note struct {
	_    struct{} `doc:"A text file."`
	Text string   `json:"text" maxLength:"10000" doc:"What it says."`
}

// Status is what is only observed: status.atProvider.
type Status struct {
	Bytes int64 `json:"bytes"`
}

type (
	observe  = crossbridge.ObserveRequest[Note, Status]
	create   = crossbridge.CreateRequest[Note, Status]
	update   = crossbridge.UpdateRequest[Note, Status]
	remove   = crossbridge.DeleteRequest[Note, Status]
	observed = crossbridge.Observed[Note, Status]
	outcome  = crossbridge.Outcome[Note, Status]
)

type notes struct{}

func path(call *crossbridge.Call) (string, error) {
	settings, err := crossbridge.Settings[Settings](call.Config)
	if err != nil {
		return "", err
	}
	// A folder that is away is no absence of its notes.
	_, err = os.Stat(settings.Folder)
	return filepath.Join(settings.Folder, call.ExternalName), err
}

func (notes) Observe(_ context.Context, request *observe) (*observed, error) {
	path, err := path(&request.Call)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return request.Absent(), nil
	}
	return request.Found(&crossbridge.Observation[Note, Status]{
		Parameters: Note{Text: string(text)}, Status: &Status{Bytes: int64(len(text))}, Ready: true,
	}), err
}

func (notes) Create(ctx context.Context, request *create) (*outcome, error) {
	path, err := path(&request.Call)
	if err = errors.Join(err, crossbridge.EnsureTime(ctx)); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, crossbridge.AlreadyExists(request.ExternalName, "there is a note of this name")
	}
	if err == nil {
		_, err = file.WriteString(request.Parameters.Text)
		err = errors.Join(err, file.Close())
	}
	return request.Completed(), err
}

func (notes) Update(ctx context.Context, request *update) (*outcome, error) {
	path, err := path(&request.Call)
	if err = errors.Join(err, crossbridge.EnsureTime(ctx)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, crossbridge.NotFound("there is no note of this name")
	}
	return request.Completed(), os.WriteFile(path, []byte(request.Parameters.Text), 0o600)
}

func (notes) Delete(ctx context.Context, request *remove) (*outcome, error) {
	path, err := path(&request.Call)
	if err = errors.Join(err, crossbridge.EnsureTime(ctx)); err != nil {
		return nil, err
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return request.AlreadyDone(), nil
	} else if err != nil {
		return nil, err
	}
	return request.Completed(), nil
}

func plugin() *crossbridge.Plugin {
	kind := crossbridge.Kind{
		Group: "notes.example.org", Version: "v1alpha1", Kind: "Note",
		Names:               crossbridge.ExternalName{Source: crossbridge.ByUser, Pattern: `[a-z0-9-]+\.txt`, Example: "milk.txt"},
		Recovery:            []crossbridge.Recovery{crossbridge.RecoverByName},
		VisibleWhenAccepted: true,
		Examples: []crossbridge.Example{{
			Name: "milk", ExternalName: "milk.txt", Create: Note{Text: "Buy milk."}, Update: Note{Text: "Buy tea."},
		}},
	}
	return &crossbridge.Plugin{
		Name: "notes.example.org", Version: "0.1.0",
		Kinds: []crossbridge.Served{crossbridge.Serve(kind, notes{})}, Settings: crossbridge.TypeOf[Settings](),
		MapError: func(err error) *crossbridge.Failure {
			var path *fs.PathError
			if errors.As(err, &path) {
				return crossbridge.Unavailable("the folder cannot be used: %v", err)
			}
			return nil
		},
	}
}

func main() { crossbridge.Main(plugin()) }
