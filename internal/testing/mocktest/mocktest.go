// Package mocktest serves mock agents during a test.
//
// Start takes a script of package mock and serves it on a local port that is reserved until the
// test has ended: after Close, no other server answers there. The server ends with the test. An
// invalid script ends the test.
package mocktest

import (
	"context"
	"fmt"
	"net"

	"github.com/parley-a2a/parley/internal/mock"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TB is the part of testing.TB that Start needs.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// Server is a started server.
type Server struct {
	*mock.Server
	url    string
	served <-chan struct{} // closed when no connection is open and the port is closed
}

// Start serves the agents of a script in YAML until the test has ended.
func Start(t TB, script string) *Server {
	t.Helper()
	c, err := mock.Parse("mock.yaml", []byte(script))
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	return StartConfig(t, c)
}

// StartConfig is Start for a Config that was created in Go or loaded from a file.
func StartConfig(t TB, c *mock.Config) *Server {
	t.Helper()
	port, release, err := testenv.ReservePort()
	if err != nil {
		t.Fatalf("listen: %v", err)
		return nil
	}
	t.Cleanup(release)
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatalf("listen: %v", err)
		return nil
	}
	url := "http://" + l.Addr().String()
	s, err := mock.New(c, mock.Options{URL: url})
	if err != nil {
		l.Close()
		t.Fatalf("%v", err)
		return nil
	}
	served := make(chan struct{})
	go func() { // ends with the server
		defer close(served)
		_ = s.Serve(context.Background(), l) // a listener error shows in every call
	}()
	server := &Server{s, url, served}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// Close ends the server as its embedded Close does, and returns when its port is closed. A second
// call does nothing.
func (s *Server) Close() error {
	err := s.Server.Close()
	<-s.served
	return err
}

// URL returns the address of the server, which is the base URL of the first agent.
func (s *Server) URL() string { return s.url }

// AgentURL returns the base URL of the agent with the given name. Its card is at the well-known
// path below it.
func (s *Server) AgentURL(name string) string { return s.url + "/a2a/" + name }
