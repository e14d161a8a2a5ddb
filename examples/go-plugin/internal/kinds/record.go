// Package kinds holds what the press creates.
package kinds

import (
	"context"
	"strconv"

	crossbridge "crossbridge.dev/sdk/go"

	"example.org/press/internal/press"
)

// Group of all kinds.
const Group = "press.example.org"

// record is what every file of the press has.
type record[P any] struct {
	Parameters P `json:"parameters"`
	// Marker of the object that owns it.
	Marker  string `json:"marker"`
	Version int64  `json:"version"`
}

func (r *record[P]) marker() string { return r.Marker }

func (r *record[P]) etag() string { return strconv.FormatInt(r.Version, 10) }

// marked finds the name of the record that this object owns; empty: none.
func marked[T any](press *press.Press, call *crossbridge.Call, kind string, markerOf func(*T) string) (string, error) {
	names, err := press.Names(kind)
	for _, name := range names {
		read := new(T)
		exists, err := press.Read(kind, name, read)
		if err != nil {
			return "", err
		}
		if exists && call.Owns(markerOf(read)) {
			return name, nil
		}
	}
	return "", err
}

// change works alone on what there is under a name; nil: nothing.
func change[T, O any](
	ctx context.Context, config crossbridge.Config, kind, name string, work func(press *press.Press, before *T) (O, error),
) (outcome O, err error) {
	opened, err := press.Open(config)
	if err != nil {
		return outcome, err
	}
	err = opened.Change(ctx, func() error {
		before := new(T)
		exists, err := opened.Read(kind, name, before)
		if err != nil {
			return err
		}
		if !exists {
			before = nil
		}
		outcome, err = work(opened, before)
		return err
	})
	return outcome, err
}

func notFound(name string) error {
	return crossbridge.NotFound("There is no %s.", name).WithReason("NotThere")
}

func taken(name string) error {
	return crossbridge.AlreadyExists(name, "There is a %s already.", name).WithReason("NameTaken")
}
