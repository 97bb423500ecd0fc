package bridges

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/dialecttest"
)

// A task that was created in one dialect is read, continued, streamed, canceled, listed and
// followed by webhooks in every other dialect that has the operation. An operation that a
// dialect lacks must not change the task. The log shows the table.
func TestBridges(t *testing.T) {
	t.Parallel()
	b := &bridge{hub: start(t)}
	all := dialecttest.All()
	b.configurer = &all[0]
	var table strings.Builder
	fmt.Fprintf(&table, "%-13s%-13s", "made in", "used in")
	for _, o := range dialecttest.Operations() {
		fmt.Fprintf(&table, "%-*s", width(o), o)
	}
	for i := range all {
		for j := range all {
			fmt.Fprintf(&table, "\n%-13s%-13s", all[i].Name, all[j].Name)
			for _, o := range dialecttest.Operations() {
				fmt.Fprintf(&table, "%-*s", width(o), b.cell(&all[i], &all[j], o))
			}
		}
	}
	t.Logf("\n%s", &table)
}

// width returns the width of an operation's column.
func width(operation string) int { return max(len(operation), len("works")) + 2 }

// Each dialect gets the card of the hub in a layout that its clients read.
func TestBridgesOfCards(t *testing.T) {
	t.Parallel()
	h := start(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-13s%-8s%-8s", "cards in", "public", "extended")
	for _, to := range dialecttest.All() {
		fmt.Fprintf(&table, "\n%-13s", to.Name)
		for _, w := range []dialecttest.Exchange{to.Public, to.Extended} {
			result := "none"
			if w.Request != "" {
				result = h.try(&to, w, false)
			}
			fmt.Fprintf(&table, "%-8s", result)
		}
	}
	t.Logf("\n%s", &table)
}

// Every dialect declares each operation as present or lacking.
func TestEveryOperationIsDeclared(t *testing.T) {
	t.Parallel()
	for _, to := range dialecttest.All() {
		if n := len(to.Has) + len(to.Lacks); n != len(dialecttest.Operations()) {
			t.Errorf("%s declares %d operations, want %d", to.Name, n, len(dialecttest.Operations()))
		}
		for _, o := range dialecttest.Operations() {
			_, has := to.Has[o]
			if _, lacks := to.Lacks[o]; has == lacks {
				t.Errorf("%s has %s: %v, lacks it: %v", to.Name, o, has, lacks)
			}
		}
	}
}

type bridge struct {
	*hub
	// configurer creates webhooks if the dialect of the task has none.
	configurer *dialecttest.Tongue
	n          int
}

// cell creates a task in one dialect, performs an operation in another one, and returns the
// result.
func (b *bridge) cell(from, to *dialecttest.Tongue, operation string) string {
	b.t.Helper()
	b.n++
	names := strings.NewReplacer("$CTX", fmt.Sprint("context-", b.n), "$NEW", fmt.Sprint("job-", b.n))
	made := b.say(from, names.Replace(from.Make.Request), false)
	if !strings.Contains(made, from.Make.Want) {
		b.t.Fatalf("%s: made %s", from.Name, made)
	}
	id := b.find(fmt.Sprint("context-", b.n))
	names = strings.NewReplacer("$ID", id, "$CTX", fmt.Sprint("context-", b.n),
		"$NEW", fmt.Sprint("next-", b.n), "$CONFIG", fmt.Sprint("config-", b.n))
	if strings.HasPrefix(operation, "push") && operation != "push" {
		b.configure(from, names)
	}
	if w, lacks := to.Lacks[operation]; lacks {
		before := b.seen(names)
		if b.try(to, with(w, names), false) != "works" {
			return "FAILS"
		}
		if after := b.seen(names); after != before {
			b.t.Errorf("%s lacks %s, and changes %s\nto %s", to.Name, operation, before, after)
			return "FAILS"
		}
		return "none"
	}
	result := b.try(to, with(to.Has[operation], names), operation == "subscribe")
	if there := strings.Contains(b.seen(names), names.Replace("https://a.example/$CONFIG")); strings.HasPrefix(operation, "push") && there == (operation == "pushDelete") {
		b.t.Errorf("made in %s, %s in %s: the webhook is there: %v", from.Name, operation, to.Name, there)
		return "FAILS"
	}
	return result
}

// with replaces the placeholders in words.
func with(w dialecttest.Exchange, names *strings.Replacer) dialecttest.Exchange {
	return dialecttest.Exchange{Request: names.Replace(w.Request), Want: names.Replace(w.Want)}
}

// try sends a request and checks the answer.
func (h *hub) try(to *dialecttest.Tongue, w dialecttest.Exchange, first bool) string {
	h.t.Helper()
	if got := h.say(to, w.Request, first); !strings.Contains(got, w.Want) {
		h.t.Errorf("in %s %s\ngot %s\nwant %s", to.Name, w.Request, got, w.Want)
		return "FAILS"
	}
	return "works"
}

// configure creates a webhook in the dialect of the task, if that has webhooks.
func (b *bridge) configure(from *dialecttest.Tongue, names *strings.Replacer) {
	b.t.Helper()
	w, has := from.Has["push"]
	if !has {
		from, w = b.configurer, b.configurer.Has["push"]
	}
	b.try(from, with(w, names), false)
}

// seen returns the v1.0 view of a task and its webhooks.
func (b *bridge) seen(names *strings.Replacer) string {
	b.t.Helper()
	as := b.configurer
	return b.say(as, names.Replace(as.Has["get"].Request), false) + b.say(as, names.Replace(as.Has["pushList"].Request), false)
}

// find returns the id of the task of a context.
func (b *bridge) find(contextID string) string {
	b.t.Helper()
	got := b.say(&dialecttest.Tongue{Name: "finder"}, "GET /v1/a2a/tasks?contextId="+contextID, false)
	_, rest, _ := strings.Cut(got, `"tasks":[{"id":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		b.t.Fatalf("no task of %s: %s", contextID, got)
	}
	return id
}
