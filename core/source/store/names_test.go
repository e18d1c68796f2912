package store

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// transport is the client's own, for seams.
func (c *Client) transport() *http.Transport { return c.http.Transport.(*http.Transport) }

// Answers of a name service, beside an address.
const (
	addressed = 0
	failing   = 2 // SERVFAIL
	unknown   = 3 // NXDOMAIN
	silent    = 99
)

// names is a name service of ours: what it says at its n-th question for an address (from 0), and of every later one the last.
// It makes c ask it alone, and wait so long for its answer.
func names(t *testing.T, c *Client, wait time.Duration, answers ...byte) (asked *atomic.Int64) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for p := make([]byte, 1500); ; {
			n, peer, err := conn.ReadFrom(p)
			if err != nil {
				return
			}
			kind := answers[min(asked.Load(), int64(len(answers)-1))]
			reply, address := answer(p[:n], kind)
			if address {
				asked.Add(1)
			}
			if kind != silent {
				_, _ = conn.WriteTo(reply, peer) // who asked may have gone
			}
		}
	}()
	over := make(chan struct{}) // a resolver goes on waiting when nobody waits for it any more
	t.Cleanup(func() { close(over); _ = conn.Close(); <-done })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		question, err := (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
		go func() {
			<-over
			if err == nil {
				_ = question.Close()
			}
		}()
		return question, err
	}
	c.transport().Proxy = nil
	c.transport().DialContext = (&net.Dialer{Timeout: wait, Resolver: &net.Resolver{PreferGo: true, Dial: dial}}).DialContext
	return asked
}

// answer replies to a question of RFC 1035: 127.0.0.1 to one for an IPv4 address, nothing of other kinds, or kind as the error.
func answer(q []byte, kind byte) (reply []byte, address bool) {
	end := 12
	for q[end] != 0 {
		end += int(q[end]) + 1
	}
	end += 5 // the root, type and class
	address = binary.BigEndian.Uint16(q[end-4:]) == 1
	reply = bytes.Clone(q[:end])
	copy(reply[2:12], []byte{0x81, 0x80 | kind, 0, 1, 0, 0, 0, 0, 0, 0})
	if address && kind == addressed {
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
	}
	return reply, address
}

// named is the server's URL under a name that only our service knows. The dot at its end keeps the machine's search list out.
func (s *server) named() *Object {
	o := s.object()
	o.URL = strings.Replace(o.URL, "127.0.0.1", "store.test.", 1)
	return o
}

// A name that does not resolve is asked for again: it is read where that passes, and an error with the name where it lasts.
func TestNamesThatDoNotResolveAreAskedForAgain(t *testing.T) {
	for what, flap := range map[string][]byte{"unknown at first": {unknown, addressed}, "a name service that fails at first": {failing, failing, failing, failing, addressed}} {
		s := serve(t, nil)
		c := client(t, Options{HedgeAfter: -1})
		names(t, c, time.Minute, flap...)
		p := make([]byte, 1000)
		if err := c.ReadAt(background, s.named(), p, 100); err != nil || !bytes.Equal(p, content[100:1100]) {
			t.Errorf("%s: %v", what, err)
		}
		if n := c.Stats(); n.Retries == 0 || n.Failures != 0 {
			t.Errorf("%s: %+v", what, n)
		}
	}
	s := serve(t, nil)
	c := client(t, Options{Retries: 2, HedgeAfter: -1})
	asked := names(t, c, time.Minute, unknown)
	e := wantCause(t, c.ReadAt(background, s.named(), make([]byte, 9), 0), IO, "no such host (after 3 attempts)")
	if !strings.Contains(e.Error(), "lookup store.test.") || asked.Load() < 3 || s.requests() != 0 || c.Stats().Failures != 1 {
		t.Errorf("%v, asked %d times, %d requests, %+v", e, asked.Load(), s.requests(), c.Stats())
	}
}

// A name service that is silent is what the error names, not the store.
func TestSilentNameServiceIsNamed(t *testing.T) {
	s := serve(t, nil)
	c := client(t, Options{Retries: 1, HedgeAfter: -1})
	names(t, c, 50*time.Millisecond, silent)
	wantCause(t, c.ReadAt(background, s.named(), make([]byte, 9), 0), IO, `the name service says nothing about "store.test." (after 2 attempts)`)
	if s.requests() != 0 {
		t.Errorf("%d requests", s.requests())
	}
}

// authority signs certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, cert}
}

// issue makes a server's certificate, valid from so long after now.
func (a *authority) issue(t *testing.T, name string, from time.Duration) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(from + time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A server that answers a handshake with a page is named at the first attempt.
func TestServerWithoutTLSIsRefusedAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1<<10))
			_, _ = io.WriteString(c, "<!DOCTYPE HTML><p>Bad request version</p>")
			_ = c.Close()
		}
	}()
	k := client(t, Options{HedgeAfter: -1})
	e := wantCause(t, k.ReadAt(background, &Object{URL: "https://" + l.Addr().String() + "/x", Size: 9}, make([]byte, 9), 0), IO, "the server does not speak TLS; write http, not https, ")
	if e.Attempts != 1 {
		t.Errorf("%d attempts, want 1", e.Attempts)
	}
	_ = l.Close()
	<-ended
}

// A store whose certificate is another name's, of another time or of nobody we know, or that has none, is refused at the
// first attempt and sent nothing; one whose certificate is right is read.
func TestWrongCertificatesAreRefusedAtOnce(t *testing.T) {
	ours, stranger := newAuthority(t), newAuthority(t)
	const here = "127.0.0.1"
	for _, c := range []struct {
		what        string
		certificate tls.Certificate
		want        string
	}{
		{"right", ours.issue(t, here, -time.Minute), ""},
		{"another name's", ours.issue(t, "store.example.com", -time.Minute), "127.0.0.1"},
		{"expired", ours.issue(t, here, -2*time.Hour), "certificate has expired or is not yet valid"},
		{"of the future", ours.issue(t, here, 2*time.Hour), "certificate has expired or is not yet valid"},
		{"of another authority", stranger.issue(t, here, -time.Minute), "the server's certificate is of nobody we know; $SSL_CERT_FILE may name whom to trust"},
		{"none", tls.Certificate{}, "the server speaks http, not https"},
	} {
		var sent atomic.Int64
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent.Add(1)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}))
		s.Config.ErrorLog = quiet
		if c.certificate.Certificate == nil {
			s.Start()
		} else {
			s.TLS = &tls.Config{Certificates: []tls.Certificate{c.certificate}}
			s.StartTLS()
		}
		k := client(t, Options{HedgeAfter: -1})
		k.transport().TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		k.transport().TLSClientConfig.RootCAs.AddCert(ours.cert)
		u, _ := url.Parse(s.URL)
		p := make([]byte, 10)
		err := k.ReadAt(background, &Object{URL: "https://" + u.Host + "/x", Size: int64(len(content))}, p, 0)
		k.Close()
		s.Close()
		if c.want == "" {
			if err != nil || !bytes.Equal(p, content[:10]) {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if e := wantCause(t, err, IO, c.want); e.Attempts != 1 || sent.Load() != 0 {
			t.Errorf("%s: %d attempts, %d requests answered", c.what, e.Attempts, sent.Load())
		}
	}
}
