package tables

import (
	"testing"

	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/task"
)

// TestWants: each row of a list is checked, so that an error in a statement shows no caller the items
// of another.
func TestWants(t *testing.T) {
	t.Parallel()
	q := inbox.Query{Owner: "ann"}
	for owner, want := range map[task.Owner]bool{"ann": true, "bob": false, "": false} {
		if got := wants(&q, &inbox.Item{Owner: owner}); got != want {
			t.Errorf("a query of ann selects an item of %q: %t, want %t", owner, got, want)
		}
	}
}

// TestKinds: a statement has room for all kinds, and a kind that does not exist takes none.
func TestKinds(t *testing.T) {
	t.Parallel()
	q := inbox.Query{Kinds: append([]inbox.Kind{"", "?", inbox.Notice}, inbox.Kinds()...)}
	if got := kindsOf(&q); got != [3]inbox.Kind(inbox.Kinds()) {
		t.Errorf("kinds of the query = %q, want all", got)
	}
	if n := len(inbox.Kinds()); n != len(kindsOf(&q)) {
		t.Errorf("there are %d kinds; the lists filter by up to %d", n, len(kindsOf(&q)))
	}
}
