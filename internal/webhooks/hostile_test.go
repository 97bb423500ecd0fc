package webhooks

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/push"
)

// raw handles the first connections to a listener with f, which need not speak HTTP.
func raw(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				f(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String() + "/"
}

// served starts a server with a handler.
func served(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return srv.URL + "/"
}

// request reads the beginning of a request.
func request(c net.Conn) { _, _ = c.Read(make([]byte, 64<<10)) }

// receiver is a webhook that may misbehave.
type receiver struct {
	url  string
	want string // a part of the last error; empty if it accepts
}

// write answers a request with raw bytes.
func write(s string) func(net.Conn) {
	return func(c net.Conn) { request(c); fmt.Fprint(c, s) }
}

// Receivers of every kind, over real connections: each gets its own result, none holds up the
// others. The time-out is long, so that it ends no try on a busy machine.
func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	elsewhere := served(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	outcomeOf(t, stop, time.Minute, map[string]receiver{
		"resets":  {raw(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }), "connection"},
		"closes":  {raw(t, func(c net.Conn) { request(c) }), "connection failed"},
		"garbage": {raw(t, write("SSH-2.0-OpenSSH_9.9\r\n")), "connection failed"},
		"endless header": {raw(t, func(c net.Conn) {
			write("HTTP/1.1 200 OK\r\n")(c)
			for range 1000 {
				if _, err := fmt.Fprintf(c, "A: %s\r\n", strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		}), "connection"},
		"slow body": {raw(t, func(c net.Conn) { write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")(c); <-stop }), ""},
		"giant body": {served(t, func(w http.ResponseWriter, _ *http.Request) {
			for chunk := bytes.Repeat([]byte("x"), 1<<20); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}), ""},
		"redirects": {served(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}), "redirects are not followed"},
		"refuses":   {served(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), "HTTP 403"},
		"forbidden": {"http://10.255.255.1:9/", "may not call"},
		"good":      {served(t, func(http.ResponseWriter, *http.Request) {}), ""},
	})
}

// Tries at receivers that never respond end at the time-out.
func TestHangingReceivers(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	outcomeOf(t, stop, 100*time.Millisecond, map[string]receiver{
		"hangs":       {raw(t, func(net.Conn) { <-stop }), "no answer in time"},
		"slow header": {raw(t, func(c net.Conn) { write("HTTP/1.1 200 OK\r\nA: ")(c); <-stop }), "no answer in time"},
	})
}

// outcomeOf sends receivers a notification, and checks the recorded errors. It closes stop to
// release those that hang.
func outcomeOf(t *testing.T, stop chan struct{}, timeout time.Duration, receivers map[string]receiver) {
	t.Helper()
	store := new(memstore.Store)
	d, err := New(Config{Store: store, Options: push.Options{Allow: []string{"127.0.0.1"}, Timeout: timeout}})
	if err != nil {
		t.Fatal(err)
	}
	// Whether an address may be dialed is checked again when it is dialed.
	lax, err := New(Config{Store: store, Sealer: d.cfg.Sealer, Options: push.Options{Allow: []string{"all"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) })
	defer func() { close(stop); cancel(); wg.Wait() }()
	head := tasktest.Append(t, store, tasktest.NewHead("ann", "t1"), tasktest.Created(1, "hello"))
	refs := make(map[string]task.HookRef)
	for name, r := range receivers {
		h, err := lax.Prepare(&task.HookRequest{ID: name, URL: r.url})
		if err != nil {
			t.Fatal(err)
		}
		h.Task, h.Position = head.Key, head.Version
		if err := store.PutHook(ctx, h); err != nil {
			t.Fatal(err)
		}
		d.Changed(h.Ref(), h, &head)
		refs[name] = h.Ref()
	}
	head = tasktest.Append(t, store, head, tasktest.Status(task.MillisOf(time.Now()), task.Working, ""))
	d.Moved(&head)
	for name, r := range receivers {
		st := settled(t, d, refs[name], r.want != "")
		if !strings.Contains(st.LastError, r.want) || r.want == "" && st.Position != 2 || strings.Contains(st.LastError, "127.0.0.1") {
			t.Errorf("%s: status = %+v, want error %q", name, st, r.want)
		}
	}
}

// settled waits until a webhook was notified, or was tried and is in trouble.
func settled(t *testing.T, d *Dispatcher, ref task.HookRef, trouble bool) Status {
	t.Helper()
	end := time.After(4 * time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		st, _ := d.Status(ref)
		if trouble && st.LastError != "" || !trouble && st.Position == 2 {
			return st
		}
		select {
		case <-tick.C:
		case <-end:
			return st
		}
	}
}
