package crossbridge_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	crossbridge "crossbridge.dev/sdk/go"
)

// serving serves the smallest plugin; how it ends.
func serving(ctx context.Context, endpoint string) <-chan error {
	plugin := ofKind(func(*crossbridge.Kind) {})
	plugin.Logger = slog.New(slog.DiscardHandler)
	ended := make(chan error, 1)
	go func() { ended <- plugin.ServeAt(ctx, endpoint) }()
	return ended
}

// folderFor is short enough for a socket, wherever the tests run.
func folderFor(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "cb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

func dial(t *testing.T, network, address string, security credentials.TransportCredentials) healthpb.HealthClient {
	t.Helper()
	client, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(security),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return healthpb.NewHealthClient(client)
}

func TestAnOpenStreamDoesNotHoldUpTheEnd(t *testing.T) {
	within, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	running, stop := context.WithCancel(within)
	defer stop()
	// As it is written, whatever is in it.
	socket := filepath.Join(folderFor(t), "a b%zz.sock")
	ended := serving(running, "unix://"+socket)
	client := dial(t, "unix", socket, insecure.NewCredentials())
	watch, err := client.Watch(within, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range []healthpb.HealthCheckResponse_ServingStatus{
		healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING,
	} {
		if said, err := watch.Recv(); err != nil || said.GetStatus() != expected {
			t.Fatalf("%v, %v, and not %v", said, err, expected)
		}
		stop()
	}
	if err := <-ended; err != nil || within.Err() != nil {
		t.Error(err, within.Err())
	}
	if left, _ := os.ReadDir(filepath.Dir(socket)); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestASocketIsPrivateAndNeitherOneInUseNorAFileIsReplaced(t *testing.T) {
	running, stop := context.WithCancel(t.Context())
	defer stop()
	socket := filepath.Join(folderFor(t), "s")
	// What a process of the same id, in another container that shares the folder, is binding.
	other := func(number int) string {
		return filepath.Join(filepath.Dir(socket), fmt.Sprintf(".%d-%d", os.Getpid(), number))
	}
	for number := range 50 {
		if err := os.WriteFile(other(number), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for number := range 50 {
			if _, err := os.Stat(other(number)); err != nil {
				t.Error(err)
			}
		}
	}()
	// One that was left behind.
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	ended := serving(running, "unix://"+socket)
	client := dial(t, "unix", socket, insecure.NewCredentials())
	check := func() {
		t.Helper()
		if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if info, err := os.Lstat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := <-serving(t.Context(), "unix://"+socket); err == nil || !strings.Contains(err.Error(), "another process serves there") {
		t.Error(err)
	}
	check()
	file := filepath.Join(filepath.Dir(socket), "f")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-serving(t.Context(), "unix://"+file); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Error(err)
	}
	// Another process has taken the place: its file is left.
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(socket, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(socket); errors.Is(err, fs.ErrNotExist) {
		t.Error("another's file was removed")
	}
}

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func issue(t *testing.T, template *x509.Certificate, by *authority) (*authority, []byte, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{certificate, key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

func newAuthority(t *testing.T) (*authority, []byte) {
	t.Helper()
	made, certificate, _ := issue(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
	return made, certificate
}

func (a *authority) issue(t *testing.T, serial int64) ([]byte, []byte) {
	t.Helper()
	_, certificate, key := issue(t, &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "one"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: []string{"*.org", "*.example.net"}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a)
	return certificate, key
}

func TestAClientBearsTheNameThatIsSet(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, text []byte) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority, authorityText := newAuthority(t)
	certificate, key := authority.issue(t, 2)
	t.Setenv("PROVIDER_PLUGIN_TLS_CERT", write("cert", certificate))
	t.Setenv("PROVIDER_PLUGIN_TLS_KEY", write("key", key))
	t.Setenv("PROVIDER_PLUGIN_TLS_CA", write("ca", authorityText))
	for name, served := range map[string]bool{"": true, "127.0.0.1": true, "bridge.example.net": true, "bridge.example.org": false, "example.org": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PROVIDER_PLUGIN_TLS_CLIENT_NAME", name)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := listener.Addr().String()
			listener.Close()
			running, stop := context.WithCancel(t.Context())
			ended := serving(running, "https://"+address)
			within, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for within.Err() == nil {
				if probe, err := net.Dial("tcp", address); err == nil {
					probe.Close()
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			pair, err := tls.X509KeyPair(authority.issue(t, 9))
			if err != nil {
				t.Fatal(err)
			}
			config := &tls.Config{
				RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
			}
			config.RootCAs.AppendCertsFromPEM(authorityText)
			_, err = dial(t, "tcp", address, credentials.NewTLS(config)).Check(within, &healthpb.HealthCheckRequest{})
			if (err == nil) != served {
				t.Errorf("a client with a certificate of 127.0.0.1: %v", err)
			}
			stop()
			<-ended
		})
	}
}

func TestCertificatesAreReadAnewAndTheLastOnesCountWhileTheyCannotBe(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, text []byte) string {
		t.Helper()
		path := filepath.Join(folder, name)
		// In one step, as a mounted Secret changes.
		if err := errors.Join(os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	former, formerText := newAuthority(t)
	renewed, renewedText := newAuthority(t)
	certificate, key := former.issue(t, 2)
	t.Setenv("PROVIDER_PLUGIN_TLS_CERT", write("cert", certificate))
	t.Setenv("PROVIDER_PLUGIN_TLS_KEY", write("key", key))
	t.Setenv("PROVIDER_PLUGIN_TLS_CA", write("ca", formerText))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	running, stop := context.WithCancel(t.Context())
	ended := serving(running, "https://"+address)

	// Each by a connection of its own.
	asks := func(server []byte, client *authority, waits bool) error {
		t.Helper()
		within, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
		config.RootCAs.AppendCertsFromPEM(server)
		if client != nil {
			certificate, key := client.issue(t, 9)
			pair, err := tls.X509KeyPair(certificate, key)
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		_, err := dial(t, "tcp", address, credentials.NewTLS(config)).Check(within, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(waits))
		return err
	}
	if err := asks(formerText, former, true); err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*authority{"none": nil, "another authority's": renewed} {
		if asks(formerText, client, false) == nil {
			t.Errorf("a client with a certificate of %s is served", name)
		}
	}
	// Half of it is there: the former go on.
	write("cert", []byte("half"))
	if err := asks(formerText, former, false); err != nil {
		t.Errorf("while they cannot be read: %v", err)
	}
	certificate, key = renewed.issue(t, 3)
	write("cert", certificate)
	write("key", key)
	write("ca", renewedText)
	if err := asks(renewedText, renewed, false); err != nil {
		t.Errorf("after they were renewed: %v", err)
	}
	if asks(renewedText, former, false) == nil {
		t.Error("a client of the former authority is served")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
