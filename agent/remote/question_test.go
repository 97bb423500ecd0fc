package remote_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	which   = `,"message":{"messageId":"q1","role":"ROLE_AGENT","parts":[{"text":"which city?"}]}`
	history = `,"history":[{"messageId":"q1","role":"ROLE_AGENT","parts":[{"text":"which city?"}]}]`
)

// asks returns a turn that ends with a question.
func asks(state, status, more string) turn {
	t := snap(state, status, more)
	return turn{frames: []string{task0(t)}, answer: task0(t), tasks: []string{t}}
}

// TestAnswerIsAccepted answers a question of peers that continue to show the question for a
// while, each in its own way. The final result must be that of the peer.
func TestAnswerIsAccepted(t *testing.T) {
	t.Parallel()
	const early, same, late = `,"timestamp":"2026-01-02T03:04:05.678Z"`, `,"timestamp":"2026-01-02T03:04:05.678000Z"`, `,"timestamp":"2026-01-02T03:04:06Z"`
	for _, w := range fourWays {
		for _, state := range []string{"INPUT_REQUIRED", "AUTH_REQUIRED"} {
			for _, tt := range []struct{ name, before, after, more string }{
				{"moved to the history", early + which, early, history},
				{"moved, other digits", early + which, same, history},
				{"moved, without times", which, "", history},
				{"as it was", early + which, early + which, ""},
				{"as it was, without times", which, which, ""},
				{"nothing said", early, early, ""},
				{"nothing said, without times", "", "", ""},
			} {
				t.Run(strings.Join([]string{w.name, state, tt.name}, "/"), func(t *testing.T) {
					t.Parallel()
					old := snap(state, tt.after, tt.more)
					done := snap("COMPLETED", late, artifacts(artifact("a", "Paris it is"))+tt.more)
					last := turn{
						frames: []string{task0(old), artifactUpdated("a", "Paris it is"), statusUpdated("COMPLETED", late, "")},
						answer: task0(old), tasks: []string{old, old, done},
					}
					if w.block {
						last.answer = task0(done)
					}
					s := &fakePeer{turns: []turn{asks(state, tt.before, ""), last}}
					h := startFakePeer(t, s, w, nil)
					a := h.send(newSend("begin"))
					if got := a.Head.State.String(); got != "TASK_STATE_"+state {
						t.Fatalf("the task is %s, want a question", describe(a))
					}
					if a = h.send(reply(a.Head.ID, "Paris")); a.Head.State == task.AuthRequired {
						a = h.wait(a.Head.ID, task.Completed) // a send does not wait for that state
					}
					if a.Head.State != task.Completed || words(a) != "Paris it is" {
						t.Errorf("the task is %s, want COMPLETED", describe(a))
					}
				})
			}
		}
	}
}

// TestAnswerIsAcceptedByUpdates answers a question of a peer whose next stream begins with an
// update that shows the question: with its time, or the same question asked again, with a time
// of its own.
func TestAnswerIsAcceptedByUpdates(t *testing.T) {
	t.Parallel()
	const at, same, later = `,"timestamp":"2026-01-02T03:04:05.678Z"`, `,"timestamp":"2026-01-02T03:04:05.678000Z"`, `,"timestamp":"2026-01-02T03:04:06Z"`
	done := []string{statusUpdated("WORKING", later, ""), artifactUpdated("a", "Paris it is"), statusUpdated("COMPLETED", later, "")}
	for _, tt := range []struct {
		name, after string
		more        []string
		want        task.State
	}{
		{"without its message", at, done, task.Completed},
		{"with its message", same + which, done, task.Completed},
		{"asked again", later + which, nil, task.InputRequired},
		{"asked again, without times", which, nil, task.InputRequired},
		{"asked again at the same time", at + which, nil, task.InputRequired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &fakePeer{turns: []turn{asks("INPUT_REQUIRED", at+which, ""), {
				frames: append([]string{statusUpdated("INPUT_REQUIRED", tt.after, "")}, tt.more...),
				tasks:  []string{snap("INPUT_REQUIRED", tt.after, "")},
			}}}
			h := startFakePeer(t, s, way{name: "stream", streams: true}, nil)
			id := h.send(newSend("begin")).Head.ID
			a := h.send(reply(id, "Paris"))
			if a.Head.State != tt.want || tt.want == task.Completed && words(a) != "Paris it is" {
				t.Errorf("the task is %s, want %s", describe(a), tt.want)
			}
		})
	}
}

// TestAsksAgainWithAnArtifact calls peers that answer with an artifact and ask again, like a
// guessing game.
func TestAsksAgainWithAnArtifact(t *testing.T) {
	t.Parallel()
	stamp := func(s int) string { return fmt.Sprintf(`,"timestamp":"2026-01-02T03:04:%02dZ"`, s) }
	for _, w := range fourWays {
		for _, tt := range []struct {
			name string
			at   func(turn int) string
		}{
			{"fresh times", stamp},
			{"equal times", func(int) string { return stamp(7) }},
			{"no times", func(int) string { return "" }},
		} {
			t.Run(w.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				s := &fakePeer{}
				var text []string
				for i := range 4 {
					text = append(text, artifact(fmt.Sprint("a", i), fmt.Sprint("go ", i)))
					s.turns = append(s.turns, asks("INPUT_REQUIRED", tt.at(i), artifacts(text...)))
				}
				s.turns = append(s.turns, asks("COMPLETED", tt.at(9), artifacts(text...)))
				h := startFakePeer(t, s, w, nil)
				a := h.send(newSend("begin"))
				for i := range 3 {
					if a.Head.State != task.InputRequired || !strings.HasSuffix(words(a), fmt.Sprint("go ", i)) {
						t.Fatalf("after %d answers the task is %s", i, describe(a))
					}
					a = h.send(reply(a.Head.ID, fmt.Sprint("guess ", i)))
				}
				if a = h.send(reply(a.Head.ID, "42")); a.Head.State != task.Completed {
					t.Errorf("the task ended as %s", describe(a))
				}
				if most := map[string]int{"block": 0, "stream": 5, "stream, immediately": 5}; s.looks > most[w.name] && w.name != "poll" {
					t.Errorf("the peer was asked %d times how its task is, want at most %d", s.looks, most[w.name])
				}
			})
		}
	}
}

// TestAsksAgainInOtherWords checks that a new question counts at once, whatever its timestamp.
func TestAsksAgainInOtherWords(t *testing.T) {
	t.Parallel()
	for _, w := range fourWays {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			other := strings.NewReplacer("q1", "q2", "city", "street").Replace(which)
			s := &fakePeer{turns: []turn{asks("INPUT_REQUIRED", which, ""), asks("INPUT_REQUIRED", other, "")}}
			h := startFakePeer(t, s, w, nil)
			id := h.send(newSend("begin")).Head.ID
			if a := h.send(reply(id, "Paris")); a.Head.State != task.InputRequired || !strings.Contains(string(a.Head.StatusMessage), "street") {
				t.Errorf("the task is %s, want the next question", describe(a))
			}
		})
	}
}

// TestAwayAfterAnAnswer checks that an agent that shows news beside the answered question, and
// is then not reachable for some time, has not asked again.
func TestAwayAfterAnAnswer(t *testing.T) {
	t.Parallel()
	news := artifacts(artifact("a", "Paris it is"))
	s := &fakePeer{turns: []turn{
		asks("INPUT_REQUIRED", which, ""),
		{
			answer: task0(snap("INPUT_REQUIRED", which, "")), away: 4 * time.Second,
			tasks: []string{snap("INPUT_REQUIRED", which, news), snap("COMPLETED", "", news)},
		},
	}}
	h := startFakePeer(t, s, way{name: "poll", immediately: true}, nil)
	id := h.send(newSend("begin")).Head.ID
	if a := h.send(reply(id, "Paris")); a.Head.State != task.Completed {
		t.Errorf("the task is %s", describe(a))
	}
}

// TestCutBeforeTheAnswerIsRead checks that a stream that breaks while it still shows the answered
// question does not count as the same question again.
func TestCutBeforeTheAnswerIsRead(t *testing.T) {
	t.Parallel()
	old := snap("INPUT_REQUIRED", which, "")
	s := &fakePeer{turns: []turn{
		asks("INPUT_REQUIRED", which, ""),
		{frames: []string{task0(old)}, cut: true, tasks: []string{old, snap("COMPLETED", "", artifacts(artifact("a", "Paris it is")))}},
	}}
	h := startFakePeer(t, s, way{name: "stream", streams: true}, nil)
	id := h.send(newSend("begin")).Head.ID
	if a := h.send(reply(id, "Paris")); a.Head.State != task.Completed || words(a) != "Paris it is" {
		t.Errorf("the task is %s", describe(a))
	}
}

// TestNothingNewUntilTheDeadline checks that a peer that never processes the answer makes the
// task wait again, and does not fail it.
func TestNothingNewUntilTheDeadline(t *testing.T) {
	t.Parallel()
	given(t, time.Second, func(limit time.Duration) bool {
		s := &fakePeer{turns: []turn{asks("INPUT_REQUIRED", which, "")}}
		h := startFakePeer(t, s, way{name: "poll", immediately: true}, func(a *remote.Agent) { a.Timeout = limit })
		a := h.send(newSend("begin"))
		if a.Head.State == task.InputRequired {
			a = h.send(reply(a.Head.ID, "Paris"))
		}
		t.Logf("within %v the task is %s", limit, describe(a))
		return a.Head.State == task.InputRequired && s.messages() == 2 && strings.Contains(string(a.Head.StatusMessage), "city")
	})
}

// TestQuestionIsKnownAfterARestart kills the hub while a peer still shows the question that was
// answered.
func TestQuestionIsKnownAfterARestart(t *testing.T) {
	t.Parallel()
	const heard = `,"history":[{"messageId":"q1","role":"ROLE_AGENT","parts":[]},{"messageId":"$MINE","role":"ROLE_USER","parts":[]}]`
	old := snap("INPUT_REQUIRED", "", heard)
	s := &fakePeer{answered: make(chan struct{}), turns: []turn{asks("INPUT_REQUIRED", which, ""), {answer: task0(old), tasks: []string{old}}}}
	h := startFakePeer(t, s, way{name: "poll", immediately: true}, nil)
	id := h.send(newSend("begin")).Head.ID
	h.send(now(reply(id, "Paris")))
	select {
	case <-s.answered:
	case <-time.After(time.Minute):
		t.Fatal("the answer has not arrived")
	}
	h.restart()
	s.mu.Lock()
	s.turns[1].tasks, s.show = []string{old, snap("COMPLETED", "", artifacts(artifact("a", "Paris it is")))}, 0
	s.mu.Unlock()
	if a := h.wait(id, task.Completed); words(a) != "Paris it is" {
		t.Errorf("the task is %s", describe(a))
	}
	for i, ev := range h.log(id) {
		if i > 2 && ev.Kind == task.Status && ev.State == task.InputRequired {
			t.Errorf("event %d asks the question again", i)
		}
	}
}
