package crossbridge

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"syscall"
)

// failureOf is the one place in which an error becomes what the bridge gets: a failure of the plugin's own, a rejection, what the plugin's own mapping
// says, the errors of Go's library that mean a time that ran out or a connection that failed, and else a bug.
func (p *Plugin) failureOf(err error) (*Failure, *rejection) {
	var failure *Failure
	if errors.As(err, &failure) && failure != nil {
		return failure, nil
	}
	var rejected *rejection
	if errors.As(err, &rejected) {
		return nil, rejected
	}
	if failure := p.mapped(err); failure != nil {
		return failure, nil
	}
	var network net.Error
	var operation *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Timeout("no answer in time: %v", err), nil
	case errors.As(err, &operation), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return Unavailable("the connection failed: %v", err), nil
	}
	return Internal("the plugin met an error that it does not map: %v", err), nil
}

// mapped is what the author's mapping says; one that panics says nothing.
func (p *Plugin) mapped(err error) (failure *Failure) {
	if p.MapError == nil {
		return nil
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			p.logger().Error("MapError panicked", "with", panicType(panicked), "stack", string(debug.Stack()))
			failure = nil
		}
	}()
	return p.MapError(err)
}
