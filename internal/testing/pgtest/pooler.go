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

// Pooler starts PgBouncer in front of the server with its default settings and a pool mode, such
// as session. It returns the address through it of an address of the server.
func (s *Server) Pooler(tb testing.TB, mode string) func(url string) string {
	tb.Helper()
	program := testenv.Tool(tb, "pgbouncer")
	port, release, err := testenv.ReservePort()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	dir, err := os.MkdirTemp(s.dir, "pooler")
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	for path, text := range map[string]string{
		file:                        fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = trust\nauth_file = users\npool_mode = %s\n", s.port, port, mode),
		filepath.Join(dir, "users"): "\"parley\" \"\"\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.user.own(dir); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(program, file)
	cmd.Dir = dir
	s.user.tie(cmd)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			_ = conn.Close()
			break
		}
		select {
		case <-again.C:
		case err := <-ended:
			ended <- err
			tb.Fatalf("PgBouncer ended: %v\n%s", err, log.String())
		}
	}
	return func(url string) string {
		return strings.Replace(url, ":"+strconv.Itoa(s.port)+"/", ":"+strconv.Itoa(port)+"/", 1)
	}
}
