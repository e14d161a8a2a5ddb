// Package serve is where and how a plugin is served: socket, health, reflection, the end.
package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	pb "example.org/press/internal/contract"
	"example.org/press/internal/service"
)

// Serve serves until the context ends and the calls that ran then have ended.
func Serve(ctx context.Context, endpoint string, plugin service.Plugin) error {
	listener, security, err := listen(endpoint)
	if err != nil {
		return fmt.Errorf("cannot serve at %s: %w", endpoint, err)
	}
	calls := &running{}
	server := grpc.NewServer(append(security, grpc.ChainUnaryInterceptor(calls.count, service.Guard))...)
	pb.RegisterPluginServiceServer(server, plugin)
	pb.RegisterResourceServiceServer(server, service.Resources{Served: plugin.Served})
	status := health.NewServer()
	for name := range server.GetServiceInfo() {
		status.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	healthpb.RegisterHealthServer(server, status)
	reflection.Register(server)

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	slog.Info("serving", "endpoint", endpoint)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	slog.Info("stopping: running calls may end, no new ones begin")
	status.Shutdown()
	drain(server, calls)
	slog.Info("stopped")
	return nil
}

func listen(endpoint string) (net.Listener, []grpc.ServerOption, error) {
	// A path is taken as it is written: nothing in it is escaped.
	if path, isUnix := strings.CutPrefix(endpoint, "unix://"); isUnix && strings.HasPrefix(path, "/") {
		listener, err := listenUnix(path)
		return listener, nil, err
	}
	at, err := url.Parse(endpoint)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case at.Scheme == "http" && isLoopback(at.Hostname()):
		listener, err := net.Listen("tcp", at.Host)
		return listener, nil, err
	case at.Scheme == "https":
		security, err := mutualTLS()
		if err != nil {
			return nil, nil, err
		}
		listener, err := net.Listen("tcp", at.Host)
		return listener, []grpc.ServerOption{grpc.Creds(security)}, err
	}
	return nil, nil, errors.New("write unix:///path, https://host:port, or http://127.0.0.1:port on loopback")
}

// listenUnix creates a socket that only its owner can reach. A stale one of a process that has ended is replaced.
func listenUnix(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, errors.New("there is a file that is no socket; remove it, or name another path")
	default:
		probe, err := net.Dial("unix", path)
		if err == nil {
			probe.Close()
			return nil, errors.New("another process serves there; stop it, or name another path")
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("cannot find out whether another process serves there: %w", err)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	defer syscall.Umask(syscall.Umask(0o177))
	return net.Listen("unix", path)
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

func mutualTLS() (credentials.TransportCredentials, error) {
	pair, err := tls.LoadX509KeyPair(os.Getenv("PROVIDER_PLUGIN_TLS_CERT"), os.Getenv("PROVIDER_PLUGIN_TLS_KEY"))
	if err != nil {
		return nil, fmt.Errorf("set PROVIDER_PLUGIN_TLS_CERT and PROVIDER_PLUGIN_TLS_KEY to PEM files: %w", err)
	}
	authority, err := os.ReadFile(os.Getenv("PROVIDER_PLUGIN_TLS_CA"))
	if err != nil {
		return nil, fmt.Errorf("set PROVIDER_PLUGIN_TLS_CA to a PEM file: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return nil, errors.New("PROVIDER_PLUGIN_TLS_CA names no certificate")
	}
	return credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		MinVersion:   tls.VersionTLS12,
	}), nil
}
