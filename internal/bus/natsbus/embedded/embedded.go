package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/parley-a2a/parley/internal/bus/natsbus"
)

// DefaultMaxBytes is the MaxBytes of Options without one.
const DefaultMaxBytes = 256 << 20

// startTime limits the start of a server, which normally takes a few milliseconds.
const startTime = 30 * time.Second

// authTime is the number of seconds that a client on a busy machine may take to authenticate.
const authTime = 10

// maxPending is the number of bytes that may wait for a slow client before the server
// disconnects it.
const maxPending = 16 << 20

// Options configure the server and its access. The zero value is for this process alone.
type Options struct {
	// Folder is the data folder. bus.json is written there if Listen is set, and the server
	// keeps its files in its subfolder "nats". If empty, no bus.json is written and a temporary
	// folder is used.
	Folder string
	// Listen is the address for other processes, such as "127.0.0.1:0" or ":4222". Empty means
	// none. An address that is not on loopback needs TLS and Agent.
	Listen string
	// Token is that of bus.json. If empty, it is new at each start. If Token and Listen stay
	// the same, workers can reconnect after a restart of the server.
	Token string
	// TLS, if set, is required of clients from outside the process. It must contain a
	// certificate.
	TLS *tls.Config
	// Agent returns the credential for a key that a client at an address presents; ok is false
	// for an invalid key. It may block for a short time. If nil, no key is valid.
	Agent func(key, from string) (p Credential, ok bool)
	// Hub is put into bus.json for workers: the hub's bus.HubKey as a string.
	Hub string
	// MaxBytes is the number of bytes that all queues together may hold. Zero means
	// DefaultMaxBytes.
	MaxBytes int64
	// Logger gets the warnings of the server. If nil, nothing is logged.
	Logger *slog.Logger
}

// Credential is the permission of a key.
type Credential struct {
	// Key is the id of the key, for Server.Drop and for the log.
	Key string
	// Agent is the name of its agent on the bus, in the spelling of the bus.
	Agent string
	// Until is when the connection ends; zero means never.
	Until time.Time
}

// Server is a NATS server in this process. Start creates one. Its methods are safe for
// concurrent use.
type Server struct {
	options       Options
	log           *slog.Logger
	server        *server.Server
	authenticator *authenticator
	contact       natsbus.Contact
	file          string      // of contact; empty if there is none
	unwritten     atomic.Bool // the disk was full when file was to be written
	scratch       string      // a folder to remove; empty if there is none
	closing       sync.Once
	closed        error

	accountsMu sync.Mutex // guards accounts
	accounts   map[string]*server.Account
}

// Start starts a server, and returns when it is ready. Close ends it.
func Start(o Options) (*Server, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{options: o, log: o.Logger, accounts: make(map[string]*server.Account)}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("start embedded bus: %w", errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *Server) start() error {
	so, err := s.serverOptions()
	if err != nil {
		return err
	}
	s.server, err = server.NewServer(so)
	if err != nil {
		return err
	}
	if err := s.exports(); err != nil {
		return err
	}
	s.server.SetLoggerV2(logger{s.log}, false, false, false)
	s.server.Start()
	if !s.server.ReadyForConnections(startTime) {
		return fmt.Errorf("not ready within %v: is %q in use?", startTime, s.options.Listen)
	}
	if err := s.makeStream(); err != nil {
		return err
	}
	if s.options.Listen == "" {
		return nil
	}
	s.contact = natsbus.Contact{URL: s.url(), Token: s.authenticator.local, Hub: s.options.Hub}
	if t := s.options.TLS; t != nil && len(t.Certificates) > 0 {
		s.contact.Certificate = natsbus.Fingerprint(t.Certificates[0].Certificate[0])
	}
	if s.options.Folder == "" {
		return nil
	}
	s.file = filepath.Join(s.options.Folder, natsbus.ContactFile)
	err = writeContact(s.file, s.contact)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		s.log.Warn("the disk is full: bus.json is not written yet, so that programs on this machine do not find the broker", "error", err)
		s.unwritten.Store(true)
		return nil
	}
	return err
}

// WriteContact writes bus.json if Start could not write it because the disk was full.
func (s *Server) WriteContact() error {
	if !s.unwritten.Load() {
		return nil
	}
	if err := writeContact(s.file, s.contact); err != nil {
		return err
	}
	s.unwritten.Store(false)
	return nil
}

// makeStream creates the stream, and then admits other clients.
func (s *Server) makeStream() error {
	defer s.authenticator.admitClients()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	b, err := s.Open(ctx, natsbus.Options{Timeout: startTime})
	if err != nil {
		return err
	}
	return b.Close()
}

func (s *Server) serverOptions() (*server.Options, error) {
	s.authenticator = &authenticator{hub: rand.Text(), local: cmp.Or(s.options.Token, rand.Text()), agent: s.options.Agent, account: s.account, log: s.log, open: make(chan struct{})}
	folder, err := s.folder()
	if err != nil {
		return nil, err
	}
	so := &server.Options{
		ServerName: "parley", NoSigs: true, JetStream: true, StoreDir: folder,
		JetStreamMaxMemory: s.options.MaxBytes, JetStreamMaxStore: 1 << 20, MaxPending: maxPending,
		CustomClientAuthentication: s.authenticator, DontListen: s.options.Listen == "", AuthTimeout: authTime,
	}
	if so.DontListen {
		return so, nil
	}
	if so.Host, so.Port, err = s.listen(); err == nil {
		err = s.checkFree(so)
	}
	if err != nil {
		return nil, err
	}
	if s.options.TLS != nil {
		so.TLSConfig = s.options.TLS.Clone()
		so.TLS, so.TLSTimeout = true, authTime
	}
	return so, nil
}

// checkFree returns an error if the address of the server cannot be listened at. The server itself
// would only report after startTime that it is not ready.
func (s *Server) checkFree(so *server.Options) error {
	if so.Port == server.RANDOM_PORT {
		return nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(so.Host, strconv.Itoa(so.Port)))
	if err != nil {
		return fmt.Errorf("listen at %q: %w", s.options.Listen, err)
	}
	return l.Close()
}

// folder returns the folder in which the server may write.
func (s *Server) folder() (string, error) {
	if s.options.Folder != "" {
		return filepath.Join(s.options.Folder, "nats"), nil
	}
	var err error
	s.scratch, err = os.MkdirTemp("", "parley-nats-")
	return s.scratch, err
}

// listen returns the address, or an error if it would be open to other machines without TLS and
// keys.
func (s *Server) listen() (host string, port int, err error) {
	at := s.options.Listen
	host, text, err := net.SplitHostPort(at)
	if err != nil {
		return "", 0, fmt.Errorf("listen at %q: %w", at, err)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 1<<16-1 {
		return "", 0, fmt.Errorf("listen at %q: invalid port %q", at, text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if loopback(host) {
		return host, port, nil
	}
	switch {
	case s.options.TLS == nil || len(s.options.TLS.Certificates) == 0 && s.options.TLS.GetCertificate == nil:
		return "", 0, fmt.Errorf("listen at %q: an address that is not on loopback needs TLS with a certificate", at)
	case s.options.Agent == nil:
		return "", 0, fmt.Errorf("listen at %q: an address that is not on loopback needs keys of agents", at)
	}
	return host, port, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// url returns the address of the server for clients on this machine.
func (s *Server) url() string {
	scheme := "nats"
	if s.options.TLS != nil {
		scheme = "tls"
	}
	at, _ := s.server.Addr().(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(at.Port))
}

// Contact returns the address and token for other processes of this machine; it is zero without
// Listen.
func (s *Server) Contact() natsbus.Contact { return s.contact }

// Open returns a bus on the server, connected within the process. It ignores the fields of o
// for the connection and for a new stream.
func (s *Server) Open(ctx context.Context, o natsbus.Options) (*natsbus.Bus, error) {
	o.URL, o.User, o.Password, o.Credentials, o.TLS = "", "", "", "", nil
	o.Server, o.Token = s.server, s.authenticator.hub
	o.Memory, o.Replicas, o.MaxBytes, o.Accounts = true, 1, s.options.MaxBytes, true
	return natsbus.Open(ctx, o)
}

// Drop closes the connections that were made with a key. Clients reconnect if the key is still
// valid.
func (s *Server) Drop(key string) error {
	list, err := s.server.Connz(&server.ConnzOptions{Username: true, User: userOf(key), Limit: math.MaxInt})
	if err != nil {
		return fmt.Errorf("drop workers with key %s: %w", key, err)
	}
	for _, c := range list.Conns {
		err = errors.Join(err, s.server.DisconnectClientByID(c.Cid))
	}
	return err
}

// Close ends the server and removes its files. Close the buses before. Further calls return the
// same error.
func (s *Server) Close() error {
	s.closing.Do(func() {
		if s.file != "" {
			s.closed = removeContact(s.file, s.contact)
		}
		if s.server != nil {
			s.authenticator.admitClients() // release waiting checks
			s.server.Shutdown()
			s.server.WaitForShutdown()
		}
		if s.scratch != "" {
			s.closed = errors.Join(s.closed, os.RemoveAll(s.scratch))
		}
	})
	return s.closed
}

// logger passes the messages of the server to a slog.Logger.
type logger struct{ log *slog.Logger }

// Noticef implements server.Logger.
func (l logger) Noticef(format string, v ...any) { l.log.Debug("nats: " + fmt.Sprintf(format, v...)) }

// Warnf implements server.Logger.
func (l logger) Warnf(format string, v ...any) { l.log.Warn("nats: " + fmt.Sprintf(format, v...)) }

// Errorf implements server.Logger.
func (l logger) Errorf(format string, v ...any) { l.log.Error("nats: " + fmt.Sprintf(format, v...)) }

// Fatalf implements server.Logger. It does not end the process: Start returns an error.
func (l logger) Fatalf(format string, v ...any) { l.log.Error("nats: " + fmt.Sprintf(format, v...)) }

// Debugf implements server.Logger.
func (logger) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (logger) Tracef(string, ...any) {}
