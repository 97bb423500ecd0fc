package remote_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/task"
)

// TestAnswerAfterTheEnd calls peers that send their final status before their artifacts.
func TestAnswerAfterTheEnd(t *testing.T) {
	t.Parallel()
	begun, ended := task0(snap("WORKING", "", "")), statusUpdated("COMPLETED", "", "")
	for name, tt := range map[string]struct {
		rest []string
		open bool
		want string
		more string
	}{
		"artifact":            {[]string{artifactUpdated("a", "here")}, false, "TASK_STATE_COMPLETED here", `"artifactId":"a"`},
		"artifacts":           {[]string{artifactUpdated("a", "here"), artifactUpdated("b", "too")}, false, "TASK_STATE_COMPLETED here\ntoo", `"artifactId":"b"`},
		"never closed":        {[]string{artifactUpdated("a", "here")}, true, "TASK_STATE_COMPLETED here", ""},
		"nothing, not closed": {nil, true, "TASK_STATE_COMPLETED ", ""},
		"message": {
			[]string{`{"message":{"messageId":"m","role":"ROLE_AGENT","taskId":"there","parts":[{"text":"well"}]}}`},
			false, "TASK_STATE_COMPLETED well", "",
		},
		"metadata": {
			[]string{artifactUpdated("a", "here"), statusUpdated("COMPLETED", "", `,"metadata":{"cost":1.50}`)},
			false, "TASK_STATE_COMPLETED here", `"metadata":{"cost":1.50}`,
		},
		"message of a second status": {
			[]string{statusUpdated("COMPLETED", which, ""), statusUpdated("COMPLETED", "", `,"metadata":{"k":1}`)},
			false, "TASK_STATE_COMPLETED which city?", `"metadata":{"k":1}`,
		},
		"whole task":    {[]string{task0(snap("COMPLETED", "", artifacts(artifact("a", "here"))))}, false, "TASK_STATE_COMPLETED here", ""},
		"another state": {[]string{statusUpdated("WORKING", "", ""), statusUpdated("FAILED", "", ""), artifactUpdated("a", "here")}, false, "TASK_STATE_COMPLETED here", ""},
		"broken":        {[]string{artifactUpdated("a", "here"), `{"what":`}, false, "TASK_STATE_COMPLETED here", ""},
		"another task":  {[]string{artifactUpdated("a", "here"), strings.ReplaceAll(artifactUpdated("b", "no"), `"there"`, `"elsewhere"`)}, false, "TASK_STATE_COMPLETED here", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := snap("COMPLETED", "", "")
			s := &fakePeer{turns: []turn{{frames: append([]string{begun, ended}, tt.rest...), open: tt.open, tasks: []string{done}}}}
			h := startFakePeer(t, s, fourWays[0], nil)
			a := h.send(newSend("hi"))
			if got := describe(a); !strings.HasPrefix(got, tt.want) {
				t.Errorf("the task is %s, want %s", got, tt.want)
			}
			if whole := string(a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{Artifacts: true})); !strings.Contains(whole, tt.more) {
				t.Errorf("the task is %s, want %s in it", whole, tt.more)
			}
		})
	}
}

// TestEndlessAfterTheEnd calls a peer that never stops adding to its artifacts after the end.
func TestEndlessAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := &fakePeer{turns: []turn{{
		frames: []string{task0(snap("WORKING", "", "")), statusUpdated("COMPLETED", "", "")},
		open:   true, answer: artifactUpdated("a", "again"), tasks: []string{snap("COMPLETED", "", "")},
	}}}
	var log bytes.Buffer
	h := startFakePeer(t, s, fourWays[0], func(a *remote.Agent) { a.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	a := h.send(newSend("hi"))
	if a.Head.State != task.Completed || words(a) != "again" {
		t.Errorf("the task is %s", describe(a))
	}
	want := fmt.Sprintf(`level=WARN msg="agent continues after the end of its task; the rest of its stream is ignored" agent=far task=%s remote_task=there taken=`, a.Head.ID)
	_, rest, found := strings.Cut(log.String(), want)
	// A slow machine reaches the limit of the time before that of 1,000 events.
	if n, err := strconv.Atoi(strings.TrimSpace(rest)); !found || err != nil || n < 1 || n > 1000 {
		t.Errorf("the log is %s, want %s and a number up to 1,000", &log, want)
	}
	if n := len(h.log(a.Head.ID)); n > 2000 {
		t.Errorf("%d artifacts were taken", n)
	}
}

// TestLateArtifactOfAPoll polls peers whose tasks are completed before their artifacts exist.
func TestLateArtifactOfAPoll(t *testing.T) {
	t.Parallel()
	bare := snap("COMPLETED", "", "")
	full := snap("COMPLETED", "", artifacts(artifact("a", "here")))
	for _, w := range fourWays {
		if w.block {
			continue // the answer of a blocking send is final
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := &fakePeer{turns: []turn{{frames: []string{task0(bare)}, answer: task0(bare), tasks: []string{full}}}}
			if w.name == "poll" {
				s.turns[0].answer, s.turns[0].tasks = task0(snap("WORKING", "", "")), []string{snap("WORKING", "", ""), bare, full}
			}
			h := startFakePeer(t, s, w, nil)
			if a := h.send(newSend("hi")); a.Head.State != task.Completed || words(a) != "here" {
				t.Errorf("the task is %s", describe(a))
			}
		})
	}
}

// TestLateArtifactOfACallback is the same for a peer that calls back, here only to report that
// it has begun.
func TestLateArtifactOfACallback(t *testing.T) {
	t.Parallel()
	calls := &remote.Callbacks{Key: []byte(rand.Text())}
	hook := httptest.NewServer(calls)
	t.Cleanup(hook.Close)
	calls.URL = hook.URL + remote.CallbackPath
	bare := snap("COMPLETED", "", "")
	s := &fakePeer{push: true, turns: []turn{{answer: task0(bare), tasks: []string{snap("COMPLETED", "", artifacts(artifact("a", "here")))}}}}
	h := startFakePeer(t, s, way{name: "callbacks"}, func(a *remote.Agent) { a.Callbacks = calls })
	if a := h.send(newSend("hi")); a.Head.State != task.Completed || words(a) != "here" {
		t.Errorf("the task is %s", describe(a))
	}
	if got := fmt.Sprint(s.asked); !strings.Contains(got, "taskPushNotificationConfig") {
		t.Errorf("the peer was asked %s, want a callback in it", got)
	}
}
