package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

// TestCompare shows two tasks side by side, offers others, and shows no task of another caller.
func TestCompare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, bob, root := w.as(annsKey), w.as(bobsKey), w.as(rootKey)
	wants(t, ann.get("/console/compare"), 200, "Two tasks side by side", "<title>Compare · Parley</title>")
	one, two := ann.send("echo", "the first words"), ann.send("echo", "the other words")
	ask := ann.send("interview", "start")
	wants(t, ann.get("/console/compare?a="+one), 200, "Other tasks of the agent", "b="+two, "the other words")
	wants(t, ann.get("/console/compare?b="+ask), 200, "no other tasks", `name="a" value="`+ask)
	ann.events("/console/task/events?id="+ask+"&after=0", "input required")
	wants(t, ann.get("/console/compare?a="+one+"&b="+ask), 200, "the first words", "<b>echo</b>", "<b>interview</b>", "<b>input required</b>", "<title>echo and interview compared · Parley</title>")
	wants(t, ann.get("/console/task?id="+one), 200, "compare?a="+one)
	for _, path := range []string{"?a=" + one, "?a=" + one + "&ao=ann", "?a=" + one + "&b=" + two, "?b=" + one} {
		if a := bob.get("/console/compare" + path); a.code != 404 && a.code != 403 || strings.Contains(a.body, "the first words") {
			t.Errorf("bob compares ann's task: %d %s", a.code, a.body)
		}
	}
	wants(t, root.get("/console/compare?ao=ann&bo=ann&a="+one+"&b="+two), 200, "the first words", "the other words", "owner=ann")
	h := hostileWorld(t)
	p := h.person()
	last := p.send("echo", "x")
	for i, s := range hostiletest.Texts {
		q := url.QueryEscape(s)
		check(t, fmt.Sprintf("%q as an id", s), p.get("/console/compare?a="+q+"&b="+q+"&ao="+q).body)
		id := p.send(string(agentOf(i)), s)
		check(t, fmt.Sprintf("%q compared", s), p.get("/console/compare?a="+id+"&b="+last).body)
		check(t, fmt.Sprintf("%q offered", s), p.get("/console/compare?a="+id).body)
		last = id
	}
	check(t, "queues", p.get("/console/queues?find="+url.QueryEscape("<b>")).body)
}
