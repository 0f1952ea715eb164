package modbus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"

	"capd/internal/document"
)

// tlsFiles are what a secured link needs besides its endpoint (MODBUS/TCP Security Protocol Specification, MB-TCP-Security-v36: port
// 802, TLS 1.2 at least, certificates on both sides).
type tlsFiles struct {
	serverName string // as in the server's certificate; "" for the endpoint's host
	ca         string // PEM; "" for the system's authorities
	cert, key  string // PEM; "" when the server asks for no certificate
}

// readTLS reads endpoint (port 802 by default), server_name, ca_file, cert_file and key_file besides the options of TCP.
func readTLS(m *document.Map, ps *document.Problems, s *linkSettings) {
	readEndpoint(m, ps, s, "802")
	s.tls = tlsFiles{
		serverName: m.String("server_name"),
		ca:         path(m, "ca_file"), cert: path(m, "cert_file"), key: path(m, "key_file"),
	}
	if (s.tls.cert == "") != (s.tls.key == "") {
		m.Problem("cert_file", "a client certificate needs both cert_file and key_file")
	}
}

func path(m *document.Map, key string) string {
	p := m.String(key)
	if p != "" && !strings.HasPrefix(p, "/") {
		m.Report(key, document.RuleValue, "write the whole path, such as /etc/capd/tls/client.pem", "%s %q is no absolute path", key, p)
	}
	return p
}

func openTLS(s linkSettings, c *channel) {
	plain := dialTCP(s)
	c.framing = &mbap{}
	c.dial = func(ctx context.Context) (stream, error) {
		config, err := s.tls.config(s.endpoint)
		if err != nil {
			return nil, err
		}
		under, err := plain(ctx)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, s.connectTimeout)
		defer cancel()
		secured := tls.Client(under.(net.Conn), config)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = under.Close() // nothing was sent on it
			return nil, fmt.Errorf("TLS with %s: %w", s.endpoint, err)
		}
		return secured, nil
	}
}

// config reads the files anew for every connection, so that renewed certificates need no restart.
func (f tlsFiles) config(endpoint string) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if f.serverName != "" {
		c.ServerName = f.serverName
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM form", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s: %w", f.cert, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
