package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// elsewhere returns the configuration of an agent that is an agent of another hub.
func elsewhere(name, url, target string) string {
	return fmt.Sprintf("agents: [{name: %s, endpoint: {backend: a2a, base_url: %q, target: %s}}]\n", name, url, target)
}

// startRow starts three hubs. The agent one passes its messages on to two at the second hub,
// and two to three at the third. last returns the configuration of three, which may be a local
// agent.
func startRow(t *testing.T, last func(first *hubtest.Hub) string) []*hubtest.Hub {
	t.Helper()
	row := []*hubtest.Hub{hubtest.New(t, hubtest.Options{}), hubtest.New(t, hubtest.Options{}), hubtest.New(t, hubtest.Options{})}
	row[0].Configure(elsewhere("one", row[1].URL(), "two"))
	row[1].Configure(elsewhere("two", row[2].URL(), "three"))
	row[2].Configure(last(row[0]))
	for _, h := range row {
		h.Restart()
	}
	return row
}

// send sends a message that creates the task id, and does not wait.
func send(t *testing.T, h *hubtest.Hub, agent, id, text string, header ...string) {
	t.Helper()
	body := sending{task: id, id: "m-" + id, text: text}.body()
	if err := hubtest.Call(t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/" + agent + "/message:send", Body: body, Header: header}, nil); err != nil {
		t.Fatal(err)
	}
}

// followed follows a task until an event contains one of texts, and returns its time of
// arrival.
func followed(ctx context.Context, h *hubtest.Hub, id string, texts ...string) (time.Time, error) {
	resp, err := hubtest.Do(ctx, hubtest.Request{
		Method: http.MethodPost, URL: h.URL() + "/v1/a2a/tasks/" + id + ":subscribe", Header: []string{"Last-Event-ID", "1"},
	})
	if err != nil {
		return time.Time{}, err
	}
	defer resp.Body.Close()
	var last string
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			return time.Time{}, fmt.Errorf("task %s at %s, after %s: %w", id, h.Addr(), last, err)
		}
		last = ev.Data
		for _, text := range texts {
			if strings.Contains(ev.Data, text) {
				return time.Now(), nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("task %s at %s ends with %s", id, h.Addr(), last)
}

// only returns the only task of a hub.
func only(t *testing.T, h *hubtest.Hub) *taskJSON {
	t.Helper()
	var page struct{ Tasks []taskJSON }
	if err := hubtest.Call(t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/tasks?historyLength=10"}, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Tasks) != 1 {
		t.Fatalf("the hub at %s has %d tasks: %+v", h.Addr(), len(page.Tasks), page.Tasks)
	}
	return &page.Tasks[0]
}

var circle = regexp.MustCompile(`in a circle: one@(\w+) → two@(\w+) → three@(\w+) → one@(\w+)`)

// TestCircleOfHubsIsRefused: the agent of the first hub asks one of the second, which asks one
// of the third, which asks the first again. The first hub refuses and names the chain. Each
// agent has one task only.
func TestCircleOfHubsIsRefused(t *testing.T) {
	t.Parallel()
	row := startRow(t, func(first *hubtest.Hub) string { return elsewhere("three", first.URL(), "one") })
	send(t, row[0], "one", "circle", "hello")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := followed(ctx, row[0], "circle", "TASK_STATE_FAILED", "TASK_STATE_REJECTED"); err != nil {
		t.Fatal(err)
	}
	for _, h := range row {
		output := only(t, h).Status.Message.text()
		names := circle.FindStringSubmatch(output)
		if names == nil || names[1] != names[4] || names[1] == names[2] || names[2] == names[3] || names[1] == names[3] {
			t.Errorf("the hub at %s says %q, want the chain of three hubs and the first again", h.Addr(), output)
		}
	}
}

// TestCancelReachesTheThirdHub: the task of the third hub is canceled within a second after the
// caller canceled its own, also if the first hub was killed in between. The load of the machine
// may delay most tasks by more than that second, but a hub that waits for a poll delays all.
func TestCancelReachesTheThirdHub(t *testing.T) {
	t.Parallel()
	row := startRow(t, func(*hubtest.Hub) string { return "" })
	row[1].Configure(elsewhere("two", row[2].URL(), "slow"))
	row[1].Restart()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	best := []time.Duration{time.Hour, time.Hour} // without and with a kill
	for i := 0; i < 6 || slices.Max(best) > time.Second && i < 20; i++ {
		id := fmt.Sprint("cancel-", i)
		send(t, row[0], "one", id, "60 seconds, "+id)
		if _, err := followed(ctx, row[0], id, " of 60"); err != nil { // the third hub reports its progress
			t.Fatal(err)
		}
		if i%2 == 1 {
			row[0].Restart()
		}
		there := taskAbout(t, row[2], id)
		ended := make(chan time.Time, 1)
		var all sync.WaitGroup
		all.Go(func() {
			at, err := followed(ctx, row[2], there, "TASK_STATE_CANCELED")
			if err != nil {
				t.Error(err)
			}
			ended <- at
		})
		began := time.Now()
		if err := hubtest.Call(ctx, hubtest.Request{URL: row[0].URL() + "/v1/a2a/tasks/" + id + ":cancel", Body: "{}"}, nil); err != nil {
			t.Error(err)
		}
		best[i%2] = min(best[i%2], (<-ended).Sub(began))
		if all.Wait(); t.Failed() {
			return
		}
	}
	if slices.Max(best) > time.Second {
		t.Errorf("the task of the third hub was canceled after %v at best, want at most a second", best)
	}
}

// taskAbout returns the id of the task whose caller sent a message with text.
func taskAbout(t *testing.T, h *hubtest.Hub, text string) string {
	t.Helper()
	var page struct{ Tasks []taskJSON }
	if err := hubtest.Call(t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/tasks?historyLength=10&pageSize=100"}, &page); err != nil {
		t.Fatal(err)
	}
	for _, task := range page.Tasks {
		if len(task.History) > 0 && strings.Contains(task.History[0].text(), text) {
			return task.ID
		}
	}
	t.Fatalf("the hub at %s has no task about %s", h.Addr(), text)
	return ""
}

// tap passes requests on to a hub, and records their deadlines.
type tap struct {
	*httptest.Server

	mu        sync.Mutex // guards deadlines
	deadlines []string
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := new(tap)
	pass := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		p.note(r.Header.Get("X-Parley-Deadline"), b)
		r.Body = io.NopCloser(bytes.NewReader(b))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// forget forgets the recorded deadlines.
func (p *tap) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadlines = nil
}

// note records the deadlines of a message in its header and its metadata.
func (p *tap) note(header string, body []byte) {
	var r struct {
		Params, Metadata json.RawMessage
	}
	if json.Unmarshal(body, &r) != nil {
		return
	}
	if r.Params != nil { // JSON-RPC
		json.Unmarshal(r.Params, &r)
	}
	var meta struct {
		Deadline string `json:"parley.deadline"`
	}
	if json.Unmarshal(r.Metadata, &meta) == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.deadlines = append(p.deadlines, header, meta.Deadline)
	}
}

// TestDeadlineReachesTheThirdHub: the deadline that a caller sets at the first hub arrives
// unchanged at the third, where it ends the work.
func TestDeadlineReachesTheThirdHub(t *testing.T) {
	t.Parallel()
	row := startRow(t, func(*hubtest.Hub) string { return "" })
	between := newTap(t, row[2].URL())
	row[1].Configure(elsewhere("two", between.URL, "slow"))
	row[1].Restart()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var want time.Time
	var hurry string
	for limit := 6 * time.Second; ; limit *= 2 { // on a busy machine the message may take some time
		between.forget()
		want = time.Now().Add(limit).UTC().Truncate(time.Millisecond)
		hurry = fmt.Sprint("hurry-", limit)
		send(t, row[0], "one", hurry, "60 seconds, "+hurry, "X-Parley-Deadline", want.Format(time.RFC3339Nano))
		_, err := followed(ctx, row[0], hurry, " of 60")
		if err == nil {
			break
		}
		if time.Now().Before(want) || limit > 40*time.Second {
			t.Fatal(err)
		}
	}
	there := taskAbout(t, row[2], hurry)
	row[0].Restart() // the restart must not extend the deadline
	for h, id := range map[*hubtest.Hub]string{row[2]: there, row[0]: hurry} {
		at, err := followed(ctx, h, id, "TASK_STATE_FAILED", "TASK_STATE_CANCELED") // without it, it is completed
		if err != nil {
			t.Fatal(err)
		}
		if early := want.Sub(at); early > 0 {
			t.Errorf("the task %s at %s ends %v before its deadline", id, h.Addr(), early)
		}
	}
	var ended taskJSON
	if err := hubtest.Call(ctx, hubtest.Request{URL: row[0].URL() + "/v1/a2a/tasks/" + hurry}, &ended); err != nil {
		t.Fatal(err)
	}
	if output := ended.Status.Message.text(); !strings.Contains(output, "deadline") {
		t.Errorf("the caller gets %q, want that the deadline has passed", output)
	}
	between.mu.Lock()
	defer between.mu.Unlock()
	if len(between.deadlines) != 2 {
		t.Fatalf("the third hub got the deadlines %q, want one message with one in the header and one in the metadata", between.deadlines)
	}
	for _, text := range between.deadlines {
		if got, err := time.Parse(time.RFC3339Nano, text); err != nil || !got.Equal(want) {
			t.Errorf("the third hub sees the deadline %q, want %v", text, want)
		}
	}
}
