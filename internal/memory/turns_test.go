package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// reading is a log that counts reads.
type reading struct {
	*memstore.Store
	reads int
}

// conversation is a context with a conversation between a caller and an agent.
type conversation struct {
	t     *testing.T
	log   *memstore.Store
	turns *memory.Turns
	at    task.Millis
}

func newConversation(t *testing.T) *conversation {
	log := new(memstore.Store)
	return &conversation{t: t, log: log, turns: &memory.Turns{Log: log}, at: task.MillisOf(time.Now().Add(-time.Hour))}
}

// now returns a strictly increasing time.
func (k *conversation) now() task.Millis {
	k.at++
	return k.at
}

// wants compares the turns of the conversation.
func (k *conversation) wants(want ...string) {
	k.t.Helper()
	all, err := k.turns.Continue(k.t.Context(), "alice", "c")
	if err != nil {
		k.t.Fatal(err)
	}
	var got []string
	for _, turn := range all {
		got = append(got, turn.Role+": "+turn.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("turns (-want +got):\n%s", diff)
	}
}

// A conversation that is read while it continues has its later turns in the next read, each
// exactly once.
func TestConversationContinues(t *testing.T) {
	t.Parallel()
	k := newConversation(t)
	first := tasktest.Append(t, k.log, tasktest.NewHead("alice", "t1"), tasktest.Created(k.now(), "hello"))
	k.wants("caller: hello")
	first = tasktest.Append(t, k.log, first, tasktest.Status(k.now(), task.InputRequired, "who is there?"))
	k.wants("caller: hello", "agent: who is there?")
	second := tasktest.Append(t, k.log, tasktest.NewHead("alice", "t2"), tasktest.Created(k.now(), "another thing"))
	first = tasktest.Append(t, k.log, first, tasktest.FollowUp(k.now(), "me"))
	tasktest.Append(t, k.log, second, tasktest.Status(k.now(), task.Completed, "done"))
	tasktest.Append(t, k.log, first, tasktest.Status(k.now(), task.Completed, "welcome"))
	for range 2 {
		k.wants("caller: hello", "agent: who is there?", "caller: another thing", "caller: me", "agent: done", "agent: welcome")
	}
}

// A question of an agent is part of the conversation, even if the hub answers it.
func TestQuestionsToTheHubAreTurns(t *testing.T) {
	t.Parallel()
	k := newConversation(t)
	asks := tasktest.Status(k.now(), task.Working, "which city?")
	asks.Meta = []byte(`{"parley.question":{"number":1,"kind":"input","message":"which city?"}}`)
	waits := tasktest.Status(k.now(), task.Working, "this waits for a person: which city?")
	waits.Meta = []byte(`{"parley.question":{"number":1,"kind":"input","message":"which city?","note":"n","version":2}}`)
	working := tasktest.Status(k.now(), task.Working, "on my way")
	working.Meta = []byte(`{"other":1}`)
	tasktest.Append(t, k.log, tasktest.NewHead("alice", "t1"),
		tasktest.Created(k.at, "the weather"), asks, waits, tasktest.FollowUp(k.now(), "Paris"), working,
		tasktest.Status(k.now(), task.Completed, "sunny"))
	k.wants("caller: the weather", "agent: which city?", "caller: Paris", "agent: sunny")
}

// Messages between agents on behalf of a caller are not turns of the caller.
func TestDelegationsAreNoTurns(t *testing.T) {
	t.Parallel()
	k := newConversation(t)
	parent := tasktest.Append(t, k.log, tasktest.NewHead("alice", "t1"), tasktest.Created(k.now(), "the weather"))
	child := tasktest.Step(t, tasktest.NewHead("alice", "t2"),
		tasktest.Created(k.now(), "which city?"), tasktest.Status(k.now(), task.Completed, "Paris"))
	child.Sidecars[task.SidecarLineage] = (&task.Lineage{Parent: parent.Key, Root: parent.Key, Hops: 1}).Encode()
	if err := k.log.Append(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	tasktest.Append(t, k.log, parent, tasktest.Status(k.now(), task.Completed, "sunny"))
	k.wants("caller: the weather", "agent: sunny")
}

// The output of a failed task is not presented as an answer.
func TestFailuresAreNoAnswers(t *testing.T) {
	t.Parallel()
	k := newConversation(t)
	for id, text := range map[a2a.TaskID]string{"t1": "it broke", "t2": ""} {
		tasktest.Append(t, k.log, tasktest.NewHead("alice", id), tasktest.Created(k.now(), "try"),
			tasktest.Chunk(k.now(), "a", "half"), tasktest.Status(k.now(), task.Failed, text))
		k.turns.Keep = 2
		if text == "" {
			k.wants("caller: try", "agent: half")
		} else {
			k.wants("caller: try", "agent: it broke\n\nUntil then it said:\nhalf")
		}
	}
}

// Turns that were dropped or are too old are not rebuilt from the log.
func TestDroppedTurnsAreNotRebuilt(t *testing.T) {
	t.Parallel()
	k := newConversation(t)
	k.turns.Keep = 3
	for i := range 5 {
		tasktest.Append(t, k.log, tasktest.NewHead("alice", a2a.TaskID(fmt.Sprint(i))),
			tasktest.Created(k.now(), fmt.Sprint("ask ", i)), tasktest.Status(k.now(), task.Completed, fmt.Sprint("answer ", i)))
		if i == 0 {
			k.wants("caller: ask 0", "agent: answer 0")
		}
	}
	for range 3 {
		k.wants("agent: answer 3", "caller: ask 4", "agent: answer 4")
	}
	k.turns = &memory.Turns{Log: k.log, Retention: time.Minute}
	k.wants()
}

// Read counts the call and reads the log.
func (r *reading) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	r.reads++
	return r.Store.Read(ctx, key, after)
}

// The tasks of a long conversation are not read repeatedly.
func TestEndedTasksAreReadOnce(t *testing.T) {
	t.Parallel()
	k := newConversation(t)
	log := &reading{Store: k.log}
	k.turns.Log = log
	tasktest.Append(t, k.log, tasktest.NewHead("alice", "t1"),
		tasktest.Created(k.now(), "hello"), tasktest.Status(k.now(), task.Completed, "hi"))
	k.wants("caller: hello", "agent: hi")
	before := log.reads
	k.wants("caller: hello", "agent: hi")
	if log.reads != before || before == 0 {
		t.Errorf("an ended task is read %d times, then %d more", before, log.reads-before)
	}
}
