package crash

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// confirmed holds the ids of the tasks and the names of the callers in successful answers.
type confirmed struct {
	grown chan struct{} // one after each confirmation, or one after several

	mu    sync.Mutex // guards the fields below
	tasks []string
	trust []string
}

// note adds a confirmation to one of the lists.
func (s *confirmed) note(list *[]string, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, name)
	select {
	case s.grown <- struct{}{}:
	default:
	}
}

// await waits until as many tasks and changes are confirmed.
func (s *confirmed) await(t *testing.T, tasks, changes int) {
	t.Helper()
	enough := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.tasks) >= tasks && len(s.trust) >= changes
	}
	for late := time.After(patience); !enough(); {
		select {
		case <-s.grown:
		case <-late:
			t.Fatalf("the hub has not confirmed %d tasks and %d changes", tasks, changes)
		}
	}
}

// TestAuditOutlivesKills kills the hub while tasks are sent and the trust of callers is
// changed. Everything that the hub confirmed to a caller must be in the audit log, and its
// chain must be valid.
func TestAuditOutlivesKills(t *testing.T) {
	h := hubtest.Start(t, hubtest.Options{Config: "audit: {segment_size: 64KiB}"})
	seen := &confirmed{grown: make(chan struct{}, 1)}
	for round := range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() { seen.send(ctx, h, fmt.Sprintf("m-%d-%d", round, w)) })
		}
		wg.Go(func() { seen.change(ctx, h, fmt.Sprintf("p-%d", round)) })
		select {
		case <-time.After(time.Duration(300+rand.IntN(500)) * time.Millisecond):
		case <-t.Context().Done():
		}
		seen.await(t, 5*(round+1), round+1)
		h.Kill()
		cancel()
		wg.Wait()
		verifyAudit(t, h.Data())
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
	}
	h.Stop()
	rep := verifyAudit(t, h.Data())

	sent, changed := make(map[string]bool), make(map[string]bool)
	for e, err := range audit.Read(t.Context(), filepath.Join(h.Data(), "audit"), audit.Query{}, 0) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Action == audit.TaskSend && e.Outcome == audit.OK:
			sent[e.Subject.Task] = true
		case e.Action == audit.TrustChange && e.Outcome == audit.OK:
			changed[e.Subject.ID] = true
		}
	}
	if len(seen.tasks) < 20 || len(seen.trust) < 4 {
		t.Errorf("callers were told of %d tasks and %d changes: too few to show anything", len(seen.tasks), len(seen.trust))
	}
	for _, id := range seen.tasks {
		if !sent[id] {
			t.Errorf("task %s, which its caller was told of, is not in the audit log", id)
		}
	}
	for _, who := range seen.trust {
		if !changed[who] {
			t.Errorf("the change of %s, which was answered, is not in the audit log", who)
		}
	}
	t.Logf("%d tasks and %d changes were told; %d entries in %d files", len(seen.tasks), len(seen.trust), rep.Entries, rep.Files)
}

// send sends messages, one after the other, until the hub is unreachable.
func (s *confirmed) send(ctx context.Context, h *hubtest.Hub, id string) {
	for i := 0; ; i++ {
		body := sending{id: fmt.Sprint(id, "-", i), text: "hi"}.body()
		var answer frame
		if hubtest.Call(ctx, hubtest.Request{URL: h.URL() + "/v1/a2a/message:send", Body: body}, &answer) != nil {
			return
		}
		s.note(&s.tasks, answer.Task.ID)
	}
}

// change changes the trust of new subjects, one after the other, until the hub is unreachable.
func (s *confirmed) change(ctx context.Context, h *hubtest.Hub, who string) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s-%d", who, i)
		body := fmt.Sprintf(`{"agentId":%q,"level":"learn"}`, name)
		if hubtest.Call(ctx, hubtest.Request{URL: h.URL() + "/api/v1/trust", Body: body}, nil) != nil {
			return
		}
		s.note(&s.trust, name)
	}
}

// verifyAudit fails the test unless the audit log of a data folder is valid.
func verifyAudit(t *testing.T, data string) *audit.Report {
	t.Helper()
	rep, err := audit.Verify(data, audit.Check{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rep.Problems {
		t.Errorf("the audit log is not sound: %s", rep.Problems[i].String())
	}
	return rep
}

// TestAuditHoldsNoSecrets puts marks into all secrets and into the content of messages. None of
// the marks may be in the log.
func TestAuditHoldsNoSecrets(t *testing.T) {
	const mark = "MARK0MARK0MARK"
	h := hubtest.Start(t, hubtest.Options{
		Config: "audit: {level: reads}\npush: {allow: [loopback]}\ndirectory: {allow: [loopback]}\nauth: {api_keys: {" + mark + "-configured: {agentId: ops, roles: [admin]}}}",
	})
	key := []string{"X-Api-Key", mark + "-configured"}
	for _, r := range []struct{ request, body string }{
		{"POST /v1/a2a/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + mark + `"}],"metadata":{"k":"` + mark + `"}},"configuration":{"taskPushNotificationConfig":{"url":"http://127.0.0.1:1/?t=` + mark + `","token":"` + mark + `"}}}`},
		{"POST /api/v1/agents", `{"name":"away","url":"http://127.0.0.1:1/` + mark + `","credentials":{"bearer":"` + mark + `"},"description":"` + mark + `"}`},
		{"POST /api/v1/inbox", `{"text":"` + mark + `"}`},
		{"PUT /api/v1/memory/note?key=a", `{"content":"` + mark + `"}`},
		{"POST /api/v1/keys", `{"agentId":"x"}`},
		{"POST /api/v1/keys", `{"agentId":"x","wrong":"` + mark + `"}`},
		{"DELETE /api/v1/keys/" + mark, ""},
		{"POST /api/v1/tasks/x/fail", `{"reason":"` + mark + `"}`},
		{"GET /v1/a2a/tasks", ""},
	} {
		method, path, _ := strings.Cut(r.request, " ")
		resp, err := hubtest.Do(t.Context(), hubtest.Request{Method: method, URL: h.URL() + path, Body: r.body, Header: key})
		if err != nil {
			t.Fatal(err)
		}
		code, body := whole(t, resp)
		t.Logf("%s = %d %.100s", r.request, code, body)
	}
	for _, header := range [][]string{
		{"X-Api-Key", mark + "-and-wrong"},
		{"Authorization", "Bearer eyJ" + mark + "." + mark + "." + mark},
		{"Authorization", "Basic " + mark},
		{"X-Api-Key", "pk_aaaaaaaaaa_" + mark},
	} {
		resp, err := hubtest.Do(t.Context(), hubtest.Request{Method: http.MethodGet, URL: h.URL() + "/v1/a2a/tasks", Header: header})
		if err != nil {
			t.Fatal(err)
		}
		if code, body := whole(t, resp); code != http.StatusUnauthorized {
			t.Errorf("GET with %q = %d %s", header, code, body)
		}
	}
	h.Stop()
	rep := verifyAudit(t, h.Data())
	if rep.Entries < 20 {
		t.Errorf("%d entries: too few to show anything", rep.Entries)
	}
	files, err := filepath.Glob(filepath.Join(h.Data(), "audit", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "MARK0") || strings.Contains(line, "pk_") {
				t.Errorf("a secret is in the log: %s", line)
			}
		}
	}
}

func whole(t *testing.T, resp *http.Response) (int, string) {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
