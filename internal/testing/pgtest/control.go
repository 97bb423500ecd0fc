package pgtest

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listen opens the socket at which the server reports that it is ready, in the way of systemd. The
// second result is the variable of the environment that names it.
func (s *Server) listen() (*net.UnixConn, string, error) {
	at := filepath.Join(s.dir, "notify")
	if err := removeSocket(at); err != nil {
		return nil, "", err
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		return nil, "", err
	}
	if err := s.user.own(at); err != nil {
		return nil, "", errors.Join(err, c.Close())
	}
	return c, "NOTIFY_SOCKET=" + at, nil
}

// wait waits until the server is ready or has ended.
func (s *Server) wait(ready *net.UnixConn) error {
	defer ready.Close()
	if err := ready.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	buffer := make([]byte, 4096)
	for {
		n, err := ready.Read(buffer)
		if err != nil {
			return fmt.Errorf("not ready: %w", err)
		}
		if strings.Contains(string(buffer[:n]), "READY=1") {
			return nil
		}
	}
}

// Kill ends all processes of the server at once, as a power failure does.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	signal(s.process.Process.Pid, stop) // first, so that it starts no more children
	all := append(children(s.process.Process.Pid), s.process.Process.Pid)
	for _, pid := range all {
		signal(pid, kill)
	}
	_ = s.process.Wait() // the error states that it was killed
	s.process = nil
	awaitEnd(all)
}

// Stop shuts the server down: it ends all connections and writes a checkpoint.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	signal(s.process.Process.Pid, fast)
	_ = s.process.Wait()
	s.process = nil
}

// Launch starts a stopped or killed server again, on the same folder and port.
func (s *Server) Launch(tb testing.TB) {
	tb.Helper()
	if err := s.launch(); err != nil {
		tb.Fatalf("start PostgreSQL again: %v\n%s", err, s.logTail())
	}
}

// Freeze suspends all processes of the server until the returned function is called. Connections
// stay open.
func (s *Server) Freeze() (thaw func()) {
	pid := s.process.Process.Pid
	signal(pid, stop) // first, so that it starts no more children
	all := append(children(pid), pid)
	for _, pid := range all {
		signal(pid, stop)
	}
	return func() {
		for _, pid := range all {
			signal(pid, proceed)
		}
	}
}
