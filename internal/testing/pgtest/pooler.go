package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// Pooler is PgBouncer in front of a server, with its default settings but for the mode.
type Pooler struct {
	server  *Server
	program string
	dir     string
	port    int
	process *exec.Cmd
	ended   chan error
	log     *os.File
}

// Pooler starts a pooler with a mode, such as session. It ends with tb.
func (s *Server) Pooler(tb testing.TB, mode string) *Pooler {
	tb.Helper()
	return s.PoolerFor(tb, mode, "another")
}

// PoolerFor is Pooler that accepts one more user.
func (s *Server) PoolerFor(tb testing.TB, mode, user string) *Pooler {
	tb.Helper()
	p := &Pooler{server: s, program: testenv.Tool(tb, "pgbouncer")}
	var release func()
	var err error
	if p.port, release, err = testenv.ReservePort(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	if p.dir, err = os.MkdirTemp(s.dir, "pooler"); err != nil {
		tb.Fatal(err)
	}
	for path, text := range map[string]string{
		p.path("pgbouncer.ini"): fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = trust\nauth_file = users\npool_mode = %s\n", s.port, p.port, mode),
		p.path("users"):         "\"parley\" \"\"\n\"" + user + "\" \"\"\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.user.own(p.dir); err != nil {
		tb.Fatal(err)
	}
	if p.log, err = os.Create(p.path("log")); err != nil {
		tb.Fatal(err)
	}
	p.Start(tb)
	tb.Cleanup(func() {
		p.Kill()
		_ = p.log.Close()
	})
	return p
}

func (p *Pooler) path(name string) string { return filepath.Join(p.dir, name) }

// Start starts the pooler again after Kill, and waits until it accepts connections.
func (p *Pooler) Start(tb testing.TB) {
	tb.Helper()
	cmd := exec.Command(p.program, p.path("pgbouncer.ini"))
	cmd.Dir = p.dir
	p.server.user.tie(cmd)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process
	p.process, p.ended = cmd, ended
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(p.port))
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-again.C:
		case err := <-ended:
			ended <- err
			log, _ := os.ReadFile(p.path("log"))
			tb.Fatalf("PgBouncer ended: %v\n%s", err, log)
		}
	}
}

// Kill ends the pooler with all its connections. It may be called again.
func (p *Pooler) Kill() {
	if p.process == nil {
		return
	}
	_ = p.process.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.ended
	p.process = nil
}

// Through returns the address through the pooler of an address of the server.
func (p *Pooler) Through(url string) string {
	return strings.Replace(url, ":"+strconv.Itoa(p.server.port)+"/", ":"+strconv.Itoa(p.port)+"/", 1)
}
