package crossbridge

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/credentials"
)

const (
	certificateVariable = "PROVIDER_PLUGIN_TLS_CERT"
	keyVariable         = "PROVIDER_PLUGIN_TLS_KEY"
	authorityVariable   = "PROVIDER_PLUGIN_TLS_CA"
	clientNameVariable  = "PROVIDER_PLUGIN_TLS_CLIENT_NAME"
)

// certificates are read anew for a new connection once their files have changed. While they cannot be read, those that were read last count.
type certificates struct {
	sync.Mutex
	log   *slog.Logger
	files [3]fs.FileInfo
	last  *tls.Config
}

func mutualTLS(log *slog.Logger) (credentials.TransportCredentials, error) {
	all := &certificates{log: log}
	if err := all.read(); err != nil {
		return nil, err
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return all.current(), nil },
	}), nil
}

func (c *certificates) current() *tls.Config {
	c.Lock()
	defer c.Unlock()
	if c.changed() {
		if err := c.read(); err != nil {
			c.log.Warn("cannot read the certificates anew: those that were read last go on", "error", err)
		} else {
			c.log.Info("read the certificates anew")
		}
	}
	return c.last
}

func paths() [3]string {
	return [3]string{os.Getenv(certificateVariable), os.Getenv(keyVariable), os.Getenv(authorityVariable)}
}

func (c *certificates) changed() bool {
	for i, path := range paths() {
		info, err := os.Stat(path)
		// A link that leads elsewhere is another file.
		if err != nil || !os.SameFile(info, c.files[i]) || !info.ModTime().Equal(c.files[i].ModTime()) || info.Size() != c.files[i].Size() {
			return true
		}
	}
	return false
}

func (c *certificates) read() error {
	var files [3]fs.FileInfo
	var texts [3][]byte
	for i, variable := range []string{certificateVariable, keyVariable, authorityVariable} {
		path := os.Getenv(variable)
		if path == "" {
			return fmt.Errorf("an https endpoint needs mutual TLS: set %s to a PEM file", variable)
		}
		var err error
		// Looked at before it is read: what changes meanwhile is read again.
		if files[i], err = os.Stat(path); err == nil {
			texts[i], err = os.ReadFile(path)
		}
		if err != nil {
			return fmt.Errorf("cannot read the file that %s names: %w", variable, err)
		}
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return fmt.Errorf("the files that %s and %s name do not fit: %w", certificateVariable, keyVariable, err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(texts[2]) {
		return errors.New("the file that " + authorityVariable + " names has no certificate")
	}
	name := os.Getenv(clientNameVariable)
	c.files = files
	c.last = &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		VerifyConnection: func(state tls.ConnectionState) error {
			if name == "" {
				return nil
			}
			// Of a verified chain, whose first certificate is the client's.
			return withoutTopLevelWildcards(state.PeerCertificates[0]).VerifyHostname(name)
		},
	}
	return nil
}

// withoutTopLevelWildcards leaves out wildcards for all names of a top-level domain, which the other SDKs do not take either.
func withoutTopLevelWildcards(certificate *x509.Certificate) *x509.Certificate {
	narrowed := *certificate
	narrowed.DNSNames = slices.DeleteFunc(slices.Clone(certificate.DNSNames), func(name string) bool {
		return strings.HasPrefix(name, "*.") && strings.Count(name, ".") < 2
	})
	return &narrowed
}
