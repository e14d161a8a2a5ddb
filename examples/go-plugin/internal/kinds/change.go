package kinds

import (
	"context"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
	"example.org/press/internal/press"
)

// marked finds the name of the record that this object owns; empty: none.
func marked[T any](press *press.Press, c *call.Call, kind string, markerOf func(*T) string) (string, error) {
	names, err := press.Names(kind)
	for _, name := range names {
		record := new(T)
		exists, err := press.Read(kind, name, record)
		if err != nil {
			return "", err
		}
		if exists && c.Owns(markerOf(record)) {
			return name, nil
		}
	}
	return "", err
}

// change works alone on what there is under the call's name; nil: nothing.
func change[T any](
	ctx context.Context, c *call.Call, kind string, work func(press *press.Press, before *T) (*pb.Outcome, error),
) (*pb.Outcome, error) {
	press, err := press.Open(c.Target.GetConfig())
	if err != nil {
		return nil, err
	}
	var outcome *pb.Outcome
	err = press.Change(ctx, func() error {
		before := new(T)
		exists, err := press.Read(kind, c.Name(), before)
		if err != nil {
			return err
		}
		if !exists {
			before = nil
		}
		outcome, err = work(press, before)
		return err
	})
	return outcome, err
}
