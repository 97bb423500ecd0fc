package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bobs are the clients that play; the first uses the SDK of the sample.
var bobs = []string{"python-0.3", "python-1.3", "js-1.3", "go-2.4"}

// TestSamplesGame makes Bob of the sample number_guessing_game play with Alice and Carol, who
// are behind a hub. Alice ends a task for each guess. Carol shuffles Bob's guesses until they
// are in order, all in one task that asks with artifacts alone; Carol recognizes a follow-up
// only by its referenced tasks.
func TestSamplesGame(t *testing.T) {
	t.Parallel()
	there := startForeign(t, "python/v03", python("players.py")(t, "python/v03"))
	dir := t.TempDir()
	config := fmt.Sprintf("agents_builtin: false\nagents:\n  - {name: alice, url: \"%[1]s/alice\"}\n"+
		"  - {name: carol, url: \"%[1]s/carol\", questions: suspend}\n", there)
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	hub, _ := serveHub(t, dir, "--data", t.TempDir())
	for _, name := range bobs {
		p := &peers[slices.IndexFunc(peers, func(p peer) bool { return p.name == name })]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bob{&caller{TB: t, peer: p, binding: "JSONRPC", client: p.start(t, hub, "JSONRPC"), ctx: t.Context()}}
			guesses := b.guess()
			b.show(guesses)
			b.sort(guesses)
			b.stop(guesses)
		})
	}
}

// bob is the player that guesses.
type bob struct{ *caller }

// guess is a guess with Alice's answer.
type guess struct {
	Guess    int    `json:"guess"`
	Response string `json:"response"`
}

// say sends a message, as a follow-up of a task unless that is nil. It returns the task with
// the text of its last artifact.
func (b *bob) say(agent, words string, follows *task) (*task, string) {
	b.Helper()
	members := obj{}
	if follows != nil {
		members = obj{"taskId": follows.ID, "contextId": follows.ContextID, "referenceTaskIds": []string{follows.ID}}
	}
	t := b.send(agent, with(members, obj{"text": words}))
	if len(t.Artifacts) == 0 {
		b.Fatalf("%s has no artifact for %q: %+v, %s", agent, words, t, textOf(t.Status.Message))
	}
	return &t, text(t.Artifacts[len(t.Artifacts)-1].Parts)
}

// textOf returns the text of a message, or "" without one.
func textOf(m *message) string {
	if m == nil {
		return ""
	}
	return text(m.Parts)
}

// guess halves the range of the number until Alice reports that it is found.
func (b *bob) guess() []guess {
	var guesses []guess
	tasks := make(map[string]bool)
	for low, high := 1, 100; low <= high; {
		n := (low + high) / 2
		t, verdict := b.say("alice", strconv.Itoa(n), nil)
		b.wantState(*t, "COMPLETED")
		tasks[t.ID] = true
		guesses = append(guesses, guess{n, verdict})
		switch verdict {
		case "Go higher":
			low = n + 1
		case "Go lower":
			high = n - 1
		case "correct!":
			if len(tasks) != len(guesses) {
				b.Errorf("%d tasks for %d guesses", len(tasks), len(guesses))
			}
			return guesses
		default:
			b.Fatalf("Alice says %q", verdict)
		}
	}
	b.Fatalf("the number was not found: %v", guesses)
	return nil
}

// show makes Carol list the guesses.
func (b *bob) show(guesses []guess) {
	t, table := b.say("carol", b.written(guesses), nil)
	b.wantState(*t, "INPUT_REQUIRED")
	if want := fmt.Sprintf("%d. %d -> correct!", len(guesses), guesses[len(guesses)-1].Guess); !strings.HasSuffix(table, want) {
		b.Errorf("Carol shows %q, want %q at its end", table, want)
	}
}

// sort makes Carol shuffle the guesses until they are in order, and thanks her.
func (b *bob) sort(guesses []guess) {
	want := slices.SortedFunc(slices.Values(guesses), func(x, y guess) int { return x.Guess - y.Guess })
	t, shuffled := b.say("carol", b.written(obj{"action": "shuffle", "history": guesses}), nil)
	id, turns := t.ID, 1
	for {
		b.wantState(*t, "INPUT_REQUIRED")
		if t.ID != id || len(t.Artifacts) != turns {
			b.Fatalf("after %d turns the task %s has %d artifacts; want the task %s", turns, t.ID, len(t.Artifacts), id)
		}
		got := decode[[]guess](b.caller, json.RawMessage(shuffled))
		if cmp.Equal(want, got) {
			break
		}
		if turns++; turns > 400 {
			b.Fatal("the guesses are not in order after 400 turns")
		}
		t, shuffled = b.say("carol", "Try again", t)
	}
	t, _ = b.say("carol", "Well done!", t)
	b.wantState(*t, "COMPLETED")
}

// stop makes Carol shuffle once, and cancels the task that asks.
func (b *bob) stop(guesses []guess) {
	t, _ := b.say("carol", b.written(obj{"action": "shuffle", "history": guesses}), nil)
	canceled := decode[task](b.caller, b.do("carol", "cancel", obj{"id": t.ID}))
	b.wantState(canceled, "CANCELED")
}

func (b *bob) written(v any) string {
	b.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}
