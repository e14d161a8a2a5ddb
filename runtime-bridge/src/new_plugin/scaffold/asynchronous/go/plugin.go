// Command __NAME__-plugin serves __KIND__: text files in a folder, which take a while to be ready. Put your cloud in the place of the folder.
package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	sdk "crossbridge.dev/sdk/go"
)

// preparing is longer than a call should wait: so long after its creation a file is ready.
const preparing = 500 * time.Millisecond

type settings struct {
	Folder string `json:"folder" doc:"Where the files are. It must exist."`
}

type parameters struct {
	Content string `json:"content" doc:"What stands in the file."`
}

type status struct {
	Bytes int64 `json:"bytes"`
}

// preparation is what the upstream must be asked for: it outlives this process and this build.
type preparation struct {
	File string `json:"file"`
}

type outcome = sdk.Outcome[parameters, status]

type __KIND__ struct{}

var kind = sdk.Kind{
	Group: "__NAME__.example.org", Version: "v1alpha1", Kind: "__KIND__", Description: "A text file in a folder.",
	Names:    sdk.ExternalName{Source: sdk.ByUser, Example: "notes.txt", Pattern: "[a-z0-9][a-z0-9.-]*"},
	Recovery: []sdk.Recovery{sdk.RecoverByName}, VisibleWhenAccepted: true,
	Examples: []sdk.Example{{Name: "notes", ExternalName: "notes.txt", Create: parameters{"Buy milk."}, Update: parameters{"Buy tea."}}},
}

func (__KIND__) Observe(ctx context.Context, r *sdk.ObserveRequest[parameters, status]) (*sdk.Observed[parameters, status], error) {
	found, err := read(path(ctx, r.Call))
	if errors.Is(err, fs.ErrNotExist) {
		return r.Absent(), nil
	}
	return r.Found(found), err
}

func (__KIND__) Create(ctx context.Context, r *sdk.CreateRequest[parameters, status]) (*outcome, error) {
	return prepared(write(ctx, r.Call, os.O_CREATE|os.O_EXCL, r.Parameters, preparing))
}

// Poll asks the upstream how a creation goes: it knows, whichever process asks.
func (__KIND__) Poll(ctx context.Context, r *sdk.PollRequest[parameters, status]) (*outcome, error) {
	handle, err := sdk.DecodeHandle[preparation]("handle", r.Handle, 1)
	if err != nil {
		return nil, err
	}
	if r.ExternalName != "" && r.ExternalName != handle.File {
		return nil, sdk.Reject("handle", "is of another file")
	}
	r.Call.ExternalName = handle.File
	return prepared(path(ctx, r.Call))
}

func (__KIND__) Update(ctx context.Context, r *sdk.UpdateRequest[parameters, status]) (*outcome, error) {
	_, err := write(ctx, r.Call, os.O_TRUNC, r.Parameters, 0)
	return r.Completed(), err
}

func (__KIND__) Delete(ctx context.Context, r *sdk.DeleteRequest[parameters, status]) (*outcome, error) {
	path, err := path(ctx, r.Call)
	if err != nil {
		return nil, err
	}
	err = syscall.Unlink(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r.AlreadyDone(), nil
	}
	return r.Completed(), err
}

func path(ctx context.Context, call sdk.Call) (string, error) {
	folder, err := folder(call.Config)
	// EnsureTime stands before what counts: nothing is begun after the deadline.
	return filepath.Join(folder, call.ExternalName), errors.Join(err, sdk.EnsureTime(ctx))
}

func write(ctx context.Context, call sdk.Call, flags int, desired parameters, left time.Duration) (string, error) {
	path, err := path(ctx, call)
	if err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(desired.Content)
	readyAt := time.Now().Add(left)
	return path, errors.Join(err, file.Close(), os.Chtimes(path, readyAt, readyAt))
}

func read(path string, err error) (*sdk.Observation[parameters, status], error) {
	if err != nil {
		return nil, err
	}
	entry, gone := os.Stat(path)
	text, err := os.ReadFile(path)
	if err = errors.Join(gone, err); err != nil {
		return nil, err
	}
	found := sdk.Observation[parameters, status]{ExternalName: entry.Name(), Parameters: parameters{string(text)}, Ready: true}
	found.Status = &status{int64(len(text))}
	if left := time.Until(entry.ModTime()); left > 0 {
		found.Ready, found.ReadyMessage, found.ObserveAfter = false, "it is being prepared", left
	}
	return &found, nil
}

func prepared(path string, err error) (*outcome, error) {
	found, err := read(path, err)
	if err != nil || found.Ready {
		return sdk.CompletedWith(found), err
	}
	handle, err := sdk.EncodeHandle(1, preparation{found.ExternalName})
	going := sdk.UnderWay[parameters, status](sdk.Operation{Handle: handle, Verb: sdk.VerbCreate, PollAfter: found.ObserveAfter, Phase: "Preparing"})
	going.ExternalName = found.ExternalName
	return going, err
}
