package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}, goleak.Cleanup(pgtest.Exit)) }

// key is the master key of all hubs of a database.
const key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// member is a hub among others.
type member struct {
	*hubtest.Hub

	t  *testing.T
	id string
}

// begin starts hubs with the given ids on a new database.
func begin(t *testing.T, ids ...string) (url string, hubs []*member) {
	t.Helper()
	url = pgtest.Shared(t).Database(t)
	for _, id := range ids {
		hubs = append(hubs, join(t, url, id))
	}
	return url, hubs
}

func join(t *testing.T, url, id string, more ...string) *member {
	t.Helper()
	config := fmt.Sprintf("log: {level: info}\nstore: %q\nhub_id: %s\nmaster_key: %q\nidempotency: {header: true}\npush: {allow: [loopback]}\ndirectory: {allow: [loopback]}\nparts: {threshold: 1000}\n%s\n", url, id, key, strings.Join(more, "\n"))
	return &member{hubtest.Start(t, hubtest.Options{Config: config}), t, id}
}

type shownTask struct {
	ID     string
	Status struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
}

func (s *shownTask) text() string {
	if len(s.Status.Message.Parts) == 0 {
		return ""
	}
	return s.Status.Message.Parts[0].Text
}

func (m *member) call(r hubtest.Request, into any) {
	m.t.Helper()
	r.URL = m.URL() + r.URL
	if err := hubtest.Call(m.t.Context(), r, into); err != nil {
		m.t.Fatalf("hub %s: %s: %v\n%s", m.id, r.URL, err, m.Output())
	}
}

type message struct {
	text, task, key, hook string
	waits                 bool
}

// send sends a message to an agent.
func (m *member) send(agent string, s message) *shownTask {
	m.t.Helper()
	content := map[string]any{"messageId": "m " + s.text, "role": "ROLE_USER", "parts": []any{map[string]string{"text": s.text}}}
	if s.task != "" {
		content["taskId"] = s.task
	}
	configuration := map[string]any{"returnImmediately": !s.waits}
	if s.hook != "" {
		configuration["taskPushNotificationConfig"] = map[string]string{"url": s.hook}
	}
	body, err := json.Marshal(map[string]any{"message": content, "configuration": configuration})
	if err != nil {
		m.t.Fatal(err)
	}
	r := hubtest.Request{URL: "/v1/a2a/" + agent + "/message:send", Body: string(body)}
	if s.key != "" {
		r.Header = []string{"Idempotency-Key", s.key}
	}
	var got struct{ Task shownTask }
	m.call(r, &got)
	return &got.Task
}

func (m *member) get(id string) *shownTask {
	m.t.Helper()
	got := new(shownTask)
	m.call(hubtest.Request{URL: "/v1/a2a/tasks/" + id}, got)
	return got
}

// follow reads the events of a task after version 1 to their end. Versions must have no gap.
func (m *member) follow(id string) (events []hubtest.Event) {
	m.t.Helper()
	resp, err := hubtest.Do(m.t.Context(), hubtest.Request{
		Method: http.MethodPost, URL: m.URL() + "/v1/a2a/tasks/" + id + ":subscribe", Header: []string{"Last-Event-ID", "1", "A2A-Version", "1.0"},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	next := int64(2)
	for ev, err := range hubtest.Events(resp.Body) {
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			m.t.Fatalf("events of %s at %s after %d: %v", id, m.id, len(events), err)
		}
		if v, err := strconv.ParseInt(ev.ID, 10, 64); err != nil || v != next {
			m.t.Errorf("event %q at hub %s, want %d", ev.ID, m.id, next)
			break
		}
		next++
		events = append(events, ev)
	}
	return events
}

// completed fails the test unless the events end with COMPLETED.
func completed(t *testing.T, events []hubtest.Event) {
	t.Helper()
	if len(events) == 0 || !strings.Contains(events[len(events)-1].Data, "TASK_STATE_COMPLETED") {
		t.Errorf("events end with %v, want COMPLETED", events[max(0, len(events)-1):])
	}
}

// Any hub shows, follows, answers and cancels the tasks of any other.
func TestAnyHub(t *testing.T) {
	t.Parallel()
	_, hubs := begin(t, "a", "b", "c")
	a, b, c := hubs[0], hubs[1], hubs[2]
	t.Run("show", func(t *testing.T) {
		got := a.send("echo", message{text: "hello", waits: true})
		for _, m := range hubs {
			if seen := m.get(got.ID); seen.Status.State != "TASK_STATE_COMPLETED" {
				t.Errorf("hub %s shows %s", m.id, seen.Status.State)
			}
		}
		var list struct{ TotalSize int }
		c.call(hubtest.Request{URL: "/v1/a2a/tasks"}, &list)
		if list.TotalSize == 0 {
			t.Error("the list of another hub is empty")
		}
	})
	t.Run("follow", func(t *testing.T) {
		got := b.send("slow", message{text: "2"})
		completed(t, c.follow(got.ID))
	})
	t.Run("answer", func(t *testing.T) {
		got := a.send("interview", message{text: "begin", waits: true})
		for i := 0; got.Status.State == "TASK_STATE_INPUT_REQUIRED"; i++ {
			got = hubs[(i+1)%3].send("interview", message{text: fmt.Sprint("answer ", i), task: got.ID, waits: true})
		}
		if got.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("state = %s %q", got.Status.State, got.text())
		}
	})
	t.Run("cancel", func(t *testing.T) {
		got := a.send("slow", message{text: "600"})
		began := time.Now()
		var ended shownTask
		b.call(hubtest.Request{URL: "/v1/a2a/tasks/" + got.ID + ":cancel", Body: "{}"}, &ended)
		t.Logf("canceled at another hub in %v", time.Since(began))
		if ended.Status.State != "TASK_STATE_CANCELED" {
			t.Errorf("state = %s", ended.Status.State)
		}
	})
	t.Run("key", func(t *testing.T) {
		for n := range 10 {
			found := make([]string, len(hubs))
			var wg sync.WaitGroup
			for i, m := range hubs {
				wg.Go(func() { found[i] = m.send("echo", message{text: "once", key: fmt.Sprint("key ", n)}).ID })
			}
			wg.Wait()
			if found[0] != found[1] || found[0] != found[2] {
				t.Errorf("one key has the tasks %v", found)
			}
		}
	})
	t.Run("ready", func(t *testing.T) {
		type check struct{ Name, Detail string }
		until(t, func() bool { // the hub knows the others from its last renewal
			var report struct{ Checks []check }
			a.call(hubtest.Request{URL: "/readyz"}, &report)
			return slices.Contains(report.Checks, check{"lease", "hubs: a, b, c"})
		})
	})
}

// A hub with the id of another one does not start, nor one that wants the database alone.
func TestSameID(t *testing.T) {
	t.Parallel()
	url, _ := begin(t, "a")
	for id, want := range map[string]string{"a": `id "a"`, `""`: "another hub is using the database"} {
		second := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf("store: %q\nhub_id: %s\nmaster_key: %q\n", url, id, key)})
		if err := second.Start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("hub_id %s: %v, want %s", id, err, want)
		}
	}
}

// A hub that is asked to leave ends, and the others continue its tasks.
func TestDrain(t *testing.T) {
	t.Parallel()
	url, hubs := begin(t, "a", "b")
	a, b := hubs[0], hubs[1]
	got := a.send("slow", message{text: "600"})
	out, err := b.Parley(t.Context(), "hubs", "list", "--store", url)
	if err != nil || !strings.Contains(out, "a\t") || !strings.Contains(out, "b\t") {
		t.Errorf("hubs list = %q, %v", out, err)
	}
	if _, err := b.Parley(t.Context(), "hubs", "drain", "c", "--store", url); err == nil {
		t.Error("hubs drain c: no error")
	}
	if out, err := b.Parley(t.Context(), "hubs", "drain", "a", "--store", url); err != nil {
		t.Fatalf("hubs drain a: %v\n%s", err, out)
	}
	<-a.Process().Done()
	b.call(hubtest.Request{URL: "/v1/a2a/tasks/" + got.ID + ":cancel", Body: "{}"}, got)
	if got.Status.State != "TASK_STATE_CANCELED" {
		t.Errorf("state = %s", got.Status.State)
	}
}
