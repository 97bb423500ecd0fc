package adminapi_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// inboxSpy records the calls of an inbox.
type inboxSpy struct {
	inbox.Store
	mu    sync.Mutex // guards asked
	asked []string
}

func (s *inboxSpy) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf(format, args...))
}

func (s *inboxSpy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// Items implements inbox.Store.
func (s *inboxSpy) Items(ctx context.Context, q *inbox.Query) ([]inbox.Item, error) {
	s.note("items of id %q, owner %q, kinds %v", q.ID, q.Owner, q.Kinds)
	return s.Store.Items(ctx, q)
}

// SettleItem implements inbox.Store.
func (s *inboxSpy) SettleItem(ctx context.Context, id inbox.ID, x *inbox.Settlement) (inbox.Item, error) {
	s.note("settle %q", id)
	return s.Store.SettleItem(ctx, id, x)
}

// TestInboxAsksTheSameForForeignItems makes each request about an item of ann, and about one that
// does not exist, as bob. The answers have the same bytes, and the store is asked the same, so
// that they take the same time. A list asks the store for bob's own items alone.
func TestInboxAsksTheSameForForeignItems(t *testing.T) {
	t.Parallel()
	s := &inboxSpy{Store: new(inbox.Memory)}
	b := &inbox.Inbox{Store: s}
	e := engine.New(engine.Config{Store: new(memstore.Store)})
	h := &adminapi.Handler{Hub: e, Inbox: b}
	for id, kind := range map[inbox.ID]inbox.Kind{"annsquestion": inbox.Question, "annsapproval": inbox.Approval, "annsnotice": inbox.Notice} {
		if _, err := b.Put(t.Context(), &inbox.Item{ID: id, Kind: kind, Owner: "ann", Task: "t1", Caller: "ann", Text: "annmark"}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(method, path, body string) (answer string, asked []string) {
		s.take()
		a := as(t, h, bob, method+" /api/v1/inbox"+path, body)
		if strings.Contains(a.body, "annmark") {
			t.Errorf("%s %s: bob learns of ann: %s", method, path, a.body)
		}
		return fmt.Sprintln(a.code, a.header, a.body), s.take()
	}
	for _, id := range []string{"annsquestion", "annsapproval", "annsnotice"} {
		for _, request := range []string{"GET ", "HEAD ", "POST /answer", "POST /approve", "POST /refuse"} {
			method, verb, _ := strings.Cut(request, " ")
			missing := strings.Repeat("z", len(id))
			foreign, asked := ask(method, "/"+id+verb, `{"text":"x"}`)
			none, askedNone := ask(method, "/"+missing+verb, `{"text":"x"}`)
			if !strings.HasPrefix(foreign, "404 ") || strings.ReplaceAll(foreign, id, missing) != none {
				t.Errorf("%s of %s:\nforeign %s\nmissing %s", request, id, foreign, none)
			}
			if diff := cmp.Diff(askedNone, strings.Split(strings.ReplaceAll(strings.Join(asked, "\n"), id, missing), "\n")); diff != "" {
				t.Errorf("%s of %s: the store is asked differently (-missing +foreign):\n%s", request, id, diff)
			}
		}
	}
	for _, query := range []string{"", "?state=all", "?kind=question", "?kind=approval", "?kind=notice&state=all", "?pageSize=1"} {
		_, asked := ask("GET", query, "")
		for _, call := range asked {
			if !strings.Contains(call, `owner "bob"`) {
				t.Errorf("GET %s asks for %s, want the items of bob alone", query, call)
			}
		}
	}
}
