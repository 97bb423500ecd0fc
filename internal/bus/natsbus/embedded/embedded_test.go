package embedded_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/suite/bustest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	bustest.Child(func(file string) (bus.Bus, error) {
		c, err := natsbus.ReadContact(file)
		if err != nil {
			return nil, err
		}
		return natsbus.Open(context.Background(), natsbus.Options{URL: c.URL, Token: c.Token})
	})
	testenv.Parallel(16) // tests wait for leases
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, o embedded.Options) *embedded.Server {
	t.Helper()
	began := time.Now()
	s, err := embedded.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %v", time.Since(began))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}

func open(t *testing.T, s *embedded.Server) bus.Bus {
	t.Helper()
	b, err := s.Open(t.Context(), natsbus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func connect(t *testing.T, url string, o ...nats.Option) *nats.Conn {
	t.Helper()
	return natstest.Connect(t, url, o...)
}

// TestSuite connects half of the buses within the process and half over the network.
func TestSuite(t *testing.T) {
	t.Parallel()
	f := bustest.Features{Dedupes: true, Leases: true}
	bustest.Run(t, f, func(t *testing.T) *bustest.Broker {
		folder := t.TempDir()
		s := start(t, embedded.Options{Folder: folder, Listen: "127.0.0.1:0"})
		c, n := s.Contact(), 0
		return &bustest.Broker{
			URL: filepath.Join(folder, natsbus.ContactFile),
			Open: func(t *testing.T) bus.Bus {
				if n++; n%2 == 0 {
					return open(t, s)
				}
				b, err := natsbus.Open(t.Context(), natsbus.Options{URL: c.URL, Token: c.Token})
				if err != nil {
					t.Fatal(err)
				}
				return b
			},
			Poison: func(t *testing.T, at bus.Address, data []byte) {
				nc := connect(t, c.URL, nats.Token(c.Token))
				if err := nc.Publish(natsbus.Subject(at), data); err != nil {
					t.Fatal(err)
				}
				if err := nc.Flush(); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

// TestHubCreatesTheStream: the stream is in memory, whichever client connects first.
func TestHubCreatesTheStream(t *testing.T) {
	t.Parallel()
	for range 5 {
		s := start(t, embedded.Options{Listen: "127.0.0.1:0"})
		b, err := natsbus.Open(t.Context(), natsbus.Options{URL: s.Contact().URL, Token: s.Contact().Token})
		if err != nil {
			t.Fatal(err)
		}
		if b.Durable() {
			t.Error("the stream is on disk")
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWithinTheProcessAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := start(t, embedded.Options{Folder: folder})
	if c := s.Contact(); c != (natsbus.Contact{}) {
		t.Errorf("Contact = %+v, want none", c)
	}
	if _, err := natsbus.ReadContact(filepath.Join(folder, natsbus.ContactFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadContact = %v, want that there is none", err)
	}
	b := open(t, s)
	if err := b.Publish(t.Context(), protocol.JobAt("echo"), letter("a")); err != nil {
		t.Error(err)
	}
	if k, ok := b.(bus.Durability); !ok || k.Durable() {
		t.Error("the bus reports durable queues")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func letter(id string) *bus.Envelope {
	return &bus.Envelope{ID: id, Type: "test", Source: "worker/test"}
}

func TestContactFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, natsbus.ContactFile)
	s := start(t, embedded.Options{Folder: folder, Listen: "127.0.0.1:0", Hub: "7c1e:key"})
	got, err := natsbus.ReadContact(file)
	if err != nil || got != s.Contact() || got.Token == "" || got.Hub != "7c1e:key" {
		t.Errorf("ReadContact = %+v, %v, want %+v", got, err, s.Contact())
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, %v, want 0600", file, info.Mode(), err)
	}
	other := start(t, embedded.Options{Folder: folder, Listen: "127.0.0.1:0"})
	if other.Contact().Token == got.Token {
		t.Error("two servers have the same token")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if now, err := natsbus.ReadContact(file); err != nil || now != other.Contact() {
		t.Errorf("after Close of the one that was overwritten: %+v, %v", now, err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if names, err := filepath.Glob(filepath.Join(folder, natsbus.ContactFile+"*")); len(names) > 0 || err != nil {
		t.Errorf("after Close: %q, %v", names, err)
	}
	for name, text := range map[string]string{"not JSON": "x", "empty": "{}"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := natsbus.ReadContact(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("ReadContact of a file that is %s = %v, want an error that names it", name, err)
		}
	}
}

func TestClientsWithoutATokenAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: keys})
	for _, o := range []natsbus.Options{
		{}, {Token: "wrong"}, {User: "hub", Password: "x"}, {User: "local", Password: s.Contact().Token + "x"}, {Token: "key-wild"},
	} {
		o.URL = s.Contact().URL
		if b, err := natsbus.Open(t.Context(), o); err == nil {
			_ = b.Close()
			t.Errorf("Open with token %q, user %q succeeds", o.Token, o.User)
		} else if strings.Contains(err.Error(), s.Contact().Token) {
			t.Errorf("the error %q has the token", err)
		}
	}
}

func keys(key, _ string) (embedded.Credential, bool) {
	switch key {
	case "key-echo":
		return embedded.Credential{Key: "k1", Agent: "echo"}, true
	case "key-wild":
		return embedded.Credential{Key: "k2", Agent: "*"}, true
	}
	return embedded.Credential{}, false
}

func TestOpenAddresses(t *testing.T) {
	t.Parallel()
	cert := certificate(t)
	for _, o := range []embedded.Options{
		{Listen: "0.0.0.0:0"},
		{Listen: ":0"},
		{Listen: "0.0.0.0:0", Agent: keys},
		{Listen: "0.0.0.0:0", TLS: &tls.Config{Certificates: []tls.Certificate{cert}}},
		{Listen: "0.0.0.0:0", TLS: &tls.Config{}, Agent: keys},
		{Listen: "example.com:0"},
		{Listen: "127.0.0.1"},
		{Listen: "127.0.0.1:x"},
		{Listen: "127.0.0.1:99999"},
	} {
		if s, err := embedded.Start(o); err == nil || !strings.Contains(err.Error(), o.Listen) {
			t.Errorf("Start listening at %q = %v, want an error that names it", o.Listen, err)
			if s != nil {
				_ = s.Close()
			}
		}
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = embedded.Start(embedded.Options{Listen: l.Addr().String()})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("Start = %v, want that %s is in use", err, l.Addr())
	}
}

// TestLogNamesItself: within the process there is no address to log.
func TestLogNamesItself(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{})
	log := lockedLog{wrote: make(chan struct{})} // the connection logs at any time
	b, err := s.Open(t.Context(), natsbus.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-log.wrote:
	case <-t.Context().Done():
	}
	if got := log.String(); !strings.Contains(got, `server="the server of this process"`) || strings.Contains(got, "4222") {
		t.Errorf("the log is %q", got)
	}
}

// lockedLog is a text that goroutines write and read. Its channel is closed by the first write.
type lockedLog struct {
	wrote chan struct{}

	mu   sync.Mutex // guards the field below
	text strings.Builder
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() == 0 {
		close(l.wrote)
	}
	return l.text.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert := certificate(t)
	s := start(t, embedded.Options{
		Listen: "0.0.0.0:0", Agent: keys, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	})
	own := open(t, s)
	defer own.Close()
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	b, err := natsbus.Open(t.Context(), natsbus.Options{
		URL: s.Contact().URL, Token: "key-echo", Agent: "echo", TLS: &tls.Config{RootCAs: roots},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := own.Publish(t.Context(), protocol.JobAt("echo"), letter("a")); err != nil {
		t.Fatal(err)
	}
	for d, err := range b.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("echo")}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := d.DeadLetter(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		break
	}
	for d, err := range own.Receive(t.Context(), bus.Subscription{At: bus.Dead}) {
		if err != nil || d.ID != "a" || d.Reason != "enough" {
			t.Errorf("at Dead: %+v, %v", d, err)
		}
		break
	}
	plain := strings.Replace(s.Contact().URL, "tls:", "nats:", 1)
	if nc, err := nats.Connect(plain, nats.Token("key-echo"), nats.Timeout(time.Minute)); err == nil {
		nc.Close()
		t.Error("a client that does not check the certificate gets in")
	}
}

// certificate returns a self-signed certificate for 127.0.0.1.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bus"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// TestKeyPermissions tries the operations that a worker needs, and many that must be refused.
func TestKeyPermissions(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: keys})
	own := open(t, s)
	defer own.Close()
	refused := make(chan error, 100)
	nc := connect(t, s.Contact().URL, nats.Token("key-echo"), nats.CustomInboxPrefix(natsbus.Inbox("echo")),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	flush := func() (errs []error) {
		t.Helper()
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		// The callbacks come in order, so a deliberate refusal marks the end.
		if err := nc.Publish("end.of.this", nil); err != nil {
			t.Fatal(err)
		}
		for {
			select {
			case err := <-refused:
				if strings.Contains(err.Error(), "end.of.this") {
					return errs
				}
				errs = append(errs, err)
			case <-time.After(time.Minute):
				t.Fatal("nothing is refused")
			}
		}
	}
	for allowed, list := range map[bool][]string{
		true: {
			natsbus.Subject(protocol.ReportAt("h1")), natsbus.Subject(protocol.ControlAt("h1")), natsbus.Subject(protocol.Discovery), natsbus.Subject(bus.Dead),
			"$JS.API.CONSUMER.INFO.PARLEY.agent+task+echo",
		},
		false: {
			"$JS.API.STREAM.INFO.PARLEY", "$JS.API.STREAM.NAMES", "$JS.API.CONSUMER.LIST.PARLEY", "$JS.API.CONSUMER.PAUSE.PARLEY.agent+task+echo",
			"$JS.API.CONSUMER.CREATE.OTHER.agent+task+echo.parley.queue.agent.task.echo", "$JS.API.CONSUMER.MSG.NEXT.OTHER.agent+task+echo",
			natsbus.Subject(protocol.ReportAt("h1.x")), natsbus.Subject(bus.Queue("hub.dead.h1")),
			natsbus.Subject(protocol.JobAt("other")), natsbus.Subject(protocol.JobAt("echo")), natsbus.Subject(protocol.WorkerAt("other.1")),
			natsbus.Subject(protocol.WorkerAt("echo.1")), natsbus.Subject(protocol.Inquiry), natsbus.Subject(protocol.ChatTopic), "parley.queue.x", "x",
			"_INBOX.other.1", "_INBOX.echo.1",
			"$JS.API.STREAM.DELETE.PARLEY", "$JS.API.STREAM.PURGE.PARLEY", "$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.UPDATE.PARLEY",
			"$JS.API.STREAM.MSG.GET.PARLEY", "$JS.API.DIRECT.GET.PARLEY", "$JS.API.STREAM.LIST", "$JS.API.STREAM.MSG.DELETE.PARLEY",
			"$JS.API.CONSUMER.INFO.PARLEY.agent+task+other", "$JS.API.CONSUMER.DELETE.PARLEY.agent+task+echo",
			"$JS.API.CONSUMER.CREATE.PARLEY.agent+task+other.parley.queue.agent.task.other",
			"$JS.API.CONSUMER.CREATE.PARLEY.agent+task+echo.parley.queue.agent.task.other",
			"$JS.API.CONSUMER.CREATE.PARLEY", "$JS.API.CONSUMER.DURABLE.CREATE.PARLEY.agent+task+echo",
			"$JS.API.CONSUMER.MSG.NEXT.PARLEY.agent+task+other", "$JS.API.CONSUMER.MSG.NEXT.PARLEY.dead",
			"$JS.ACK.PARLEY.agent+task+other.1.1.1.1.1", "$JS.API.INFO", "$SYS.REQ.SERVER.PING",
		},
	} {
		for _, subject := range list {
			if err := nc.Publish(subject, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			if errs := flush(); (len(errs) == 0) != allowed {
				t.Errorf("publish at %s is allowed: %v, want %v (%v)", subject, !allowed, allowed, errs)
			}
		}
	}
	for subject, allowed := range map[string]bool{
		natsbus.Subject(protocol.WorkerAt("echo.1")):   true,
		natsbus.Subject(protocol.Inquiry):              true,
		natsbus.Subject(protocol.Discovery):            false,
		natsbus.Subject(protocol.WorkerAt("echo.*.x")): false,
		"$JS.EVENT.>":   false,
		"_R_.>":         false,
		"_INBOX.echo.*": true,
		natsbus.Subject(protocol.WorkerAt("other.1")): false,
		natsbus.Subject(protocol.WorkerAt("*")):       false,
		natsbus.Subject(protocol.ControlAt("h1")):     false,
		natsbus.Subject(protocol.JobAt("echo")):       false,
		natsbus.Subject(protocol.JobAt("other")):      false,
		natsbus.Subject(bus.Dead):                     false,
		"_INBOX.>":                                    false,
		"_INBOX.other.>":                              false,
		"parley.>":                                    false,
		">":                                           false,
		"$JS.>":                                       false,
	} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if errs := flush(); (len(errs) == 0) != allowed {
			t.Errorf("subscribe at %s is allowed: %v, want %v (%v)", subject, !allowed, allowed, errs)
		}
	}
}

// TestDrop ends the connections of one agent.
func TestDrop(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: keys})
	gone := make(chan struct{}, 1)
	connect(t, s.Contact().URL, nats.Token("key-echo"), nats.DisconnectErrHandler(func(*nats.Conn, error) { gone <- struct{}{} }))
	other := connect(t, s.Contact().URL, nats.Token(s.Contact().Token))
	if err := s.Drop("k1"); err != nil {
		t.Fatal(err)
	}
	<-gone
	if err := other.Flush(); err != nil || other.Stats().Reconnects > 0 {
		t.Errorf("another client was dropped: %v", err)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{MaxBytes: 4 << 20})
	b := open(t, s)
	defer b.Close()
	e := letter("a")
	e.Body = json.RawMessage(`"` + strings.Repeat("x", 512<<10) + `"`)
	var err error
	n := 0
	for ; err == nil && n < 20; n++ {
		e.ID += "a"
		err = b.Publish(t.Context(), protocol.JobAt("echo"), e)
	}
	if !errors.Is(err, bus.ErrFull) || n < 4 {
		t.Errorf("Publish number %d of half a MiB = %v, want ErrFull after about 4 MiB", n, err)
	}
}
