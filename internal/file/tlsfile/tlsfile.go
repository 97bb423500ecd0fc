package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/file/textfile"
)

// every is the shortest time between two checks of the files.
const every = time.Second

// maxFile is the largest size of a file in bytes.
const maxFile = 4 << 20

// Files are the PEM files of a server: its certificate, and the authorities of its clients.
type Files struct {
	// Cert is the certificate, followed by its chain; Key is its private key. Both are
	// required.
	Cert, Key string
	// ClientCA are the authorities of clients. If empty, no client certificate is requested.
	ClientCA string
	// ClientCRL are revocation lists of these authorities, as PEM, or one list as DER. If
	// empty, no lists are checked.
	ClientCRL string
	// Required refuses clients without a certificate. Otherwise a certificate is optional, but
	// must be valid if sent.
	Required bool
	// Logger receives a record when new files were loaded or are invalid. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

// Source holds the current content of Files.
type Source struct {
	files   Files
	now     atomic.Pointer[state]
	began   time.Time     // time of the first check of the files
	looked  atomic.Int64  // time of the last check, in nanoseconds since began
	reading sync.Mutex    // held while the files are read
	broken  []fs.FileInfo // files that were logged as invalid; guarded by reading
	problem error         // that of broken; guarded by reading
}

// state is the content of the files at one time.
type state struct {
	stamps      []fs.FileInfo
	certificate tls.Certificate
	clients     *x509.CertPool // nil if no client certificate is requested
	lists       lists
	unlisted    []string // the authorities without a list, if others have one
}

// FileError is the error of one of the files.
type FileError struct {
	// Which is "cert", "key", "client_ca" or "client_crl".
	Which string
	Path  string
	Err   error
}

// Error returns the path of the file and the error.
func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the error of the file.
func (e *FileError) Unwrap() error { return e.Err }

// Open reads the files. The error is a *FileError.
func Open(f Files) (*Source, error) {
	if f.Logger == nil {
		f.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Source{files: f}
	stamps, err := s.stamps()
	if err != nil {
		return nil, err
	}
	now, err := s.read(stamps)
	if err != nil {
		return nil, err
	}
	s.now.Store(now)
	s.began = time.Now()
	return s, nil
}

// Paths returns the paths of the files.
func (s *Source) Paths() (all []string) {
	for _, f := range s.paths() {
		all = append(all, f.Path)
	}
	return all
}

// Reload reads the files if they have changed or anew is set. The error, which was logged, is the
// reason why they are not in force.
func (s *Source) Reload(anew bool) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.look(anew)
}

// Leaf returns the current certificate of the server.
func (s *Source) Leaf() *x509.Certificate { return s.now.Load().certificate.Leaf }

// Config returns the config of a listener. protocols are the protocols that clients may select.
func (s *Source) Config(protocols ...string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: slices.Clone(protocols)}
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := s.current()
		one := &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: c.NextProtos, Certificates: []tls.Certificate{now.certificate},
		}
		if now.clients != nil {
			one.ClientCAs, one.ClientAuth = now.clients, tls.VerifyClientCertIfGiven
			one.SessionTicketsDisabled = true
			one.VerifyConnection = func(c tls.ConnectionState) error { return now.lists.check(c.VerifiedChains, s.files.Logger) }
			if s.files.Required {
				one.ClientAuth = tls.RequireAndVerifyClientCert
			}
		}
		return one, nil
	}
	return c
}

// current returns the content of the files, at most a second old.
func (s *Source) current() *state {
	at, last := int64(time.Since(s.began)), s.looked.Load()
	if at-last >= int64(every) && s.looked.CompareAndSwap(last, at) && s.reading.TryLock() {
		defer s.reading.Unlock()
		_ = s.look(false) // it was logged
	}
	return s.now.Load()
}

// look reads the files if they have changed or anew is set, and logs and returns the reason why they are not in
// force. The caller holds reading.
func (s *Source) look(anew bool) error {
	was := s.now.Load()
	stamps, err := s.stamps()
	if err == nil && !anew && same(stamps, was.stamps) {
		s.broken, s.problem = nil, nil
		return nil
	}
	if s.broken != nil && !anew && same(stamps, s.broken) {
		return s.problem
	}
	var now *state
	if err == nil {
		now, err = s.read(stamps)
	}
	if err != nil {
		s.broken, s.problem = stamps, err
		s.files.Logger.Error("the certificate cannot be renewed; keeping the old one", "error", err, "ends", was.certificate.Leaf.NotAfter)
		return err
	}
	s.broken, s.problem = nil, nil
	if kept := now.lists.supersede(was.lists); len(kept) > 0 {
		s.files.Logger.Error("a revocation list is older than the current one and is ignored", "file", s.files.ClientCRL, "authorities", kept)
	}
	s.now.Store(now)
	s.files.Logger.Info("certificate renewed", "file", s.files.Cert, "ends", now.certificate.Leaf.NotAfter)
	return nil
}

// stamps returns the files with their times and sizes. A missing file has none.
func (s *Source) stamps() (all []fs.FileInfo, err error) {
	all = make([]fs.FileInfo, 0, 4)
	for _, f := range s.paths() {
		info, statErr := os.Stat(f.Path)
		if statErr != nil && err == nil {
			f.Err = plain(statErr)
			err = &f
		}
		all = append(all, info)
	}
	return all, err
}

func (s *Source) paths() []FileError {
	all := []FileError{{Which: "cert", Path: s.files.Cert}, {Which: "key", Path: s.files.Key}}
	if s.files.ClientCA != "" {
		all = append(all, FileError{Which: "client_ca", Path: s.files.ClientCA})
	}
	if s.files.ClientCRL != "" {
		all = append(all, FileError{Which: "client_crl", Path: s.files.ClientCRL})
	}
	return all
}

// same reports whether the files are unchanged.
func same(a, b []fs.FileInfo) bool {
	return slices.EqualFunc(a, b, func(x, y fs.FileInfo) bool {
		if x == nil || y == nil {
			return x == nil && y == nil
		}
		return os.SameFile(x, y) && x.ModTime().Equal(y.ModTime()) && x.Size() == y.Size()
	})
}

// read reads all files.
func (s *Source) read(stamps []fs.FileInfo) (*state, error) {
	now := &state{stamps: stamps}
	var err error
	if now.certificate, err = readPair(s.files.Cert, s.files.Key); err != nil {
		return nil, err
	}
	if s.files.ClientCA == "" {
		return now, nil
	}
	authorities, err := ReadCertificates(s.files.ClientCA)
	if err != nil {
		return nil, &FileError{"client_ca", s.files.ClientCA, err}
	}
	now.clients = x509.NewCertPool()
	for _, c := range authorities {
		now.clients.AddCert(c)
	}
	if s.files.ClientCRL != "" {
		if now.lists, err = readLists(s.files.ClientCRL, authorities); err != nil {
			return nil, &FileError{"client_crl", s.files.ClientCRL, err}
		}
		now.unlisted = now.lists.lack(authorities)
	}
	return now, nil
}

// readPair reads a certificate and its key. The error is a *FileError.
func readPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := readFile(certFile, maxFile)
	if err != nil {
		return tls.Certificate{}, &FileError{"cert", certFile, err}
	}
	if _, err := parseCertificates(cert); err != nil {
		return tls.Certificate{}, &FileError{"cert", certFile, err}
	}
	key, err := readFile(keyFile, maxFile)
	if err != nil {
		return tls.Certificate{}, &FileError{"key", keyFile, err}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, &FileError{"key", keyFile, fmt.Errorf("is not the key of %s: %w", certFile, err)}
	}
	return pair, nil
}

func readFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, plain(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	case info.Size() > most:
		return nil, fmt.Errorf("has over %d bytes", most)
	}
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, plain(err)
	}
	return textfile.Unmarked(text)
}

// plain removes the path from an error, because the FileError names it.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Named prefixes an error about a file with the name of the file's option.
func Named(err error, names map[string]string) error {
	if f := new(FileError); errors.As(err, &f) {
		return fmt.Errorf("%s: %w", names[f.Which], err)
	}
	return err
}
