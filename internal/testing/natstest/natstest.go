// Package natstest starts private NATS servers for tests.
//
// Each server listens on its own port on loopback, keeps its streams in its own folder, and
// ends with its test. [Debian] returns the program of Debian 12 (2.9), [Current] the one of the
// version in go.mod, which .ci/run builds. Servers that support it write each message to disk
// before they confirm it (sync_interval: always). Without it, which is the case for 2.9, a
// machine that fails loses up to two minutes of confirmed messages.
package natstest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// Program is a nats-server executable.
type Program struct {
	Path string
	// Syncs is set if the program supports sync_interval.
	Syncs bool
}

// Debian returns the installed server; t is skipped or fails without it.
func Debian(t testing.TB) Program {
	t.Helper()
	path := testenv.Tool(t, "nats-server")
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return Program{Path: path, Syncs: !strings.Contains(string(out), "v2.9.")}
}

// Current returns the server that .ci/run has built; t is skipped or fails without it.
func Current(t testing.TB) Program {
	t.Helper()
	return Program{Path: testenv.Made(t, ".ci/bin/nats-server"), Syncs: true}
}

// Server is a server process.
type Server struct {
	// URL is the address for clients. It stays the same after another Start.
	URL string

	program Program
	tls     string // the lines of the configuration; empty without TLS
	extra   string // more lines
	dir     string
	port    string
	cmd     *exec.Cmd
	reader  sync.WaitGroup
}

// Start starts a server, which ends with t.
func Start(t testing.TB, p Program) *Server {
	t.Helper()
	return start(t, &Server{program: p})
}

// StartTLS starts a server that requires TLS. The files have its certificate and its key as PEM.
func StartTLS(t testing.TB, p Program, cert, key string) *Server {
	t.Helper()
	return start(t, &Server{program: p, tls: fmt.Sprintf("tls {\n  cert_file: %q\n  key_file: %q\n}\n", cert, key)})
}

func start(t testing.TB, s *Server) *Server {
	t.Helper()
	s.dir, s.port = t.TempDir(), strconv.Itoa(testenv.Port(t))
	s.Start(t)
	t.Cleanup(func() {
		if s.cmd != nil {
			s.Stop(t)
		}
	})
	return s
}

// Start starts the server again, at the same address and with the same streams.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	sync := ""
	if s.program.Syncs {
		sync = "sync_interval: always"
	}
	file := filepath.Join(s.dir, "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:%s\"\njetstream {\n  store_dir: %q\n  %s\n}\n", s.port, filepath.Join(s.dir, "streams"), sync) + s.tls + s.extra
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(s.program.Path, "--config", file)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	s.reader.Go(func() { watch(bufio.NewScanner(out), ready) })
	if at := <-ready; at != s.port {
		s.Stop(t)
		t.Fatalf("%s did not start with\n%s", s.program.Path, text)
	}
	s.URL = "nats://127.0.0.1:" + s.port
	if s.tls != "" {
		s.URL = "tls://127.0.0.1:" + s.port
	}
}

// watch reads the server's log until the server ends. It sends the port once the server is
// ready, and closes ready without a value if it never is.
func watch(lines *bufio.Scanner, ready chan<- string) {
	defer close(ready)
	port := ""
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "Listening for client connections on 127.0.0.1:"); ok {
			port = at
		}
		if strings.HasSuffix(lines.Text(), "Server is ready") {
			ready <- port
		}
	}
}

// Stop kills the server.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	s.reader.Wait()
	_ = s.cmd.Wait() // the error states that the process was killed
	s.cmd = nil
}

// PID returns the process id of the running server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Cluster is servers that keep their streams together.
type Cluster struct {
	Servers []*Server
	// URL has the addresses of all servers, separated by commas.
	URL string
}

// StartCluster starts a cluster of n servers, which ends with t.
func StartCluster(t testing.TB, p Program, n int) *Cluster {
	t.Helper()
	c := new(Cluster)
	var routes, urls []string
	for i := range n {
		port := strconv.Itoa(testenv.Port(t))
		routes = append(routes, "nats-route://127.0.0.1:"+port)
		c.Servers = append(c.Servers, &Server{program: p, extra: fmt.Sprintf("server_name: n%d\ncluster {\n  name: test\n  listen: \"127.0.0.1:%s\"\n", i, port)})
	}
	for _, s := range c.Servers {
		s.extra += fmt.Sprintf("  routes: [%s]\n}\n", strings.Join(routes, ", "))
		urls = append(urls, start(t, s).URL)
	}
	c.URL = strings.Join(urls, ",")
	return c
}
