package httpfront_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/httpfront"
)

// tongue is how a client of one dialect talks about a task of the agent ask. A request
// is "METHOD path", with a body after a line break; an empty one does not exist in the
// dialect. $ID is the task, $CTX its context, $NEW an id that is new.
type tongue struct {
	name    string
	version string
	// make begins a task that waits for its caller.
	make                                 string
	get, next, stream, subscribe, cancel string
	// asks, ended and canceled are in answers that show such a task.
	asks, ended, canceled string
}

func rpcTongue(name, role, part string, methods [6]string, words [3]string) tongue {
	const path = "/a2a/ask"
	call := func(method, params string) string {
		if method == "" {
			return ""
		}
		return "POST " + path + "\n" + `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	message := func(rest string) string {
		return `{"message":{"messageId":"m","role":"` + role + `","parts":[` + part + `]` + rest + `}}`
	}
	return tongue{
		name:      name,
		make:      call(methods[0], message(`,"contextId":"$CTX"`)),
		get:       call(methods[1], `{"id":"$ID"}`),
		next:      call(methods[2], message(`,"taskId":"$ID"`)),
		stream:    call(methods[3], message(`,"taskId":"$ID"`)),
		subscribe: call(methods[4], `{"id":"$ID"}`),
		cancel:    call(methods[5], `{"id":"$ID"}`),
		asks:      words[0], ended: words[1], canceled: words[2],
	}
}

func tongues() []tongue {
	v1 := [6]string{"SendMessage", "GetTask", "SendMessage", "SendStreamingMessage", "SubscribeToTask", "CancelTask"}
	v03 := [6]string{"message/send", "tasks/get", "message/send", "message/stream", "tasks/resubscribe", "tasks/cancel"}
	pk := v03
	pk[4] = "tasks/subscribe"
	const text, kind = `{"text":"Oslo"}`, `{"kind":"text","text":"Oslo"}`
	all := []tongue{
		rpcTongue("v1.0", "ROLE_USER", text, v1, [3]string{"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED", "TASK_STATE_CANCELED"}),
		{
			name: "v1.0 REST",
			make: "POST /v1/a2a/ask/message:send\n" + `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}],"contextId":"$CTX"}}`,
			get:  "GET /v1/a2a/ask/tasks/$ID", cancel: "POST /v1/a2a/ask/tasks/$ID:cancel", subscribe: "GET /v1/a2a/ask/tasks/$ID:subscribe",
			next:   "POST /v1/a2a/ask/message:send\n" + `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Oslo"}],"taskId":"$ID"}}`,
			stream: "POST /v1/a2a/ask/message:stream\n" + `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Oslo"}],"taskId":"$ID"}}`,
			asks:   "TASK_STATE_INPUT_REQUIRED", ended: "TASK_STATE_COMPLETED", canceled: "TASK_STATE_CANCELED",
		},
		rpcTongue("v0.3", "user", kind, v03, [3]string{`"input-required"`, `"completed"`, `"canceled"`}),
		{
			name: "v0.3 REST",
			get:  "GET /v1/tasks/$ID", cancel: "POST /v1/tasks/$ID:cancel", subscribe: "POST /v1/tasks/$ID:subscribe",
			make:   "POST /v1/message:send\n" + `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"}],"contextId":"$CTX"},"metadata":{"skill":"ask"},"configuration":{"blocking":true}}`,
			next:   "POST /v1/message:send\n" + `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"Oslo"}],"taskId":"$ID"},"configuration":{"blocking":true}}`,
			stream: "POST /v1/message:stream\n" + `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"Oslo"}],"taskId":"$ID"}}`,
			asks:   "TASK_STATE_INPUT_REQUIRED", ended: "TASK_STATE_COMPLETED", canceled: "TASK_STATE_CANCELLED",
		},
		rpcTongue("promptkit", "user", text, pk, [3]string{`"input_required"`, `"completed"`, `"canceled"`}),
		rpcTongue("rockbot", "user", text, v1, [3]string{`"inputRequired"`, "sunny in Oslo", `"canceled"`}),
		{
			name: "rockbot task",
			make: "POST /a2a/ask/tasks/send\n" + `{"taskId":"$NEW","contextId":"$CTX","message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}`,
			next: "POST /a2a/ask/tasks/send\n" + `{"taskId":"$NEW","contextId":"$CTX","message":{"role":"user","parts":[{"kind":"text","text":"Oslo"}]}}`,
			asks: `"InputRequired"`, ended: `"Completed"`,
		},
	}
	for i := range all {
		if strings.HasPrefix(all[i].name, "v1.0") {
			all[i].version = "1.0"
		}
	}
	return all
}

// A task that was made in one dialect is read, continued, streamed and canceled in every
// other one that has the operation. The log shows the table.
func TestBridges(t *testing.T) {
	t.Parallel()
	// Each client has a key of its own, and all of them the same tasks. The dialect of
	// the key is what tells PromptKit's call about a task from v0.3's.
	auths := auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
		return &auth.Principal{ID: r.Header("X-Client")[0], Org: "all"}, nil
	})
	profiles := httpfront.Profiles{Callers: map[string]string{"v0.3": "v0.3", "promptkit": "promptkit", "rockbot": "rockbot"}}
	h := startHub(t, httpfront.Config{Auth: auths, Profiles: profiles}, everyone()...)
	b := &bridge{hub: h, t: t}
	var table strings.Builder
	fmt.Fprintf(&table, "%-14s%-14s%-8s%-8s%-8s%-10s%-8s\n", "made in", "used in", "get", "next", "stream", "subscribe", "cancel")
	for _, from := range tongues() {
		for _, to := range tongues() {
			fmt.Fprintf(&table, "%-14s%-14s%-8s%-8s%-8s%-10s%-8s\n", from.name, to.name,
				b.cell(&from, &to, to.get, to.asks), b.cell(&from, &to, to.next, to.ended), b.cell(&from, &to, to.stream, to.ended),
				b.cell(&from, &to, to.subscribe, to.asks), b.cell(&from, &to, to.cancel, to.canceled))
		}
	}
	t.Logf("\n%s", &table)
}

type bridge struct {
	*hub
	t *testing.T
	n int
}

// cell makes a task in one dialect, performs a request in another one, and says how that
// went.
func (b *bridge) cell(from, to *tongue, request, want string) string {
	if request == "" {
		return "-"
	}
	b.n++
	names := strings.NewReplacer("$CTX", fmt.Sprint("context-", b.n), "$NEW", fmt.Sprint("job-", b.n))
	made := b.say(from, names.Replace(from.make))
	if !strings.Contains(made, from.asks) {
		b.t.Fatalf("%s: made %s", from.name, made)
	}
	id := b.find(fmt.Sprint("context-", b.n))
	names = strings.NewReplacer("$ID", id, "$CTX", fmt.Sprint("context-", b.n), "$NEW", fmt.Sprint("next-", b.n))
	if got := b.say(to, names.Replace(request)); !strings.Contains(got, want) {
		b.t.Errorf("made in %s, in %s %s\ngot %s\nwant %s", from.name, to.name, request, got, want)
		return "FAILS"
	}
	return "works"
}

// find returns the id of the task of a context.
func (b *bridge) find(contextID string) string {
	b.t.Helper()
	ans := b.do("GET", "/v1/a2a/tasks?contextId="+contextID, "", "X-Client: finder")
	_, rest, _ := strings.Cut(ans.body, `"tasks":[{"id":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		b.t.Fatalf("no task of %s: %s", contextID, ans.body)
	}
	return id
}

// say sends a request of a client and returns the answer: of a stream that goes on, the
// first event.
func (b *bridge) say(as *tongue, request string) string {
	b.t.Helper()
	line, body, _ := strings.Cut(request, "\n")
	method, path, _ := strings.Cut(line, " ")
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	resp := b.open(ctx, method, path, body, "X-Client: "+as.name, "A2A-Version:"+as.version)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b.t.Errorf("%s: %s is answered with %s", as.name, request, resp.Status)
	}
	var all strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if as.subscribes(request) && strings.HasPrefix(lines.Text(), "data:") {
			break
		}
	}
	return all.String()
}

func (s *tongue) subscribes(request string) bool {
	line, _, _ := strings.Cut(request, "\n")
	return strings.HasSuffix(line, ":subscribe") || strings.Contains(request, `"SubscribeToTask"`) ||
		strings.Contains(request, `"tasks/subscribe"`) || strings.Contains(request, `"tasks/resubscribe"`)
}
