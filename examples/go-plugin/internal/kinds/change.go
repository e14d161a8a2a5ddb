package kinds

import (
	"context"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
	"example.org/press/internal/press"
)

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
