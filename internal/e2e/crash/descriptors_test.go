package crash

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// fewDescriptors starts a hub with 64 file descriptors, and returns its address.
func fewDescriptors(t *testing.T) (addr string, p *hubtest.Process) {
	t.Helper()
	shell := testenv.Tool(t, "sh")
	addr = hubtest.Addr(t)
	p = hubtest.Launch(t, hubtest.Command{Path: shell, Dir: t.TempDir(), Args: []string{
		"-c", `ulimit -n 64 && exec "$0" "$@"`, hubtest.Binary(t), "serve", "--listen", addr, "--data", t.TempDir(), "--log-level", "info",
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Await(ctx, "msg=ready "); err != nil {
		t.Fatal(err)
	}
	return addr, p
}

// A hundred half-sent heads do not lock others out of a hub with few descriptors: an honest
// caller's new connection gets the place of the oldest of them. The hub logs it once.
func TestHalfSentHeadsLeaveRoom(t *testing.T) {
	t.Parallel()
	addr, p := fewDescriptors(t)
	for i := range 100 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "POST /a2a HTTP/1.1\r\nHost: 127.0.0.1\r\nX-%d: ", i)
	}
	honest := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v1/a2a/message:send", strings.NewReader(
			`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := honest.Do(r)
		if err != nil {
			t.Fatalf("honest caller %d: %v", i, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("honest caller %d: %s", i, resp.Status)
		}
	}
	// Connections that end because the time of their head is over leave no record.
	if err := p.Interrupt(); err != nil { // its output is complete then
		t.Error(err)
	}
	if n := strings.Count(p.Output(), "without a request"); n != 1 {
		t.Errorf("%d records of closed connections, want 1:\n%s", n, p.Output())
	}
	if out := p.Output(); strings.Contains(out, "too many open files") {
		t.Errorf("the hub ran out of descriptors:\n%s", out)
	}
}
