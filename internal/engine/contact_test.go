package engine_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
)

// TestContacts counts the messages of callers, except those that are refused, repeated,
// anonymous, or sent by agents on their behalf; requests about tasks do not count either.
func TestContacts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]int{}
	cfg := byHeader
	cfg.Observer = engine.ObserverFuncs{OnAdmitted: func(p *auth.Principal) {
		mu.Lock()
		defer mu.Unlock()
		got[p.ID]++
	}}
	b := start(t, cfg, asks("other", "", nil))
	b.register("other", words("x"))
	b.register("asking", asking())
	b.send(text("one")) // the task of the other agent does not count
	first := text("two")
	first.Target.Agent = "asking"
	id := b.send(first).Head.ID
	b.send(reply(id, "b"))
	s, err := b.Stream(t.Context(), alice, text("three"))
	if err != nil {
		t.Fatal(err)
	}
	follow(t, s)
	for range 3 {
		b.send(key("k", text("four")))
	}
	b.get(id)
	nowhere := text("five")
	nowhere.Target.Agent = "unknown"
	for _, r := range []*op.Send{nowhere, reply("none", "x"), reply(id, "late")} {
		if a, err := b.Send(t.Context(), alice, r); err == nil {
			t.Errorf("Send = %v, want an error", a.Head.State)
		}
	}
	if _, err := b.Send(t.Context(), &op.Caller{Principal: &auth.Principal{ID: auth.Local}}, text("six")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Send(t.Context(), caller("bob"), text("seven")); err != nil {
		t.Fatal(err)
	}
	b.stop()
	if diff := cmp.Diff(map[string]int{"alice": 5, "bob": 1}, got); diff != "" {
		t.Errorf("contacts (-want +got):\n%s", diff)
	}
}
