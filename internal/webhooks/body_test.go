package webhooks

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/task"
	_ "github.com/parley-a2a/parley/internal/testing/dialecttest" // adds the dialects of parts
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// legacyText summarises a notification of v0.3: the state, and the texts of the artifacts.
func legacyText(t *testing.T, body string) string {
	t.Helper()
	var got struct {
		Kind   string
		Status struct{ State string }
		// Artifacts have parts with a kind.
		Artifacts []struct{ Parts []struct{ Kind, Text string } }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Kind != "task" {
		t.Fatalf("body %s is not a task of v0.3: %v", body, err)
	}
	text := got.Status.State
	for _, a := range got.Artifacts {
		text += "="
		for _, p := range a.Parts {
			if p.Kind != "text" {
				t.Errorf("part of kind %q in %s", p.Kind, body)
			}
			text += p.Text
		}
	}
	return text
}

// legacyTexts summarises the notifications of a URL.
func legacyTexts(t *testing.T, w *world) string {
	t.Helper()
	var texts []string
	for _, p := range w.net.got(hookURL) {
		texts = append(texts, legacyText(t, p.body))
	}
	return strings.Join(texts, " ")
}

// last returns the last chunk of an artifact.
func last(at task.Millis, text string) task.Entry {
	e := tasktest.Chunk(at, "a", text)
	e.LastChunk = true
	return e
}

func TestLegacyWebhooksGetTheTask(t *testing.T) {
	for _, shape := range []dialect.Shape{dialect.V03, dialect.V03Proto} {
		t.Run(shape.String(), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.start()
				j := w.task("t1")
				j.hook(task.HookRequest{ID: "c1", URL: hookURL, Dialect: uint8(shape)})
				j.add(tasktest.Status(w.now(), task.Working, "on it"))
				w.pass(time.Second)
				posts := w.net.got(hookURL)
				if len(posts) != 1 {
					t.Fatalf("%d posts, want 1", len(posts))
				}
				want(t, "version", posts[0].header.Get("A2A-Version"), "0.3")
				want(t, "body", posts[0].body, `{"kind":"task","id":"t1","contextId":"c","status":{"state":"working",`+
					`"message":{"kind":"message","messageId":"on it","parts":[{"kind":"text","text":"on it"}]},"timestamp":"2000-01-01T00:00:00.000Z"},`+
					`"history":[{"kind":"message","messageId":"m1","parts":[{"kind":"text","text":"hello"}]}]}`)
				j.chunk("x", "y")
				j.add(last(w.now(), "z"), tasktest.FollowUp(w.now(), "more"))
				j.complete()
				w.pass(time.Second)
				want(t, "sent", legacyTexts(t, w), "working=xyz completed=xyz")
			})
		})
	}
}

// TestLegacyWebhookTriesAgain wants each retry to send the task at the version of the
// notification, even if the task has changed since.
func TestLegacyWebhookTriesAgain(t *testing.T) {
	bubble(t, func(w *world) {
		w.net.answer = times(2, http.StatusServiceUnavailable, nil)
		w.start()
		j := w.task("t1")
		ref := j.hook(task.HookRequest{ID: "c1", URL: hookURL, Dialect: uint8(dialect.V03)})
		j.work()
		j.add(last(w.now(), "z"))
		j.complete()
		w.pass(time.Minute)
		want(t, "sent", legacyTexts(t, w), "working working working working=z completed=z")
		if h := w.stored(ref); h.Position != j.head.Version || !h.Settled {
			t.Errorf("stored hook is at %d, settled %v, want %d and settled", h.Position, h.Settled, j.head.Version)
		}
	})
}

// TestOtherDialectsGetEvents wants webhooks of the dialects without notifications of their
// own to get those of v1.0.
func TestOtherDialectsGetEvents(t *testing.T) {
	shapes := []dialect.Shape{dialect.Job}
	for _, d := range dialect.Added() {
		if d.Pushing.Frame == nil {
			shapes = append(shapes, d.Shape)
		}
	}
	for _, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.start()
				j := w.task("t1")
				j.hook(task.HookRequest{ID: "c1", URL: hookURL, Dialect: uint8(shape)})
				j.work()
				j.chunk("a", "b")
				w.pass(time.Second)
				want(t, "sent", w.net.texts(hookURL), "TASK_STATE_WORKING a b")
			})
		})
	}
}

// A webhook that was registered in a dialect with notifications of its own gets them, and its token
// in the header that the dialect uses.
func TestDialectWebhooks(t *testing.T) {
	own := slices.IndexFunc(dialect.Added(), func(d *dialect.Dialect) bool { return d.Pushing.Bearer })
	shape := dialect.Added()[own].Shape
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "c1", URL: hookURL, Dialect: uint8(shape), Token: "secret"})
		j.add(tasktest.Status(w.now(), task.Working, "on it"))
		j.chunk("a")
		w.pass(time.Second)
		posts := w.net.got(hookURL)
		if len(posts) != 2 {
			t.Fatalf("%d posts, want 2", len(posts))
		}
		want(t, "status", posts[0].body, `{"statusUpdate":{"taskId":"t1","contextId":"c","status":{"state":"working",`+
			`"message":{"messageId":"on it","parts":[{"text":"on it"}]},"timestamp":"2000-01-01T00:00:00.000Z"}}}`)
		want(t, "artifact", posts[1].body, `{"artifactUpdate":{"taskId":"t1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"a"}]},"append":true}}`)
		want(t, "authorization", posts[0].header.Get("Authorization"), "Bearer secret")
		want(t, "token", posts[0].header.Get("A2A-Notification-Token"), "secret")
		want(t, "version", posts[0].header.Get("A2A-Version"), "")
		j.hook(task.HookRequest{ID: "c2", URL: hookURL + "two", Dialect: uint8(shape), Token: "secret", Scheme: "Basic", Credentials: "abc=="})
		j.complete()
		w.pass(time.Second)
		for _, p := range w.net.got(hookURL + "two") {
			want(t, "credentials before the token", p.header.Get("Authorization"), "Basic abc==")
		}
	})
}

// TestLegacyFoldIsRebuilt requests versions in any order, as happens when an operator moves a
// hook back.
func TestLegacyFoldIsRebuilt(t *testing.T) {
	bubble(t, func(w *world) {
		w.make()
		j := w.task("t1")
		j.work()
		j.complete()
		log := tasktest.Log(t, w.store, j.head.Key)
		tg := &target{dialect: uint8(dialect.V03), head: j.head}
		for _, step := range []struct {
			version int64
			want    string
		}{{3, "completed"}, {2, "working"}, {2, "working"}, {1, "submitted"}, {3, "completed"}} {
			body, err := w.d.body(t.Context(), &hook{key: j.head.Key}, tg, &log[step.version-1])
			if err != nil {
				t.Fatal(err)
			}
			want(t, "state", legacyText(t, string(body)), step.want)
		}
	})
}

// TestLegacyFoldIsReleased wants no task to be held in memory after a session, and an error
// for a version that is missing from the log.
func TestLegacyFoldIsReleased(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "c1", URL: hookURL, Dialect: uint8(dialect.V03Proto)})
		j.work()
		w.pass(time.Second)
		want(t, "sent", legacyTexts(t, w), "working")
		kept := 0
		for _, h := range w.d.cached {
			if h == nil || h.target == nil {
				continue
			}
			if kept++; h.target.snapshot != nil {
				t.Errorf("the task of hook %s is still held", h.id)
			}
		}
		if kept != 1 {
			t.Errorf("%d targets are kept, want 1", kept)
		}
		short := &target{dialect: uint8(dialect.V03), head: j.head}
		missing := task.Entry{Version: j.head.Version + 1, Kind: task.Status, State: task.Completed}
		if body, err := w.d.body(t.Context(), &hook{key: j.head.Key}, short, &missing); !errors.Is(err, errShortLog) {
			t.Errorf("body of a version that is not there = %s, %v, want %v", body, err, errShortLog)
		}
	})
}
