package directory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
)

// A hub reads the agents again that another hub on its store has registered, changed and removed. Agents
// in its files are not affected, nor those without a change.
func TestReread(t *testing.T) {
	t.Parallel()
	store := new(dirstore.Memory)
	file := source("agents.yaml", directory.Spec{Name: "mine", URL: "http://127.0.0.1:1/"})
	a := open(t, directory.Config{Store: store, Sealer: box{}})
	b := open(t, directory.Config{Store: store, Sealer: box{}, Sources: []directory.Source{file}})
	b.hub.take()
	one, two := startPeer(t, serveDocument(cardOf("one", "x"))), startPeer(t, serveDocument(cardOf("two", "y")))
	reread := func(want ...string) {
		t.Helper()
		if err := b.Reread(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.hub.take()); diff != "" {
			t.Errorf("calls of the registrar (-want +got):\n%s", diff)
		}
	}
	register := func(s directory.Spec) {
		t.Helper()
		if _, err := a.Register(t.Context(), s, false); err != nil {
			t.Fatal(err)
		}
	}
	register(directory.Spec{Name: "new", URL: one.URL, Call: bearer})
	reread("put new []")
	if e := b.get("new"); !e.Registered || e.Spec.Call.Credentials != bearer.Credentials || e.Spec.URL != one.URL {
		t.Errorf("the agent of another hub = %+v", e)
	}
	b.refresh("new")
	b.hub.take()
	reread()
	register(directory.Spec{Name: "new", URL: two.URL})
	reread("put new []")
	if e := b.get("new"); e.Spec.URL != two.URL || len(ids(e)) != 0 {
		t.Errorf("the agent after a change by another hub = %+v, want its new address without the old card", e)
	}
	if e, err := b.Register(t.Context(), directory.Spec{Name: "mine", URL: two.URL}, false); err == nil {
		t.Errorf("Register of a configured agent = %+v", e)
	}
	if _, err := a.Remove(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	reread("drop new")
	if diff := cmp.Diff([]string{"mine"}, b.names()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	register(directory.Spec{Name: "new", URL: one.URL})
	reread("put new []")
}
