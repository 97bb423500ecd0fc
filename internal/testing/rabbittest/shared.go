package rabbittest

import (
	"os"
	"sync"
	"testing"
)

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared returns the broker that all tests of a package share. Its TestMain calls Exit.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	tools := toolsOf(tb)
	shared.once.Do(func() {
		s := &Server{tools: tools}
		if shared.err = s.create(); shared.err == nil {
			shared.server = s
		}
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	tb.Cleanup(func() { shared.server.explain(tb) })
	return shared.server
}

// Exit ends the shared broker and the process.
func Exit(code int) {
	if shared.server != nil {
		shared.server.remove()
	}
	os.Exit(code)
}
