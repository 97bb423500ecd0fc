package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// identityRecorder records the caller identities that a peer receives, by the path of the request.
type identityRecorder struct {
	mu       sync.Mutex // guards the field below
	received map[string][]string
}

func (d *identityRecorder) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		if d.received == nil {
			d.received = make(map[string][]string)
		}
		kind := "call"
		if strings.Contains(r.URL.Path, ".well-known") {
			kind = "card"
		}
		d.received[kind] = append(d.received[kind], r.Header.Get("X-Caller")+r.Header.Get("Authorization"))
		d.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// identities returns the identities that the peer received with calls, and with requests of its
// card.
func (d *identityRecorder) identities() (calls, cards []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.received["call"], d.received["card"]
}

// startRecorded is startPair with an identityRecorder in front of the peer.
func startRecorded(t *testing.T, x a2asrv.AgentExecutor, alter func(*remote.Agent)) (*pair, *identityRecorder) {
	t.Helper()
	d := new(identityRecorder)
	p := startPair(t, x, alter)
	p.peer.wrap = d.wrap
	p.peer.restart()
	return p, d
}

// follower is an Identity.
type follower func(context.Context) (http.Header, error)

func (f follower) Header(ctx context.Context) (http.Header, error) { return f(ctx) }
func (follower) Refused(context.Context)                           {}

// numbered identifies the caller, with another number each time.
func numbered() follower {
	var n atomic.Int32
	return func(ctx context.Context) (http.Header, error) {
		return http.Header{"X-Caller": {fmt.Sprintf("%s/%d", auth.PrincipalFrom(ctx).ID, n.Add(1))}}, nil
	}
}

// TestCallerIsIdentified checks that each call to the agent identifies the caller, with an
// assertion of its own. Requests of the card, which have no caller, carry none. A restart of
// the hub changes nothing.
func TestCallerIsIdentified(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{})
	p, d := startRecorded(t, counting(turn), func(a *remote.Agent) { a.Identity = numbered() })
	id := p.hub.send(now(newSend("one two three"))).Head.ID
	turn <- struct{}{}
	p.hub.awaitWords(id, 1) // only then the hub has the answer to its message
	p.hub.stop()
	before, _ := d.identities() // no calls happen now
	p.hub.start()
	turn <- struct{}{}
	turn <- struct{}{}
	p.hub.wait(id, task.Completed)
	calls, cards := d.identities()
	if len(before) == 0 || len(calls) <= len(before) {
		t.Errorf("%d calls before the restart, %d in all", len(before), len(calls))
	}
	seen := make(map[string]bool)
	for _, got := range calls {
		if !strings.HasPrefix(got, "alice/") || seen[got] {
			t.Errorf("a call identified %q, want another assertion of alice", got)
		}
		seen[got] = true
	}
	for _, got := range cards {
		if got != "" {
			t.Errorf("a request of the card identified %q", got)
		}
	}
}

func TestNoIdentityByDefault(t *testing.T) {
	t.Parallel()
	p, d := startRecorded(t, counting(nil), nil)
	caller := &op.Caller{Principal: alice.Principal, Bearer: usertoken.New("own-secret")}
	if _, err := p.hub.Send(t.Context(), caller, newSend("one")); err != nil {
		t.Fatal(err)
	}
	calls, _ := d.identities()
	for _, got := range calls {
		if got != "" {
			t.Errorf("an agent received the identity %q", got)
		}
	}
}

// passing passes the caller's own token on.
func passing(ctx context.Context) (http.Header, error) {
	if t := usertoken.From(ctx).Reveal(); t != "" {
		return http.Header{"Authorization": {"Bearer " + t}}, nil
	}
	return nil, errors.New("there is no token")
}

// TestForwardedToken checks that a caller's token is forwarded while the hub runs. The token is
// not stored: after a restart the task fails with that reason. The agent is not called on
// behalf of a caller without a token.
func TestForwardedToken(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{})
	p, d := startRecorded(t, counting(turn), func(a *remote.Agent) { a.Identity = follower(passing) })
	own := &op.Caller{Principal: alice.Principal, Bearer: usertoken.New("own-secret")}
	a, err := p.hub.Send(t.Context(), own, now(newSend("one two")))
	if err != nil {
		t.Fatal(err)
	}
	turn <- struct{}{}
	p.hub.wait(a.Head.ID, task.Working)
	p.hub.restart()
	got := p.hub.wait(a.Head.ID, task.Failed)
	if text := describe(got); !strings.Contains(text, "cannot get the identity of the caller: there is no token") {
		t.Errorf("after a restart the task is %s", text)
	}
	for _, en := range p.hub.stored(a.Head.ID) {
		if strings.Contains(string(en.Body)+string(en.Call), "own-secret") {
			t.Errorf("the store has the token: %s %s", en.Body, en.Call)
		}
	}
	calls, _ := d.identities()
	for _, got := range calls {
		if got != "Bearer own-secret" {
			t.Errorf("the agent received the identity %q", got)
		}
	}

	before := len(calls)
	got = p.hub.send(newSend("three"))
	if text := describe(got); got.Head.State != task.Failed || !strings.Contains(text, "there is no token") || strings.Contains(text, "unknown") || strings.Contains(text, "own-secret") {
		t.Errorf("without a token: %s", text)
	}
	if calls, _ = d.identities(); len(calls) != before {
		t.Errorf("the agent was called %d times for a caller without a token", len(calls)-before)
	}
}

// stored returns the entries of a task in the store.
func (h *hub) stored(id a2a.TaskID) []task.Entry {
	h.t.Helper()
	page, err := h.store.Read(h.t.Context(), h.get(id).Head.Key, 0)
	if err != nil || len(page) == 0 {
		h.t.Fatalf("Read = %v, %v", page, err)
	}
	return page
}

// TestIdentityIsRetried checks that an authority that is down for a moment does not fail a task.
func TestIdentityIsRetried(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	p, _ := startRecorded(t, counting(nil), func(a *remote.Agent) {
		a.Identity = follower(func(context.Context) (http.Header, error) {
			if tries.Add(1) <= 2 {
				return nil, fmt.Errorf("token endpoint: %w", httpcall.ErrUnreachable)
			}
			return http.Header{"X-Caller": {"alice"}}, nil
		})
	})
	if got := p.hub.send(newSend("one")); got.Head.State != task.Completed {
		t.Errorf("the task is %s after %d tries", describe(got), tries.Load())
	}
}

// TestNoIdentityWithoutEncryption checks that identities are not sent over unencrypted
// connections.
func TestNoIdentityWithoutEncryption(t *testing.T) {
	t.Parallel()
	p, d := startRecorded(t, counting(nil), func(a *remote.Agent) { a.Identity = numbered() })
	at := p.peer.url()
	p.agent.URL = "http://agent.example"
	p.agent.HTTP = &http.Client{Transport: redirect{at}}
	if text := describe(p.hub.send(newSend("one"))); !strings.Contains(text, "cannot get the identity of the caller: the connection to it is not encrypted") {
		t.Errorf("the task is %s", text)
	}
	if calls, _ := d.identities(); len(calls) != 0 {
		t.Errorf("calls: %q", calls)
	}
}

// redirect sends every request to one address.
type redirect struct{ at string }

func (e redirect) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = strings.TrimPrefix(e.at, "http://"), ""
	return http.DefaultTransport.RoundTrip(r)
}

// renewedToken sends a token that is valid until it is refused.
type renewedToken struct{ n atomic.Int32 }

func (r *renewedToken) Header(context.Context) (http.Header, error) {
	return http.Header{"X-Caller": {fmt.Sprint("token ", r.n.Load())}}, nil
}
func (r *renewedToken) Refused(context.Context) { r.n.Add(1) }

// TestRefusedTokenIsNotReused checks that a token that the agent refuses is not used again.
func TestRefusedTokenIsNotReused(t *testing.T) {
	t.Parallel()
	p, d := startRecorded(t, counting(nil), func(a *remote.Agent) { a.Identity = new(renewedToken) })
	p.peer.wrap = func(next http.Handler) http.Handler {
		return d.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Caller") == "token 0" {
				http.Error(w, "who?", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		}))
	}
	p.peer.restart()
	for _, want := range []task.State{task.Failed, task.Completed} {
		if got := p.hub.send(newSend("one " + want.String())); got.Head.State != want {
			t.Errorf("the task is %s, want it %v", describe(got), want)
		}
	}
}
