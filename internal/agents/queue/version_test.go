package queue_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// unread returns the envelope that a receiver of another version moves to Dead in place of bytes.
func unread(t *testing.T, data []byte, reason string) *bus.Envelope {
	t.Helper()
	body, err := json.Marshal(&bus.Unreadable{Bytes: data, Size: len(data)})
	if err != nil {
		t.Fatal(err)
	}
	return &bus.Envelope{
		ID: "unreadable", Type: bus.TypeUnreadable, Source: "worker/other", Reason: reason, Queue: protocol.JobAt("far").Name, Body: body,
	}
}

// version1 returns an envelope as a program of version 1 encodes it.
func version1(t *testing.T, e *bus.Envelope) []byte {
	t.Helper()
	data, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(data, []byte(`"v":2`), []byte(`"v":1`), 1)
}

func (h *hub) publishDead(e *bus.Envelope) {
	h.t.Helper()
	if err := h.bus.Publish(h.t.Context(), bus.Dead, e); err != nil {
		h.t.Fatal(err)
	}
}

// TestOtherVersions: a task fails with the version that its worker lacks, and work that an older version of
// the hub has left in the queue is published again.
func TestOtherVersions(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]bool{"worker": false, "hub": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, p := startManual(t)
				run(t, &queue.DeadLetters{Bus: h.bus.Peer(), Store: new(queue.MemLetters), Undelivered: h.dispatcher.Undeliverable})
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				j := p.take()
				data, err := j.d.Encode()
				if err != nil {
					t.Fatal(err)
				}
				if err := j.d.Ack(t.Context()); err != nil {
					t.Fatal(err)
				}
				const refused = "version 1 of the wire contract, version 2 is required"
				if older {
					h.publishDead(unread(t, version1(t, j.d.Envelope), refused))
					p.take().granted(false).report(1, completed)
					h.wait(id, task.Completed)
					return
				}
				h.publishDead(unread(t, version1(t, unread(t, data, "version 2, 1 is known")), refused))
				if got := describe(h.wait(id, task.Failed)); got != `TASK_STATE_FAILED no worker of agent "far" could take the message: version 2, 1 is known` {
					t.Errorf("the task is %s", got)
				}
			})
		})
	}
}

// TestReplayOfAnOlderLetter replays work that a hub of version 1 has signed, and whose letter is in the data folder.
func TestReplayOfAnOlderLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, store := new(bus.Memory), new(queue.MemLetters)
		s, err := bus.NewSigner("h1", make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		l, err := queue.LetterOf(work("h1", "t1"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		l.Queue = protocol.JobAt("a").Name
		l.Envelope = json.RawMessage(`{"v":1,"id":"e1","type":"job.work","time":5,"source":"hub/h1","task":"t1","owner":"ann","body":{"agent":"a"},"signature":{"key":"139e3940e64b5491","value":"anBoPhJjotQwTOJuJeQh3l1awyoQtNU2oG/KdIQwvR8WYZNb6KI0Pwpgh2m5ieiotmxnKJCk9rfXxV3c3/IHBA=="}}`)
		if err := store.PutLetter(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if _, err := (&queue.DeadLetters{Bus: b, Store: store, Signer: s}).Replay(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
		for d, err := range b.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("a")}) {
			if err != nil || d.Version != bus.Version || d.Task != "t1" {
				t.Errorf("the replayed work is %+v, %v", d.Envelope, err)
			}
			break
		}
	})
}
