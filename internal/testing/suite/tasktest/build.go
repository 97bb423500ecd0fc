package tasktest

import (
	"context"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// Epoch is the time at which the tests of the suite begin.
var Epoch = task.MillisOf(time.Date(2026, 3, 12, 9, 5, 0, 0, time.UTC))

// At returns the time ms milliseconds after Epoch.
func At(ms int64) task.Millis { return Epoch + task.Millis(ms) }

// NewHead returns the head of a task that is not stored yet, of agent "echo" in context "c".
func NewHead(owner task.Owner, id a2a.TaskID) task.Head {
	return task.Head{Owner: owner, ID: id, Agent: "echo", ContextID: "c"}
}

// Body returns a message or an artifact with one text part: an object whose first
// member is key with the value id.
func Body(key, id, text string) []byte {
	b := append(rawjson.AppendString([]byte{'{'}, key), ':')
	b = rawjson.AppendString(b, id)
	b = rawjson.AppendString(append(b, `,"parts":[{"text":`...), text)
	return append(b, `}]}`...)
}

// Created returns the first entry of a task in state SUBMITTED.
func Created(at task.Millis, text string) task.Entry {
	return task.Entry{Kind: task.Created, State: task.Submitted, At: at, Body: Body("messageId", "m1", text)}
}

// FollowUp returns a further message of the caller.
func FollowUp(at task.Millis, text string) task.Entry {
	return task.Entry{Kind: task.Message, At: at, Body: Body("messageId", text, text)}
}

// Status returns a status, without a message if text is empty.
func Status(at task.Millis, s task.State, text string) task.Entry {
	e := task.Entry{Kind: task.Status, State: s, At: at}
	if text != "" {
		e.Body = Body("messageId", text, text)
	}
	return e
}

// Chunk returns a chunk of an artifact.
func Chunk(at task.Millis, id a2a.ArtifactID, text string) task.Entry {
	return task.Entry{
		Kind: task.Artifact, At: at, ArtifactID: id, Append: true,
		Body: Body("artifactId", string(id), text),
	}
}

// Step returns the change that applies the entries, if any, to h. It fails the test if
// task.Apply refuses one.
func Step(t testing.TB, h task.Head, es ...task.Entry) *task.Change {
	t.Helper()
	c, err := Try(h, es...)
	if err != nil {
		t.Fatalf("step %s: %v", h.ID, err)
	}
	return c
}

// Try is like Step for changes that may be refused. If the task is not stored yet, h only names
// it, and Prev is the zero head.
func Try(h task.Head, es ...task.Entry) (*task.Change, error) {
	c := &task.Change{Prev: h, Next: h}
	if h.Rev == 0 {
		c.Prev = task.Head{}
	}
	for _, e := range es {
		next, stored, err := task.Apply(c.Next, e)
		if err != nil {
			return nil, err
		}
		c.Next, c.Entries = next, append(c.Entries, stored)
	}
	c.Next.Rev++
	return c, nil
}

// Append applies the entries to h, stores them in one change, and returns the new head. It
// fails the test on errors.
func Append(t testing.TB, s task.Log, h task.Head, es ...task.Entry) task.Head {
	t.Helper()
	c := Step(t, h, es...)
	if err := s.Append(context.Background(), c); err != nil {
		t.Fatalf("Append(%s, %d entries) = %v", h.ID, len(es), err)
	}
	return c.Next
}

// Alter changes only the row of a task, and returns the new head.
func Alter(t testing.TB, s task.Log, h task.Head, change func(*task.Head)) task.Head {
	t.Helper()
	c := Step(t, h)
	change(&c.Next)
	if err := s.Append(context.Background(), c); err != nil {
		t.Fatalf("Append(%s, row) = %v", h.ID, err)
	}
	return c.Next
}

// Log returns all entries of a task, page by page.
func Log(t testing.TB, s task.Log, key task.Key) []task.Entry {
	t.Helper()
	var all []task.Entry
	for {
		page, err := s.Read(context.Background(), key, int64(len(all)))
		if err != nil {
			t.Fatalf("Read(%d, %d) = %v", key, len(all), err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}
