package console_test

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/testing/hostiletest"
	"github.com/parley-a2a/parley/internal/trust"
)

// TestAlways approves the skill of a caller for one message, and for all further ones.
func TestAlways(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	put := func(it inbox.Item) {
		it.Kind, it.Owner, it.Agent, it.Text = inbox.Approval, "bob", "echo", "May I?"
		if _, err := w.inbox.Put(t.Context(), &it); err != nil {
			t.Fatal(err)
		}
	}
	propose := trust.Propose
	if _, err := w.trust.Set(t.Context(), "bob", &trust.Change{Level: propose, Approve: []string{"print"}}); err != nil {
		t.Fatal(err)
	}
	put(inbox.Item{ID: "one", Caller: "bob", Skill: "pay"})
	put(inbox.Item{ID: "two", Caller: "bob"})
	put(inbox.Item{ID: "three", Skill: "pay"})
	root := w.as(rootKey)
	a := root.get("/console/inbox")
	wants(t, a, 200, "pay runs for bob without an approval", "approved already: <code>print</code>")
	if n := strings.Count(a.body, `value="always"`); n != 1 {
		t.Errorf("%d items may be approved always", n)
	}
	w.as(annsKey).post("/console/inbox", "id", "one", "verb", "always")
	if e := w.trust.Level(context.Background(), "bob"); e.Level != trust.Propose {
		t.Errorf("a caller that is no administrator has changed the trust to %v", e)
	}
	root.get("/console/inbox")
	wants(t, root.post("/console/inbox", "id", "one", "verb", "always", "text", "go", "skill", "steal", "caller", "ann"), 200)
	e := w.trust.Level(context.Background(), "bob")
	if diff := cmp.Diff([]string{"pay", "print"}, e.Skills); diff != "" || e.Level != trust.Act {
		t.Errorf("level %s, skills (-want +got):\n%s", e.Level, diff)
	}
	if e := w.trust.Level(context.Background(), "ann"); e.Level != trust.Observe {
		t.Errorf("ann has the level %s", e.Level)
	}
	wants(t, root.get("/console/inbox?state=all"), 200, "approved", "by root")
	wants(t, root.post("/console/inbox", "id", "one", "verb", "always"), 409, "root")
	wants(t, root.post("/console/inbox", "id", "two", "verb", "always"), 409, "names no skill")
}

// TestDemands checks how the page of an agent shows the ways to authenticate: those of its card, with
// texts of others as text, and none for an agent without.
func TestDemands(t *testing.T) {
	t.Parallel()
	c := hostiletest.Card("shop")
	c.SecuritySchemes = a2a.NamedSecuritySchemes{"key": a2a.APIKeySecurityScheme{Location: "header", Name: "X-Shop-Key", Description: "Ask the <b>shop</b>."}}
	c.SecurityRequirements = a2a.SecurityRequirementsOptions{{"key": {}}}
	p := newWorld(t, false, engine.Agent{Name: "shop", Card: c, Executor: hostiletest.Executor("x")}).person()
	wants(t, p.get("/console/try?agent=shop"), 200, "<b>key</b> key", "X-Shop-Key in the header · Ask the &lt;b&gt;shop&lt;/b&gt;.", "A caller needs key.")
	if s := p.get("/console/try?agent=echo").body; strings.Contains(s, "Security") {
		t.Error("an agent without schemes has some")
	}
}
