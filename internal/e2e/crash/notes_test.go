package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/store/sqlitestore"
	"github.com/parley-a2a/parley/task"
)

// shelf is a hub whose notes the tests search.
type shelf struct {
	t *testing.T
	*hubtest.Hub
}

// ask sends a message that ends its task, in a context and for a session.
func (s *shelf) ask(agent, id, text, session string) {
	s.t.Helper()
	body := sending{task: id, context: "ctx-" + id, id: "m-" + id, text: text, session: session, waits: true}.body()
	var got struct{ Task taskJSON }
	if err := hubtest.Call(s.t.Context(), hubtest.Request{URL: s.URL() + "/v1/a2a/" + agent + "/message:send", Body: body}, &got); err != nil {
		s.t.Fatal(err)
	}
	if got.Task.state() != "COMPLETED" {
		s.t.Fatalf("task %s is %s", id, got.Task.state())
	}
}

// keys returns the keys of the notes that the HTTP interface finds.
func (s *shelf) keys(path string, pairs ...string) []string {
	s.t.Helper()
	var list struct{ Notes []noteJSON }
	if err := hubtest.Call(s.t.Context(), hubtest.Request{URL: s.URL() + "/api/v1/memory" + path + query(pairs...)}, &list); err != nil {
		s.t.Fatal(err)
	}
	var keys []string
	for _, n := range list.Notes {
		keys = append(keys, n.Key)
	}
	slices.Sort(keys)
	return keys
}

// printed returns the keys of the notes that the command finds.
func (s *shelf) printed(args ...string) []string {
	s.t.Helper()
	out, err := s.Parley(s.t.Context(), append([]string{"memory"}, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	var keys []string
	for line := range strings.Lines(out) {
		key, _, _ := strings.Cut(line, "\t")
		keys = append(keys, strings.TrimSpace(key))
	}
	slices.Sort(keys)
	return keys
}

// wanted is a note to search for.
type wanted struct {
	key, category, tag, words, text string
}

// finds searches for a note through all interfaces. Each must find it if there is set, and none
// may find it otherwise.
func (s *shelf) finds(w wanted, there bool) {
	s.t.Helper()
	want := []string{w.key}
	if !there {
		want = nil
	}
	for what, got := range map[string][]string{
		"list by key":                    s.keys("", "prefix", w.key),
		"list by category":               s.keys("", "category", w.category),
		"search by category":             s.keys("/search", "category", w.category),
		"search by tag":                  s.keys("/search", "tag", w.tag),
		"search by text":                 s.keys("/search", "q", w.words),
		"search by all":                  s.keys("/search", "q", w.words, "tag", strings.ToUpper(w.tag), "category", w.category),
		"parley memory list":             s.printed("list", w.key),
		"parley memory list by category": s.printed("list", "--category", w.category),
		"parley memory search by words":  s.printed(append([]string{"search"}, strings.Fields(w.words)...)...),
		"parley memory search by tag":    s.printed("search", "--tag", w.tag),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			s.t.Errorf("%s of %s (-want +got):\n%s", what, w.key, diff)
		}
	}
	var n noteJSON
	err := hubtest.Call(s.t.Context(), hubtest.Request{URL: s.URL() + "/api/v1/memory/note" + query("key", w.key)}, &n)
	out, outErr := s.Parley(s.t.Context(), "memory", "get", w.key)
	if !there {
		if hubtest.Status(err) != http.StatusNotFound || outErr == nil || !strings.Contains(outErr.Error(), "no such note") {
			s.t.Errorf("get %s = %+v, %v; the command says %q, %v; want that there is none", w.key, n, err, out, outErr)
		}
		return
	}
	if err != nil || outErr != nil || !strings.Contains(n.Value, w.text) || !strings.Contains(out, w.text) {
		s.t.Errorf("get %s = %+v, %v; the command says %q, %v; want %q", w.key, n, err, out, outErr, w.text)
	}
}

// later moves the expiry of all notes back by d while the hub is down, as if that time had
// passed.
func (s *shelf) later(d time.Duration) {
	s.t.Helper()
	s.Stop()
	db, err := sqlitestore.Open(filepath.Join(s.Data(), "parley.db"), sqlitestore.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	ctx := s.t.Context()
	for _, owner := range []task.Owner{"local"} {
		notes, err := db.Notes().Read(ctx, &memory.Range{Owner: owner, At: time.Now(), Limit: 100})
		if err != nil || len(notes) == 0 {
			s.t.Fatalf("there are no notes of %s: %v", owner, err)
		}
		for i := range notes {
			n := &notes[i]
			n.UpdatedAt, n.ExpiresAt = n.UpdatedAt.Add(-d), n.ExpiresAt.Add(-d)
			if _, err := db.Notes().Put(ctx, n, memory.Quota{}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if err := db.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.Restart()
}

// TestNotesAreFoundAfterARestart: results and outcomes are found by key, category, tag and text
// after the hub was killed immediately after the answer. They are not found after their expiry.
func TestNotesAreFoundAfterARestart(t *testing.T) {
	t.Parallel()
	s := &shelf{t, hubtest.Start(t, hubtest.Options{Config: "memory: {outcomes: [clock, echo]}\n"})}
	if _, err := s.Parley(t.Context(), "memory", "set", "session/s1/plan", "meet on Tuesday", "--ttl", "9h", "--tag", "meeting", "--category", "plan"); err != nil {
		t.Fatal(err)
	}
	s.ask("echo", "t1", "please water the tulips", "s1")
	s.Restart()
	result := wanted{"session/s1/a2a/echo/t1/result", "a2a-result", "completed", "result", "please water the tulips"}
	outcome := wanted{"session/primary/a2a-outcomes/echo/ctx-t1", "a2a-outcome", "local", "outcome", "Outcome: please water the tulips"}
	plan := wanted{"session/s1/plan", "plan", "meeting", "tuesday", "meet on Tuesday"}
	s.awaits(result.key, outcome.key)
	// Another task, whose notes are forgotten, must not be found.
	s.ask("echo", "t2", "feed the hedgehog", "s2")
	s.Restart()
	s.awaits("session/s2/a2a/echo/t2/result", "session/primary/a2a-outcomes/echo/ctx-t2")
	for _, key := range []string{"session/s2/a2a/echo/t2/result", "session/primary/a2a-outcomes/echo/ctx-t2"} {
		if _, err := s.Parley(t.Context(), "memory", "delete", key); err != nil {
			t.Fatal(err)
		}
	}
	// The word tulips is in both of them, the word result in one key.
	both := []string{outcome.key, result.key}
	for range 2 {
		if diff := cmp.Diff(both, s.keys("/search", "q", "tulips")); diff != "" {
			t.Errorf("search by text (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(both[:1], s.keys("/search", "q", "tulips", "category", outcome.category)); diff != "" {
			t.Errorf("search by text and category (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(both, s.printed("search", "tulips")); diff != "" {
			t.Errorf("parley memory search (-want +got):\n%s", diff)
		}
		s.finds(result, true)
		s.finds(outcome, true)
		s.finds(plan, true)
		s.Restart()
	}
	s.later(59 * time.Minute)
	if diff := cmp.Diff(both, s.keys("/search", "q", "tulips")); diff != "" {
		t.Errorf("search after 59 minutes (-want +got):\n%s", diff)
	}
	s.later(2 * time.Minute)
	if diff := cmp.Diff(both[:1], s.keys("/search", "q", "tulips")); diff != "" {
		t.Errorf("search after an hour (-want +got):\n%s", diff)
	}
	s.finds(result, false)
	s.finds(outcome, true)
	s.later(7 * time.Hour)
	s.finds(outcome, false)
	s.finds(plan, true)
	s.later(time.Hour)
	s.finds(plan, false)
}

// awaits waits until notes with these keys exist.
func (s *shelf) awaits(keys ...string) {
	s.t.Helper()
	w := &twoHubs{t: s.t, near: &hub{s.Hub, newProcesses(), "hub"}}
	for _, key := range keys {
		if _, err := w.note(s.t.Context(), me, key); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestNotesEndByTheClock: a result expires on time while the hub runs.
func TestNotesEndByTheClock(t *testing.T) {
	t.Parallel()
	s := &shelf{t, hubtest.Start(t, hubtest.Options{Config: "memory: {result_ttl: 2s}\n"})}
	s.ask("echo", "t1", "please water the tulips", "s1")
	const key = "session/s1/a2a/echo/t1/result"
	s.awaits(key)
	var n noteJSON
	if err := hubtest.Call(t.Context(), hubtest.Request{URL: s.URL() + "/api/v1/memory/note" + query("key", key)}, &n); err != nil {
		t.Fatal(err)
	}
	if d := n.ExpiresAt.Sub(n.UpdatedAt); d != 2*time.Second {
		t.Errorf("the result is kept for %v", d)
	}
	s.Restart()
	// The hub may have been killed before it recorded that the note was stored. In this case it
	// stores the note once more.
	for range 2 {
		<-time.After(time.Until(n.ExpiresAt) + 10*time.Millisecond)
		err := hubtest.Call(t.Context(), hubtest.Request{URL: s.URL() + "/api/v1/memory/note" + query("key", key)}, &n)
		if hubtest.Status(err) == http.StatusNotFound {
			break
		}
	}
	s.finds(wanted{key, "a2a-result", "t1", "tulips", ""}, false)
}

// announced opens a stream of notifications and returns a channel that receives the key of the
// first one.
func (s *shelf) announced(ctx context.Context) <-chan string {
	s.t.Helper()
	resp, err := hubtest.Do(ctx, hubtest.Request{URL: s.URL() + "/api/v1/memory/events" + query("prefix", "primary/notifications/")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	received := make(chan string, 1)
	go func() {
		defer close(received)
		for ev, err := range hubtest.Events(resp.Body) {
			var n struct{ Key string }
			if err != nil || ev.Data != "" && json.Unmarshal([]byte(ev.Data), &n) == nil {
				received <- n.Key
				return
			}
		}
	}()
	return received
}

// TestLateResultsAreAnnounced: the hub announces the result of a task whose session has ended
// meanwhile, also if the hub was killed in between.
func TestLateResultsAreAnnounced(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", kill), func(t *testing.T) {
			t.Parallel()
			s := &shelf{t, hubtest.Start(t, hubtest.Options{})}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			id, seconds := "", 1
			for working := false; !working; seconds *= 2 { // on a busy machine the task may end first
				id = fmt.Sprintf("t%d", seconds)
				body := fmt.Sprintf(`{"message":{"taskId":%q,"messageId":%[1]q,"role":"ROLE_USER","parts":[{"text":"work for %ds"}]},"configuration":{"returnImmediately":true},"metadata":{"sessionId":"s1"}}`, id, seconds)
				if err := hubtest.Call(ctx, hubtest.Request{URL: s.URL() + "/v1/a2a/slow/message:send", Body: body}, nil); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Parley(ctx, "memory", "delete", "--session", "s1"); err != nil {
					t.Fatal(err)
				}
				var now taskJSON
				if err := hubtest.Call(ctx, hubtest.Request{URL: s.URL() + "/v1/a2a/tasks/" + id}, &now); err != nil {
					t.Fatal(err)
				}
				working = !now.ended()
			}
			seconds /= 2
			if kill {
				s.Restart()
			}
			key := "primary/notifications/a2a/slow/" + id
			received := s.announced(ctx)
			text, err := s.Parley(ctx, "memory", "watch", "primary/notifications/", "--limit", "1")
			if err != nil || !strings.HasPrefix(text, key+"\ta2a-notification\t") {
				t.Errorf("parley memory watch says %q, %v", text, err)
			}
			if got := <-received; got != key {
				t.Errorf("the first event is about %q, want %s", got, key)
			}
			if got := s.keys("", "prefix", "session/"); len(got) > 0 {
				t.Errorf("the session has the notes %q", got)
			}
			var n noteJSON
			if err := hubtest.Call(ctx, hubtest.Request{URL: s.URL() + "/api/v1/memory/note" + query("key", key)}, &n); err != nil {
				t.Fatal(err)
			}
			if n.Category != "a2a-notification" || !strings.Contains(n.Value, fmt.Sprintf("worked for %d s", seconds)) && !kill || n.ExpiresAt.Sub(n.UpdatedAt) != 8*time.Hour {
				t.Errorf("the notification is %+v", n)
			}
		})
	}
}
