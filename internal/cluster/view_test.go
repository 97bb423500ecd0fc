package cluster

import (
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
)

func viewOf(ids ...string) View {
	var all []Member
	for i, id := range ids {
		all = append(all, Member{Hub: Hub{ID: id}, Epoch: int64(i + 1)})
	}
	return ViewOf(all)
}

// TestOwner: each of three members owns a third of all keys; if one leaves or joins, only its own keys move.
func TestOwner(t *testing.T) {
	t.Parallel()
	const keys = 30_000
	three, two, four := viewOf("a", "b", "c"), viewOf("a", "c"), viewOf("a", "b", "c", "d")
	owned := make(map[string]int)
	for key := range task.Key(keys) {
		id := three.OwnerOfTask(key)
		owned[id]++
		if now := two.OwnerOfTask(key); id != "b" && now != id {
			t.Fatalf("without b, the owner of %d changes from %s to %s", key, id, now)
		}
		if now := four.OwnerOfTask(key); now != "d" && now != id {
			t.Fatalf("with d, the owner of %d changes from %s to %s", key, id, now)
		}
	}
	names := make(map[string]int)
	for i := range keys {
		names[three.OwnerOf(fmt.Sprint("agent-", i))]++
	}
	for _, id := range []string{"a", "b", "c"} {
		if n := owned[id]; n < keys*3/10 || n > keys*4/10 {
			t.Errorf("hub %s owns %d of %d keys", id, n, keys)
		}
		if n := names[id]; n < keys*3/10 || n > keys*4/10 {
			t.Errorf("hub %s owns %d of %d names", id, n, keys)
		}
	}
	if id := (View{}).Owner(1); id != "" {
		t.Errorf("without members, %q owns a key", id)
	}
}
