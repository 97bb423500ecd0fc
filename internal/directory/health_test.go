package directory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/outbound/card"
)

// script is a scripted Fetcher that records the times of its calls.
type script struct {
	mu     sync.Mutex
	doc    string // empty while the agent does not answer
	began  time.Time
	asked  []string
	whole  int
	silent bool // blocks until the context ends
}

func (s *script) Fetch(ctx context.Context, r *directory.Request) (*card.Card, error) {
	s.mu.Lock()
	s.asked = append(s.asked, time.Since(s.began).Round(100*time.Millisecond).String())
	if r.ETag == "" {
		s.whole++
	}
	doc, silent := s.doc, s.silent
	s.mu.Unlock()
	switch {
	case silent:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case doc == "":
		return nil, errors.New("connection refused")
	case r.ETag == doc:
		return nil, card.ErrNotModified
	}
	c, err := card.Read([]byte(doc))
	if err == nil {
		c.ETag = doc
	}
	return c, err
}

func (s *script) set(doc string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc, s.silent, s.asked, s.whole, s.began = doc, false, nil, 0, time.Now()
}

func (s *script) take() ([]string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.whole
}

// middle is a Random without jitter.
func middle() float64 { return 0.5 }

// An agent that does not answer is probed again soon, then at growing intervals. Its return and
// its next failure are noticed. Each change is logged once.
func TestHealthOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{began: time.Now()}
		var changes []string
		b := open(t, directory.Config{Fetcher: s, Random: middle, Changed: func(c directory.Change) {
			changes = append(changes, fmt.Sprintf("%s %s card=%t gone=%t %s", c.Name, c.Health.State, c.Card, c.Gone, c.Health.Error))
		}, Sources: []directory.Source{source("f", spec("a", "http://a"))}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Run(ctx) }()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		asked, _ := s.take()
		want := []string{"0s", "1s", "3s", "7s", "15s", "31s", "1m3s", "2m3s", "3m3s", "4m3s"}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("asked at (-want +got):\n%s", diff)
		}
		e := b.get("a")
		if e.Health.State != directory.Down || e.Health.Error != "connection refused" || e.Health.Failures != 10 || b.Healthy("a") {
			t.Errorf("health = %+v", e.Health)
		}
		s.set(cardOf("a", "x"))
		time.Sleep(25 * time.Minute)
		synctest.Wait()
		asked, whole := s.take()
		if len(asked) != 25 || whole != 3 {
			t.Errorf("asked %d times, %d times for all of the card, want 25 and 3: the first time and every ten minutes", len(asked), whole)
		}
		if e := b.get("a"); e.Health.State != directory.Up || e.Health.Failures != 0 || !e.Health.Session || len(e.Skills) != 1 || !b.Healthy("a") {
			t.Errorf("the agent is back: %+v", e)
		}
		s.set("")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if e := b.get("a"); e.Health.State != directory.Down || len(e.Skills) != 1 {
			t.Errorf("the agent has vanished: %+v, want its skills kept", e)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if got := b.logs.count("agent unreachable"); got != 2 || b.logs.count("agent answers again") != 1 {
			t.Errorf("%d records of silence, want 2, and one of the return:\n%s", got, b.logs)
		}
		if diff := cmp.Diff([]string{"put a []", "put a [x]"}, b.hub.take()); diff != "" {
			t.Errorf("calls of the registrar (-want +got):\n%s", diff)
		}
		want = []string{
			"a down card=false gone=false connection refused", "a up card=false gone=false ", "a up card=true gone=false ",
			"a down card=false gone=false connection refused",
		}
		if diff := cmp.Diff(want, changes); diff != "" {
			t.Errorf("reported changes (-want +got):\n%s", diff)
		}
	})
}

// A probe times out after three seconds.
func TestProbeTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{silent: true, began: time.Now()}
		b := open(t, directory.Config{Fetcher: s, Sources: []directory.Source{source("f", spec("a", "http://a"))}})
		began := time.Now()
		_, p, err := b.Probe(t.Context(), "a")
		if err != nil || p.Reachable || time.Since(began) != 3*time.Second || p.Latency != 3*time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(began), p, err)
		}
		if !strings.HasPrefix(p.Error, "no answer within 3s") {
			t.Errorf("error %q", p.Error)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, p, _ := b.Probe(ctx, "a"); p.Reachable || b.get("a").Health.Failures != 1 {
			t.Errorf("after the agent went away: %+v, health %+v", p, b.get("a").Health)
		}
	})
}

// For any bad response in place of a card, the reason is reported, the agent remains callable,
// and other agents are not delayed.
func TestBadCards(t *testing.T) {
	t.Parallel()
	endless := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"name":"`)
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(strings.Repeat("x", 1<<16))); err != nil {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
		state  directory.State
	}{
		"HTML":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html><title>Welcome</title>") }, "", directory.Down},
		"endless": {endless, "", directory.Down},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		}, "", directory.Down},
		"nothing":     {http.NotFound, "no agent card", directory.Down},
		"empty":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, "", directory.Down},
		"broken":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, "502", directory.Down},
		"for members": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "401", directory.Up},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, tt.answer)
			b := open(t, directory.Config{Sources: []directory.Source{source("f", spec("a", p.URL, "x"))}})
			got := b.refresh("a")
			e := b.get("a")
			if got.Error == "" || !strings.Contains(got.Error, tt.want) || e.Health.State != tt.state || got.SkillCount != 1 {
				t.Errorf("Refresh = %+v, state %v", got, e.Health.State)
			}
			t.Logf("%s", got.Error)
			if b.logs.count("level=WARN") != 1 {
				t.Errorf("want one warning:\n%s", b.logs)
			}
			p.becomes(serveDocument(cardOf("a", "y")))
			if got := b.refresh("a"); got.Error != "" || got.SkillCount != 2 {
				t.Errorf("after it was mended: %+v", got)
			}
		})
	}
}

// Concurrent changes of sources, registrations, probes and lists leave the directory
// consistent.
func TestTogether(t *testing.T) {
	t.Parallel()
	s := source("f", spec("a", "http://a"))
	b := open(t, directory.Config{Sources: []directory.Source{s}, Fetcher: &script{doc: cardOf("a", "x"), began: time.Now()}, Probe: time.Millisecond})
	b.start()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 25 {
				name := fmt.Sprint("agent-", i)
				switch i {
				case 0:
					s.changes <- directory.Update{Specs: []directory.Spec{spec("a", fmt.Sprint("http://a", n)), spec("b", "http://b")}[:1+n%2]}
				default:
					if _, err := b.Register(t.Context(), directory.Spec{Name: directory.NameOf(name), URL: "https://x.example"}, false); err != nil {
						t.Error(err)
					}
					_, _, _ = b.Refresh(t.Context(), name)
					b.List()
					b.Search("does x", 3)
					if n%2 == 0 {
						if _, err := b.Remove(t.Context(), name); err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	s.changes <- directory.Update{Specs: []directory.Spec{spec("z", "http://z")}}
	s.changes <- directory.Update{Specs: []directory.Spec{spec("z", "http://z")}}
	if diff := cmp.Diff([]string{"z"}, b.names()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}
