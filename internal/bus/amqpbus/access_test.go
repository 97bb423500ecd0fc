package amqpbus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// A permanent refusal of the broker is returned at once, without waiting.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	s := rabbittest.Shared(t)
	b := newBus(t, s.User(t, s.VHost(t), `{"configure":"^$","write":".*","read":".*"}`))
	b.Timeout = time.Hour // no call waits for it
	for _, at := range []bus.Address{bus.Queue("q"), bus.Topic("t")} {
		if err := b.Publish(t.Context(), at, envelope("1")); !errors.Is(err, bus.ErrUnavailable) || !strings.Contains(err.Error(), "ACCESS_REFUSED") {
			t.Errorf("Publish(%s) = %v, want ErrUnavailable and the reason", at, err)
		}
		n := 0
		for _, err := range b.Receive(t.Context(), bus.Subscription{At: at}) {
			if n++; err == nil || !strings.Contains(err.Error(), "ACCESS_REFUSED") {
				t.Errorf("Receive(%s) = %v, want the reason", at, err)
			}
		}
		if n != 1 {
			t.Errorf("Receive(%s) yields %d errors, want one", at, n)
		}
	}
}

// startTLS makes address reachable over TLS, and returns the address and the certificate of the
// proxy.
func startTLS(t *testing.T, address string) (secure string, roots *x509.CertPool) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(leaf)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var owned sync.WaitGroup
	broker := u.Host
	owned.Go(func() { relay(l, broker, &owned) })
	t.Cleanup(func() { l.Close(); owned.Wait() })
	u.Scheme, u.Host = "amqps", l.Addr().String()
	return u.String(), roots
}

// relay forwards connections, until l is closed and they have ended.
func relay(l net.Listener, to string, owned *sync.WaitGroup) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			in.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			owned.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
			})
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	address, roots := startTLS(t, rabbittest.Shared(t).VHost(t))
	untrusting := &amqpbus.Bus{URL: address, Timeout: 5 * time.Second}
	err := untrusting.Publish(t.Context(), bus.Queue("q"), envelope("1"))
	for errors.Is(err, bus.ErrUnavailable) && !strings.Contains(err.Error(), "certificate") && untrusting.Timeout < time.Minute {
		untrusting.Timeout *= 2 // a busy machine may not have connected
		err = untrusting.Publish(t.Context(), bus.Queue("q"), envelope("1"))
	}
	if !errors.Is(err, bus.ErrUnavailable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("Publish to a broker with an unknown certificate = %v", err)
	}
	untrusting.Close()
	b := &amqpbus.Bus{URL: address, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}
	mustPublish(t, b, bus.Queue("q"), "1")
	wantIDs(t, receive(t, b, bus.Queue("q"), 1, ack), "1#1")
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
