package modbus

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
)

// authority signs certificates for one test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = nil, nil
	a.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue writes NAME.pem and NAME.key.
func (a *authority) issue(name string, template *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.n++
	template.SerialNumber, template.Subject = big.NewInt(a.n), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "EC PRIVATE KEY", keyDER)
	if a.cert == nil {
		a.key = key
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
	}
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// secured puts TLS with client certificates in front of a fault server.
func (a *authority) secured(behind string, versions ...uint16) string {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.file("server.pem"), a.file("server.key"))
	if err != nil {
		a.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS10}
	if len(versions) > 0 {
		config.MaxVersion = versions[0]
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		a.t.Fatal(err)
	}
	var all sync.WaitGroup
	a.t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { relay(c, behind) })
		}
	})
	return l.Addr().String()
}

func relay(c net.Conn, to string) {
	defer c.Close()
	back, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		_, _ = io.Copy(c, back)
		c.Close()
	})
	_, _ = io.Copy(back, c)
	back.Close()
}

func TestASecuredLink(t *testing.T) {
	a := newAuthority(t)
	a.issue("server", &x509.Certificate{DNSNames: []string{"plc.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	a.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	s := serve(t, faultserver.Options{Memory: bank()})
	addr := a.secured(s.Addr())
	full := "endpoint: \"" + addr + "\", server_name: plc.example, ca_file: " + a.file("ca.pem") + ", cert_file: " + a.file("client.pem") + ", key_file: " + a.file("client.key")
	c := openLink(t, "modbus_tls", "{"+full+"}", "{unit_id: 1}")
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
	if _, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(5)); err != nil {
		t.Error(err)
	}
	s.Hangup(false)
	wantValue(t, patiently(t, c, at(t, reg1)), "5")
	for _, bad := range []struct{ options, problem string }{
		{strings.Replace(full, "server_name: plc.example, ", "", 1), "certificate"},
		{strings.Replace(full, "plc.example", "other.example", 1), "plc.example"},
		{strings.Replace(full, "ca.pem", "client.key", 1), "no certificate in PEM form"},
		{strings.Replace(full, "ca.pem", "missing.pem", 1), "missing.pem"},
		{strings.Replace(full, "client.key", "server.key", 1), "client.pem"},
	} {
		c := openLink(t, "modbus_tls", "{"+bad.options+"}", "{unit_id: 1}")
		if e := wantKind(t, read(t, c, at(t, reg1))[0].Err, hal.Unreachable); e.MaySent || !strings.Contains(e.Error(), bad.problem) {
			t.Errorf("%s: %v", bad.problem, e)
		}
	}
	without, _, _ := strings.Cut(full, ", cert_file")
	c = openLink(t, "modbus_tls", "{"+without+", timeout: 2s}", "{unit_id: 1}")
	if got := read(t, c, at(t, reg1))[0]; hal.AsError(got.Err) == nil {
		t.Errorf("read without a client certificate: %+v", got)
	}
	old := openLink(t, "modbus_tls", "{"+strings.Replace(full, addr, a.secured(s.Addr(), tls.VersionTLS11), 1)+"}", "{unit_id: 1}")
	wantKind(t, read(t, old, at(t, reg1))[0].Err, hal.Unreachable)
}

func TestLinkOptionsOfASecuredLink(t *testing.T) {
	for _, c := range []struct{ options, problem string }{
		{"{endpoint: plc}", ""},
		{"{endpoint: plc, cert_file: /a.pem}", "both cert_file and key_file"},
		{"{endpoint: plc, ca_file: a.pem}", "absolute path"},
		{"{}", `"endpoint" is missing`},
	} {
		ps := New().CheckLink(hal.LinkSpec{ID: "L", Transport: "modbus_tls", Options: node(t, c.options)})
		if c.problem == "" && len(ps) > 0 || c.problem != "" && (ps.Err() == nil || !strings.Contains(ps.Error(), c.problem)) {
			t.Errorf("%s: %v", c.options, ps)
		}
	}
	s, _ := parseLink(hal.LinkSpec{Transport: "modbus_tls", Options: node(t, "{endpoint: plc}")})
	if s.endpoint != "plc:802" {
		t.Errorf("endpoint %s", s.endpoint)
	}
}
