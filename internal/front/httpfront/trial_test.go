package httpfront_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/front/conns"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// elsewhere is a listener whose peers have an address of another machine.
type elsewhere struct{ net.Listener }

type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func (l elsewhere) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return remote{c}, nil
}

// TestAdministratorsBeyondTheLimit: while all connections are at work, an administrator's key opens
// another one from elsewhere, and a caller's key does not.
func TestAdministratorsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	ring := &auth.Keyring{Store: noStore{}}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := startEngine(t, everyone()...)
	_, admin := newKey(t, ring, auth.Principal{ID: "ada", Roles: []string{auth.RoleAdmin}})
	_, caller := newKey(t, ring, auth.Principal{ID: "ann"})
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limit := &conns.Limit{Max: 1, Reserve: 1, Trials: 2}
	s := httpfront.NewServer(httpfront.New(httpfront.Config{Engine: e, Auth: ring, AllowAnonymous: true, API: &adminapi.Handler{Hub: e, Keys: ring}}))
	s.ConnState, s.ConnContext = limit.State, limit.Context
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(limit.Listen(elsewhere{inner})) })
	t.Cleanup(func() { s.Close(); wg.Wait() })

	dial := func() (get func(key string) *http.Response) {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		r := bufio.NewReader(c)
		return func(key string) *http.Response {
			t.Helper()
			fmt.Fprintf(c, "GET /api/v1/agents HTTP/1.1\r\nHost: hub\r\nX-Api-Key: %s\r\n\r\n", key)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp
		}
	}
	busy, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { busy.Close() })
	fmt.Fprintf(busy, "POST /v1/a2a/message:send HTTP/1.1\r\nHost: hub\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n", caller)
	if line, err := bufio.NewReader(busy).ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("the first request is not at work: %q, %v", line, err)
	}

	if resp := dial()(caller); resp.StatusCode != http.StatusTooManyRequests || !resp.Close || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a caller beyond the limit = %s, closes %v, want 429 that closes", resp.Status, resp.Close)
	}
	get := dial()
	for i := range 3 {
		if resp := get(admin); resp.StatusCode != http.StatusOK || resp.Close {
			t.Errorf("request %d of an administrator beyond the limit = %s", i, resp.Status)
		}
	}
}
