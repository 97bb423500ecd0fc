package hostile

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/testing/grpctest"
)

// otherSurfaces are the requests outside A2A: chat completions, AG-UI, MCP and the API.
func otherSurfaces() []attempt {
	chat := func(name, members string) attempt {
		return attempt{name: "chat: " + name, text: "POST /v1/chat/completions\n" + `{"model":"ask","messages":[{"role":"user","content":"x"}],` + members + `}`}
	}
	run := func(name, id, members string) attempt {
		return attempt{name: "AG-UI: " + name, text: "POST /ag-ui/ask\n" + `{"threadId":"` + id + `","runId":"r","tools":[],"context":[],"state":{},"forwardedProps":{},` + members + `}`}
	}
	all := []attempt{
		chat("a task", `"metadata":{"task_id":"$ID"}`),
		chat("a task, streamed", `"stream":true,"metadata":{"task_id":"$ID"}`),
		anew(chat("a context", `"metadata":{"context_id":"$CTX"}`)),
		anew(run("a thread goes on", "$CTX", `"messages":[{"id":"1","role":"user","content":"x"}]`)),
		reading(empty(run("a thread is shown", "$CTX", `"messages":[]`))),
		run("an interrupt is declined", "$CTX", `"messages":[],"resume":[{"interruptId":"$ID","status":"cancelled"}]`),
	}
	for _, t := range []string{"get_task", "cancel_task"} {
		all = append(all, attempt{name: "MCP: " + t, text: toolCall(t, `{"task_id":"$ID"}`), reads: t == "get_task"})
	}
	all = append(all,
		attempt{name: "MCP: continue_task", text: toolCall("continue_task", `{"task_id":"$ID","message":"x"}`)},
		attempt{name: "MCP: chat_with_agent", text: toolCall("chat_with_agent", `{"agent":"ask","message":"x","taskId":"$ID"}`)},
		reading(empty(attempt{name: "MCP: list_tasks", text: toolCall("list_tasks", `{"context_id":"$CTX"}`)})),
		reading(attempt{name: "MCP: a note", text: toolCall("get_from_working_memory", `{"key":"/$NOTE"}`)}),
		empty(attempt{name: "MCP: notes", text: toolCall("search_working_memory", `{"query":"$NOTE"}`)}),
		empty(attempt{name: "MCP: a note is deleted", text: toolCall("delete_from_working_memory", `{"key":"/$NOTE"}`)}),
		reading(attempt{name: "MCP: the resource of a task", text: mcp("resources/read", `{"uri":"parley://tasks/$ID"}`)}),
		reading(attempt{name: "MCP: the resource of a note", text: mcp("resources/read", `{"uri":"parley://memory/$NOTE"}`)}),
		attempt{name: "MCP: a subscription", text: mcp("resources/subscribe", `{"uri":"parley://tasks/$ID"}`)},
		empty(attempt{name: "MCP: resources", text: mcp("resources/list", `{}`)}),
	)
	all = append(all, reading(attempt{name: "a large part", text: "GET /v1/parts/$ID/$DIGEST"}))
	return append(all, api()...)
}

// api are requests of /api/v1.
func api() []attempt {
	at := func(name, text string) attempt { return attempt{name: "API: " + name, text: text} }
	return []attempt{
		reading(at("a task", "GET /api/v1/tasks/$ID")),
		empty(at("tasks", "GET /api/v1/tasks?context=$CTX")),
		reading(empty(at("a search of tasks", "GET /api/v1/tasks?q="+annsWord))),
		at("a search of all tasks", "GET /api/v1/tasks?scope=all&q="+annsWord),
		at("a tree", "GET /api/v1/tasks/$ID/tree"),
		at("the events of a tree", "GET /api/v1/tasks/$ID/tree/events"),
		reading(at("the log of a task", "GET /api/v1/tasks/$ID/log")),
		at("the events of a log", "GET /api/v1/tasks/$ID/log/events"),
		at("the log of a task of any owner", "GET /api/v1/tasks/$ID/log?scope=all"),
		at("a tree of any owner", "GET /api/v1/tasks/$ID/tree?scope=all"),
		at("the events of a log of any owner", "GET /api/v1/tasks/$ID/log/events?scope=all"),
		at("a task is ended", "POST /api/v1/tasks/$ID/fail\n{}"),
		at("a task is redriven", "POST /api/v1/tasks/$ID/redrive\n{}"),
		at("webhooks", "POST /api/v1/push/$ID/redeliver\n{}"),
		reading(at("a note", "GET /api/v1/memory/note?key=$NOTE")),
		reading(empty(at("notes", "GET /api/v1/memory?prefix=$NOTE"))),
		empty(at("a search of notes", "GET /api/v1/memory/search?q=$NOTE")),
		empty(at("a note is deleted", "DELETE /api/v1/memory/note?key=$NOTE")),
		empty(at("notes are deleted", "DELETE /api/v1/memory/note?prefix=$NOTE")),
		reading(empty(at("a conversation", "GET /api/v1/memory/conversation?context=$CTX"))),
		anew(at("a session is ended", "DELETE /api/v1/memory/session?id=$SESSION")),
		empty(at("questions", "GET /api/v1/inbox")),
		reading(at("a question", "GET /api/v1/inbox/$ITEM")),
		at("a question is answered", "POST /api/v1/inbox/$ITEM/answer\n"+`{"text":"x"}`),
		at("a question is refused", "POST /api/v1/inbox/$ITEM/refuse\n{}"),
		at("a question is approved", "POST /api/v1/inbox/$ITEM/approve\n{}"),
		empty(at("questions of all states", "GET /api/v1/inbox?state=all&kind=question")),
		empty(at("approvals", "GET /api/v1/inbox?state=open&kind=approval")),
		at("an approval", "GET /api/v1/inbox/$APPROVAL"),
		at("an approval is approved", "POST /api/v1/inbox/$APPROVAL/approve\n{}"),
		at("an approval is refused", "POST /api/v1/inbox/$APPROVAL/refuse\n"+`{"text":"x"}`),
		at("an approval is answered", "POST /api/v1/inbox/$APPROVAL/answer\n"+`{"text":"x"}`),
		at("all events", "GET /api/v1/events?after=first&follow=false&task=$ID"),
		at("all events since a time", "GET /api/v1/events?since=2020-01-01T00:00:00Z&follow=false&task=$ID"),
		at("a check of an agent", "POST /api/v1/conformance\n"+`{"url":"$ID"}`),
		at("all tasks", "GET /api/v1/tasks?scope=all&context=$CTX"),
		at("a task of any owner", "GET /api/v1/tasks/$ID?scope=all"),
		at("the number of all tasks", "GET /api/v1/counts?scope=all&owner=acme"),
		at("the number of tasks of another owner", "GET /api/v1/counts?owner=acme"),
		at("the stream of all counts", "GET /api/v1/counts/events?scope=all&owner=acme"),
		at("curves", "GET /api/v1/samples"),
		at("the graph of calls", "GET /api/v1/graph?last=hour"),
		empty(at("the events of questions", "GET /api/v1/inbox/events")),
		empty(at("the events of notes", "GET /api/v1/memory/events?prefix=$NOTE")),
	}
}

// TestEventsOfOthers makes another caller follow notes and questions while ann creates some.
func TestEventsOfOthers(t *testing.T) {
	t.Parallel()
	m := startMatrix(t)
	makes := map[string]string{
		"/api/v1/memory/events": "PUT /api/v1/memory/note?key=plans/next\n" + `{"value":"WORD","ttl":"2h","category":"WORD"}`,
		"/api/v1/inbox/events":  "POST /api/v1/inbox\n" + `{"text":"WORD"}`,
	}
	for _, s := range schemes {
		for path, request := range makes {
			t.Run(s.name+path, func(t *testing.T) {
				m.t = t
				seen := m.follow(&s, "bob", path, func() {
					m.ask(&s, "ann", "v1.0", strings.ReplaceAll(request, "WORD", annsWord))
					m.ask(&s, "bob", "v1.0", strings.ReplaceAll(request, "WORD", "bobmark"))
				}, "bobmark")
				if strings.Contains(seen, annsWord) {
					t.Errorf("bob learns of ann: %s", seen)
				}
				seen = m.follow(&s, "amy", path, func() {
					m.ask(&s, "ann", "v1.0", strings.ReplaceAll(request, "WORD", annsWord+"again"))
				}, annsWord+"again")
				if strings.Contains(seen, "bobmark") {
					t.Errorf("amy learns of bob: %s", seen)
				}
			})
		}
	}
	m.t = t
}

// follow reads a stream of events until the text until comes, which do provokes.
func (m *matrix) follow(s *scheme, who, path string, do func(), until string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+path, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	if h := s.headers(m, who, "v1.0"); h != nil {
		r.Header.Set(h[0], h[1])
	}
	resp, err := m.client(s, who).http.Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	do()
	var all strings.Builder
	buf := make([]byte, 16<<10)
	for !strings.Contains(all.String(), until) {
		n, err := resp.Body.Read(buf)
		all.Write(buf[:n])
		if err != nil {
			m.t.Fatalf("%s does not say %s: %v: %s", path, until, err, &all)
		}
	}
	return all.String()
}

func anew(a attempt) attempt {
	a.makes = true
	return a
}

func empty(a attempt) attempt {
	a.empty = true
	return a
}

func reading(a attempt) attempt {
	a.reads = true
	return a
}

func mcp(method, params string) string {
	return "POST /mcp\n" + `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

func toolCall(name, args string) string {
	return mcp("tools/call", `{"name":"`+name+`","arguments":`+args+`}`)
}

// ask sends a request with a scheme, and returns status, headers and body. For a continuing
// stream it returns the beginning.
func (m *matrix) ask(s *scheme, who, profile, request string, headers ...string) string {
	m.t.Helper()
	line, body, _ := strings.Cut(request, "\n")
	method, path, _ := strings.Cut(line, " ")
	headers = append(s.headers(m, who, profile), headers...)
	c := m.client(s, who)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if g := c.grpc[method]; g != nil {
		return callJSON(ctx, g, path, body, headers)
	}
	h := sender{m, c.http, headers}
	if path == "/mcp" {
		defer h.inSession(ctx)()
	}
	return h.send(ctx, method, path, body)
}

// sender sends requests of one caller.
type sender struct {
	*matrix

	http    *http.Client
	headers []string
}

// inSession begins an MCP session for the following requests, and returns a function that ends
// it.
func (h *sender) inSession(ctx context.Context) func() {
	h.t.Helper()
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	id := firstMatch(h.t, h.send(ctx, http.MethodPost, "/mcp", hello), `Mcp-Session-Id: (\S+)`)
	h.headers = append(h.headers, "Mcp-Session-Id", id)
	h.send(ctx, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return func() { h.send(ctx, http.MethodDelete, "/mcp", "") }
}

// send sends a request of HTTP.
func (h *sender) send(ctx context.Context, method, path, body string) string {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	for i := 0; i+1 < len(h.headers); i += 2 {
		r.Header.Set(h.headers[i], h.headers[i+1])
	}
	resp, err := h.http.Do(r)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	resp.Header.Del("Date")
	return resp.Status + "\n" + strings.Join(metaLines(resp.Header), "\n") + "\n" + readAll(h.t, resp.Body, path+body)
}

// metaLines returns headers in sorted order.
func metaLines(header http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(header)) {
		lines = append(lines, name+": "+strings.Join(header[name], ", "))
	}
	return lines
}

// enough reports whether the expected part of a continuing stream has arrived: data and then
// silence, or silence alone where no data is required.
func enough(request, read string) bool {
	switch silent := strings.HasPrefix(read, ":") || strings.Contains(read, "\n\n:"); {
	case strings.Contains(request, "/events"):
		return silent
	case strings.Contains(request, "ubscri"):
		return silent && strings.Contains(read, "data:")
	}
	return false
}

var silence = regexp.MustCompile(`(?m)^:.*\n\n?`)

// readAll reads an answer to its end, or until enough returns true.
func readAll(t *testing.T, r io.Reader, request string) string {
	t.Helper()
	var all strings.Builder
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		all.Write(buf[:n])
		if errors.Is(err, io.EOF) || enough(request, all.String()) {
			return silence.ReplaceAllString(all.String(), "")
		}
		if err != nil {
			t.Fatalf("%s: %v", &all, err)
		}
	}
}

// callJSON makes a gRPC call. For a continuing stream it returns the first message.
func callJSON(ctx context.Context, c *grpctest.Client, method, request string, headers []string) string {
	for i := 0; i+1 < len(headers); i += 2 {
		ctx = metadata.AppendToOutgoingContext(ctx, headers[i], headers[i+1])
	}
	var all strings.Builder
	err := c.Call(ctx, method, request, func(message string) bool {
		all.WriteString(message + "\n")
		return method != "SubscribeToTask" && method != "TaskSubscription"
	})
	if err != nil {
		return grpctest.Status(err)
	}
	return "200 OK\n" + all.String()
}
