// Command __NAME__-plugin serves __KIND__: text files in a folder as Kubernetes objects. Put your cloud in the place of the folder.
package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	sdk "crossbridge.dev/sdk/go"
)

type settings struct {
	Folder string `json:"folder" doc:"Where the files are. It must exist."`
}

type parameters struct {
	Content string `json:"content" doc:"What stands in the file."`
}

type status struct {
	Bytes int64 `json:"bytes"`
}

type __KIND__ struct{}

var kind = sdk.Kind{
	Group: "__NAME__.example.org", Version: "v1alpha1", Kind: "__KIND__", Description: "A text file in a folder.",
	Names:    sdk.ExternalName{Source: sdk.ByUser, Example: "notes.txt", Pattern: "[a-z0-9][a-z0-9.-]*"},
	Recovery: []sdk.Recovery{sdk.RecoverByName}, VisibleWhenAccepted: true,
	Examples: []sdk.Example{{Name: "notes", ExternalName: "notes.txt", Create: parameters{"Buy milk."}, Update: parameters{"Buy tea."}}},
}

func (__KIND__) Observe(ctx context.Context, r *sdk.ObserveRequest[parameters, status]) (*sdk.Observed[parameters, status], error) {
	path, err := path(ctx, r.Call)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r.Absent(), nil
	}
	found := sdk.Observation[parameters, status]{Parameters: parameters{string(text)}, Status: &status{int64(len(text))}, Ready: true}
	return r.Found(&found), err
}

func (__KIND__) Create(ctx context.Context, r *sdk.CreateRequest[parameters, status]) (*sdk.Outcome[parameters, status], error) {
	return r.Completed(), write(ctx, r.Call, os.O_CREATE|os.O_EXCL, r.Parameters)
}

func (__KIND__) Update(ctx context.Context, r *sdk.UpdateRequest[parameters, status]) (*sdk.Outcome[parameters, status], error) {
	return r.Completed(), write(ctx, r.Call, os.O_TRUNC, r.Parameters)
}

func (__KIND__) Delete(ctx context.Context, r *sdk.DeleteRequest[parameters, status]) (*sdk.Outcome[parameters, status], error) {
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

func write(ctx context.Context, call sdk.Call, flags int, desired parameters) error {
	path, err := path(ctx, call)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(desired.Content)
	return errors.Join(err, file.Close())
}
