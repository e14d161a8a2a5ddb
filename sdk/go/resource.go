package crossbridge

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
)

// Resource is one kind of external resource: P is the type of its parameters, S that of its status. Their JSON is the user's YAML; their schema becomes
// the CRD.
//
// A context is done at the call's deadline, or when the caller has gone: from then on nothing may be begun upstream. Nothing is kept between two calls that
// the next one cannot do without, as it may reach another replica. An error that is no [*Failure] goes through [Plugin.MapError].
//
// A kind whose operations outlast a call is a [Poller] too, one that can be listed a [Lister]. One that cannot do everything embeds [NoUpdate], [NoDelete]
// or [ObserveOnly].
type Resource[P, S any] interface {
	// Observe reads the resource, and changes nothing. A read that failed is an error, never absence.
	Observe(ctx context.Context, request *ObserveRequest[P, S]) (*Observed[P, S], error)
	// Create creates it, or returns an operation that will. It never takes over what exists. Record the name as soon as the upstream has given it.
	Create(ctx context.Context, request *CreateRequest[P, S]) (*Outcome[P, S], error)
	// Update changes it in place. It never creates one: absent is [NotFound].
	Update(ctx context.Context, request *UpdateRequest[P, S]) (*Outcome[P, S], error)
	// Delete removes it. Absent already is AlreadyDone.
	Delete(ctx context.Context, request *DeleteRequest[P, S]) (*Outcome[P, S], error)
}

// Poller is a [Resource] that returns operations.
type Poller[P, S any] interface {
	// Poll asks where an operation has got to.
	Poll(ctx context.Context, request *PollRequest[P, S]) (*Outcome[P, S], error)
}

// Lister is a [Resource] that can list what exists. It is advertised by itself.
type Lister[P any] interface {
	// List is one page of what exists.
	List(ctx context.Context, request *ListRequest) (*Listed[P], error)
}

type (
	cannotCreate interface{ crossbridgeCannotCreate() }
	cannotUpdate interface{ crossbridgeCannotUpdate() }
	cannotDelete interface{ crossbridgeCannotDelete() }
)

// NoUpdate is embedded by a kind of which any change needs a replacement.
type NoUpdate[P, S any] struct{}

func (NoUpdate[P, S]) crossbridgeCannotUpdate() {}

// Update is never called.
func (NoUpdate[P, S]) Update(context.Context, *UpdateRequest[P, S]) (*Outcome[P, S], error) {
	return nil, errUnserved
}

// NoDelete is embedded by a kind whose resources stay when their objects are removed.
type NoDelete[P, S any] struct{}

func (NoDelete[P, S]) crossbridgeCannotDelete() {}

// Delete is never called.
func (NoDelete[P, S]) Delete(context.Context, *DeleteRequest[P, S]) (*Outcome[P, S], error) {
	return nil, errUnserved
}

// ObserveOnly is embedded by a kind that is never created, updated or deleted.
type ObserveOnly[P, S any] struct {
	NoUpdate[P, S]
	NoDelete[P, S]
}

func (ObserveOnly[P, S]) crossbridgeCannotCreate() {}

// Create is never called.
func (ObserveOnly[P, S]) Create(context.Context, *CreateRequest[P, S]) (*Outcome[P, S], error) {
	return nil, errUnserved
}

// Served is a kind with the code that serves it: an item of [Plugin.Kinds].
type Served struct {
	name string
	// The type of its code, and the line that serves it: for the log, and for messages to its author.
	source string
	build  func(*Plugin) (servedKind, error)
}

// Serve joins a kind with its code; the types of parameters and status are those of its methods. A mistake in the declarations surfaces when the plugin
// starts.
func Serve[P, S any](kind Kind, resource Resource[P, S]) Served {
	source := fmt.Sprintf("%T", resource)
	if _, file, line, known := runtime.Caller(1); known {
		source += fmt.Sprintf(" at %s:%d", file, line)
	}
	return Served{kind.Kind, source, func(plugin *Plugin) (servedKind, error) { return newServed(plugin, kind, resource) }}
}

// optional finds a method that is optional; one of that name and another form is a mistake.
func optional[I any](resource any, method string) (I, bool, error) {
	found, is := resource.(I)
	if _, has := reflect.TypeOf(resource).MethodByName(method); has && !is {
		return found, false, fmt.Errorf("its method %s is not that of %s", method, reflect.TypeFor[I]().Name())
	}
	return found, is, nil
}
