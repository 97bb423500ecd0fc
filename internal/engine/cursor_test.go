package engine

import (
	"encoding/base64"
	"errors"
	"strconv"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// A page token is valid only for the list of the caller that received it, and no other text is
// accepted.
func FuzzPageToken(f *testing.F) {
	tokens := newTokens([]byte("0123456789abcdef0123456789abcdef"))
	good := tokens.encode(&task.Query{Owner: "alice", Agent: "echo"}, task.Cursor{At: 7, Key: 9})
	f.Add(good, "alice", "echo", "", int64(7), int64(9))
	f.Add(good[:42]+string(good[42]+1), "alice", "echo", "", int64(7), int64(9))
	f.Add(good+"=", "alice", "echo", "", int64(-1), int64(1)<<62)
	f.Add(base64.StdEncoding.EncodeToString(make([]byte, positionSize+sumSize)), "", "", "c", int64(0), int64(0))
	f.Fuzz(func(t *testing.T, token, owner, agent, context string, at, key int64) {
		q := &task.Query{Owner: task.Owner(owner), Agent: task.Agent(agent), ContextID: context}
		want := task.Cursor{At: task.Millis(at), Key: task.Key(key)}
		made := tokens.encode(q, want)
		if got, err := tokens.decode(q, made); got != want || err != nil {
			t.Errorf("decode(encode(%+v)) = %+v, %v", want, got, err)
		}
		for _, other := range []*task.Query{
			{Owner: q.Owner + "x", Agent: q.Agent, ContextID: q.ContextID},
			{Owner: q.Owner, Agent: q.Agent + "x", ContextID: q.ContextID},
			{Owner: q.Owner, Agent: q.Agent, ContextID: q.ContextID + "x"},
			{Owner: q.Owner, Agent: q.Agent, ContextID: q.ContextID, State: task.Working},
			{Owner: q.Owner, Agent: q.Agent, ContextID: q.ContextID, Since: 1},
			{Owner: q.Owner, Agent: q.Agent, ContextID: q.ContextID, AllOwners: true},
		} {
			if _, err := tokens.decode(other, made); !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("the token of %+v counts for %+v: %v", q, other, err)
			}
		}
		if _, err := tokens.decode(q, token); err == nil && token != "" && token != good && token != made {
			t.Errorf("decode(%q) accepts an invalid token", token)
		}
	})
}

// FuzzPushToken is FuzzPageToken for lists of webhooks.
func FuzzPushToken(f *testing.F) {
	h := &task.Head{Key: 3, ID: "t", Owner: "alice"}
	f.Add(encodePushToken(h, "a"), "a", int64(3))
	f.Add("AAAAAAAAAAAx", "\x00", int64(0))
	f.Fuzz(func(t *testing.T, token, id string, key int64) {
		own := &task.Head{Key: task.Key(key), ID: "t", Owner: "alice"}
		if id != "" {
			made := encodePushToken(own, id)
			if got, err := decodePushToken(own, made); got != id || err != nil {
				t.Errorf("decodePushToken(%q) = %q, %v, want %q", made, got, err, id)
			}
			other := &task.Head{Key: own.Key, ID: "u", Owner: "alice"}
			if _, err := decodePushToken(other, made); !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("the token of one task counts for another: %v", err)
			}
		}
		got, err := decodePushToken(own, token)
		if err == nil && token != "" && token != encodePushToken(own, got) {
			t.Errorf("decodePushToken(%q) = %q", token, got)
		}
		if err != nil && !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("decodePushToken(%q) = %v", token, err)
		}
	})
}

// For any last event id, a reader resumes after a version that the task has, or from the
// beginning. It skips no event, and does not wait for versions that it names beyond the task.
func FuzzLastEventID(f *testing.F) {
	for _, id := range []string{"", "1", "5", "6", "0", "-1", "+1", " 1", "1 ", "0x1", "9223372036854775808", "1e0", "١", "01", "\x00"} {
		f.Add(id, int64(5), true)
		f.Add(id, int64(5), false)
	}
	f.Fuzz(func(t *testing.T, id string, version int64, ended bool) {
		if version < 1 {
			return
		}
		h := task.Head{ID: "t", Version: version, State: task.Working}
		if ended {
			h.State = task.Completed
		}
		v, ok := resumeAt(&h, id)
		n, err := strconv.ParseInt(id, 10, 64)
		switch {
		case ok && (v < 1 || v > version || err != nil || v != n):
			t.Errorf("resumeAt(%q) of a task at %d = %d", id, version, v)
		case !ok && err == nil && n >= 1 && n <= version:
			t.Errorf("resumeAt(%q) of a task at %d is refused", id, version)
		}
	})
}
