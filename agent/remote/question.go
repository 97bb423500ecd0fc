package remote

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// question is the status in which the peer's task waited when a further message was sent to it.
// Agents continue to show it for a while: unchanged, or with its message moved to the history.
// The zero question means that no question is open.
type question struct {
	// State is INPUT_REQUIRED or AUTH_REQUIRED.
	State a2a.TaskState `json:"state,omitempty"`
	// Digest is a digest of the status's message; empty if the status has none.
	Digest string `json:"said,omitempty"`
	// At is the time of the status, as the peer wrote it.
	At string `json:"at,omitempty"`
	// Key is agent.Call.Key of the message that the question came after.
	Key string `json:"key,omitempty"`
}

// questionOf returns the question of a status; the zero question if it does not wait for the
// caller.
func questionOf(status []byte) question {
	state := a2a.TaskState(text(status, "state"))
	if !peer.Interrupted(state) {
		return question{}
	}
	q := question{State: state, At: text(status, "timestamp")}
	if _, output, found := strings.Cut(statusKey(status), " "); found {
		sum := sha256.Sum256([]byte(output))
		q.Digest = base64.RawStdEncoding.EncodeToString(sum[:12])
	}
	return q
}

// question returns the question that a status asks after the message of the run.
func (r *run) question(status []byte) question {
	q := questionOf(status)
	if q != (question{}) {
		q.Key = r.call.Key
	}
	return q
}

// asking returns the question that the message of the run answers; the zero question if it
// answers none, or if the question came after the message.
func (r *run) asking() question {
	q := r.h.Asked
	switch {
	case q == (question{}):
		q = questionOf(r.relay.last)
		q.At = "" // the time is the hub's own
	case q.Key == r.call.Key:
		return question{}
	}
	return q
}

// repeats reports whether next, shown by a snapshot after the answer, may still be q: it has
// the same state and message, and is not newer.
func (q question) repeats(next question) bool {
	return next.State == q.State && (next.Digest == "" || next.Digest == q.Digest) && !newer(next.At, q.At)
}

// newer reports whether a timestamp is certainly later than another one. Peers write the same
// time with different precision.
func newer(next, than string) bool {
	if next == "" || than == "" || next == than {
		return false
	}
	n, err := time.Parse(time.RFC3339Nano, next)
	t, other := time.Parse(time.RFC3339Nano, than)
	if err != nil || other != nil {
		return true
	}
	return n.Truncate(time.Millisecond).After(t.Truncate(time.Millisecond))
}

// stale reports whether an event shows the question that the message answers, and not a new
// one. An answer of the agent that is in progress or has ended is never stale.
func (r *run) stale(ev *peer.Event) bool {
	if r.asked == (question{}) || ev.State == "" {
		return false
	}
	status := member(ev.Body(), "status")
	if next := questionOf(status); r.asked.repeats(next) && (ev.Kind == peer.Task || r.asked.dates(next)) {
		r.waiting = status
		return true
	}
	r.asked, r.waiting = question{}, nil
	return false
}

// dates reports whether next has the time of q. An update is a new question unless it has: the
// streams of some agents begin with the current status as an update.
func (q question) dates(next question) bool {
	return next.At != "" && q.At != "" && !newer(next.At, q.At)
}

// settleAfter is how long a task that shows news beside the answered question is polled, before
// the question counts as asked again.
const settleAfter = 3 * time.Second

// noteNews records that a task which still shows the answered question has shown something new.
func (r *run) noteNews(news int) {
	if r.waiting == nil {
		r.settle = time.Time{}
	} else if news > 0 {
		r.settle = time.Now().Add(settleAfter)
	}
}

// unsettle restarts settleAfter, because the peer could not be asked: it may have restarted, and not
// have processed the answer yet.
func (r *run) unsettle() {
	if !r.settle.IsZero() {
		r.settle = time.Now().Add(settleAfter)
	}
}

// settled reports whether settleAfter has passed since the last news.
func (r *run) settled() bool { return !r.settle.IsZero() && !time.Now().Before(r.settle) }

// untilSettled bounds a pause by the time at which the task settles.
func (r *run) untilSettled(pause time.Duration) time.Duration {
	if r.settle.IsZero() {
		return pause
	}
	return max(0, min(pause, time.Until(r.settle)))
}

// answered handles the successful end of a send. If the task still shows the answered question
// then, the agent has asked again in the same words: a blocking send returns its result, and a
// stream ends when the task waits. Only an agent that was asked not to block may not have
// begun.
func (r *run) answered(ctx context.Context, p *peerConnection, last *peer.Event) (done bool) {
	if r.waiting == nil || last == nil || last.Whole && r.agent.ReturnImmediately {
		return false
	}
	if !last.Whole {
		ev, err := p.Get(ctx, r.h.Task, r.agent.HistoryLength)
		if err != nil || r.passOne(ctx, &ev) {
			return err == nil
		}
	}
	return r.waiting != nil && r.passRepeatedQuestion()
}

// passRepeatedQuestion passes on that the task waits for its caller although its status is not
// new.
func (r *run) passRepeatedQuestion() (done bool) {
	status := r.waiting
	r.asked, r.waiting, r.settle = question{}, nil, time.Time{}
	r.relay.status, r.relay.last = statusKey(status), status
	r.mu.Lock()
	r.h.Key, r.h.Asked = r.call.Key, r.question(status)
	r.mu.Unlock()
	if !r.checkpoint() || !r.yield(&agent.Raw{JSON: statusUpdate(status, nil)}, nil) {
		return true
	}
	return r.state == a2a.TaskStateInputRequired
}

// repeatQuestion repeats the status in which the task waited before the message.
func (r *run) repeatQuestion() bool {
	status := rawjson.AppendString([]byte(`{"state":`), string(r.state))
	status = rawjson.AppendMembers(status, r.relay.last, "state", "timestamp")
	r.yield(&agent.Raw{JSON: statusUpdate(append(status, '}'), nil)}, nil)
	return true
}
