package crossbridge

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"google.golang.org/grpc"
)

const endpointForms = "write unix:///path, http://127.0.0.1:port or https://host:port"

// listen binds an endpoint.
func listen(endpoint string, log *slog.Logger) (net.Listener, []grpc.ServerOption, error) {
	scheme, rest, hasScheme := strings.Cut(endpoint, "://")
	if !hasScheme {
		return nil, nil, errors.New(endpointForms)
	}
	address := strings.TrimSuffix(rest, "/")
	switch scheme {
	case "unix":
		// A path is taken as it is written: nothing in it is escaped.
		if !strings.HasPrefix(rest, "/") {
			return nil, nil, errors.New("a socket needs an absolute path: unix:///path")
		}
		listener, err := listenUnix(rest)
		if err != nil {
			return nil, nil, fmt.Errorf("the socket %s: %w", rest, err)
		}
		return listener, nil, nil
	case "http":
		if err := checkLoopback(address); err != nil {
			return nil, nil, err
		}
		listener, err := net.Listen("tcp", address)
		return listener, nil, err
	case "https":
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, nil, fmt.Errorf("%w; write https://host:port", err)
		}
		security, err := mutualTLS(log)
		if err != nil {
			return nil, nil, err
		}
		listener, err := net.Listen("tcp", address)
		return listener, []grpc.ServerOption{grpc.Creds(security)}, err
	}
	return nil, nil, fmt.Errorf("%s is none of unix, http, https: %s", scheme, endpointForms)
}

func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w; write http://host:port", err)
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return err
	}
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return errors.New("plaintext is served on loopback only, as calls carry credentials; use https, or a unix socket")
		}
	}
	return nil
}
