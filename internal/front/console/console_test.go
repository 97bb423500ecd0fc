package console_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/front/console"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/secret/openid"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
	"github.com/parley-a2a/parley/internal/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The keys of callers.
const (
	annsKey = "prl_the-key-of-ann-0123456789"
	bobsKey = "prl_the-key-of-bob-0123456789"
	rootKey = "prl_the-key-of-root-123456789"
)

// world is a hub with its console.
type world struct {
	t     *testing.T
	url   string
	hub   *hub.Hub
	inbox *inbox.Inbox
	trust *trust.Registry
	keys  *auth.Keyring
	bus   *bus.Memory
	dead  *queue.DeadLetters
	// stored are the keys beside those of the configuration.
	stored []auth.Key
	// audit is the folder of the audit log, for a hub with keys.
	audit string
	// tokens and providers are for people who sign in at a provider.
	tokens    auth.Tokens
	providers []*openid.Provider
}

// newWorld starts a hub for callers with keys, or for everyone on this machine.
func newWorld(t *testing.T, keyed bool, more ...engine.Agent) *world {
	t.Helper()
	w := &world{t: t}
	w.start(keyed, more...)
	return w
}

// start starts the hub.
func (w *world) start(keyed bool, more ...engine.Agent) {
	t := w.t
	t.Helper()
	w.inbox, w.bus = new(inbox.Inbox), new(bus.Memory)
	w.dead = &queue.DeadLetters{Bus: w.bus, Store: new(queue.MemLetters)}
	w.trust = new(trust.Registry)
	parts := hub.Parts{Store: new(memstore.Store), Inbox: w.inbox, Trust: w.trust}
	if keyed {
		w.keys = &auth.Keyring{Configured: []auth.Key{
			key(t, annsKey, auth.Principal{ID: "ann"}), key(t, bobsKey, auth.Principal{ID: "bob"}),
			key(t, rootKey, auth.Principal{ID: "root", Roles: []string{auth.RoleAdmin}}),
		}, Tokens: w.tokens, Store: w}
		if err := w.keys.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		parts.Auth = w.keys
		w.audit = filepath.Join(t.TempDir(), "audit")
		log, err := audit.Open(audit.Options{Dir: w.audit, Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() }) // a test may have damaged it
		parts.Audit = log
	}
	h, err := hub.New(parts, hub.Settings{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	w.hub = h
	for _, b := range builtin.Agents() {
		more = append(more, engine.Agent{Name: b.Name, Card: b.Card, Executor: b.Executor})
	}
	for _, a := range more {
		if err := h.Engine().Register(a); err != nil {
			t.Fatal(err)
		}
	}
	w.serve(parts.Store.(*memstore.Store))
}

func key(t *testing.T, text string, p auth.Principal) auth.Key {
	t.Helper()
	k, err := auth.ConfiguredKey(text, p)
	if err != nil {
		t.Fatal(err)
	}
	return *k
}

// Keys and PutKey implement auth.KeyStore. The Keyring holds new keys.
func (w *world) Keys(context.Context) ([]auth.Key, error) { return w.stored, nil }

func (*world) PutKey(context.Context, *auth.Key) error { return nil }

// serve runs the hub until the end of the test.
func (w *world) serve(store *memstore.Store) {
	h, t := w.hub, w.t
	api := h.API()
	api.Control = &operator.Operator{Engine: h.Engine(), Tasks: store, Notes: new(dirstore.Memory)}
	api.Dead = w.dead
	if w.keys != nil {
		api.Keys = w.keys
	}
	api.Reach = h.Reach("http://hub.test", "")
	c := &console.Handler{Hub: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Handler().ServeHTTP(w, r) }), Version: "test", Providers: w.providers, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	h.Mount(hub.Front{API: api, Console: c, Loopback: true})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- h.Run(ctx, hub.Work{Ready: func() { close(ready) }}) }()
	srv := httptest.NewServer(h.Handler())
	w.url = srv.URL
	t.Cleanup(func() {
		cancel()
		srv.CloseClientConnections()
		srv.Close()
		c.Close()
		if err := <-ended; err != nil {
			t.Errorf("the hub ended with %v", err)
		}
	})
	<-ready
}

// person is a browser without a script.
type person struct {
	*world
	client *http.Client
	// token is the token of the last page with a form.
	token string
}

func (w *world) person() *person {
	jar, _ := cookiejar.New(nil) // never fails
	return &person{world: w, client: &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// as returns a person who has signed in.
func (w *world) as(key string) *person {
	w.t.Helper()
	p := w.person()
	p.get("/console/sign-in")
	if a := p.post("/console/sign-in", "key", key); a.code != 200 || a.path != "/console/" {
		w.t.Fatalf("sign in: %d at %s", a.code, a.path)
	}
	return p
}

// page is an answer after redirects.
type page struct {
	code       int
	path, body string
	header     http.Header
	// address is the address of the answer.
	address string
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

func (p *person) do(r *http.Request) page {
	p.t.Helper()
	resp, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if m := tokenField.FindSubmatch(b); m != nil {
		p.token = string(m[1])
	}
	return page{resp.StatusCode, resp.Request.URL.RequestURI(), string(b), resp.Header, resp.Request.URL.String()}
}

func (p *person) get(path string) page {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(r)
}

// post sends a form with the token of the last page.
func (p *person) post(path string, fields ...string) page {
	p.t.Helper()
	v := url.Values{"token": {p.token}}
	for i := 0; i < len(fields); i += 2 {
		v.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+path, strings.NewReader(v.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.do(r)
}

// send sends a message by the page for it, and returns the id of the task.
func (p *person) send(agent, text string) string {
	p.t.Helper()
	p.get("/console/try?agent=" + url.QueryEscape(agent))
	a := p.post("/console/try", "agent", agent, "text", text)
	u, err := url.Parse(a.path)
	if err != nil || u.Query().Get("id") == "" {
		p.t.Fatalf("send to %s: %d at %s\n%s", agent, a.code, a.path, a.body)
	}
	return u.Query().Get("id")
}

// events returns the events of a stream until one has the text, or the task has ended, and the
// id of the last one with an id.
func (p *person) events(path, until string) (all, last string) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		all += string(buf[:n])
		if strings.Contains(all, until) || strings.Contains(all, "event: end\ndata: end\n") {
			break
		}
		if err != nil {
			p.t.Fatalf("the stream %s ended before %q: %v\n%s", path, until, err, all)
		}
	}
	for line := range strings.Lines(all) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			last = strings.TrimSpace(id)
		}
	}
	return all, last
}

// done waits for the end of a task by its stream.
func (p *person) done(id string) {
	p.t.Helper()
	p.events("/console/task/events?id="+url.QueryEscape(id)+"&after=0", "event: end")
}

func wants(t *testing.T, a page, code int, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !strings.Contains(a.body, s) {
			t.Errorf("%s has no %q:\n%s", a.path, s, a.body)
		}
	}
	if a.code != code {
		t.Errorf("%s = %d, want %d", a.path, a.code, code)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	p := newWorld(t, false).person()
	wants(t, p.get("/console/"), 200, "Send a first message", "echo", "OK")
	id := p.send("echo", "hello big world")
	p.done(id)
	wants(t, p.get("/console/task?id="+id), 200, "hello big world", "completed", "chunks, last", "parley send --url", "took ")
	wants(t, p.get("/console/tasks"), 200, id[:8], "<b>1</b> completed")
	wants(t, p.get("/console/tasks?state=TASK_STATE_FAILED"), 200, "No matching tasks")
	wants(t, p.get("/console/tasks?state=none"), 200, "is not a task state")
	if a := p.get("/console/tasks?id=" + id); a.path != "/console/task?id="+id {
		t.Errorf("the id of a task leads to %s", a.path)
	}
	wants(t, p.get("/console/tasks?id=none"), 200, "no task with this id")
	wants(t, p.get("/console/tasks?id=no"), 200, "shorter than 4 characters")
	wants(t, p.get("/console/try?agent=interview"), 200, "Message to interview", "Accepts", "http://hub.test/a2a/interview")
	wants(t, p.get("/console/agents"), 200, "report", "default")
	wants(t, p.get("/console/inbox"), 200, "Nothing needs attention")
	wants(t, p.get("/console/none"), 404, "no page at this address")
	wants(t, p.get("/console/task?id=none"), 404, "Task not found")
	wants(t, p.get("/console/task/entry?id="+id+"&v=1"), 200, `"kind": "created"`)
	wants(t, p.get("/console/task/entry?id="+id+"&v=99"), 400, "after")
	if a := p.get("/console"); a.path != "/console/" {
		t.Errorf("/console leads to %s", a.path)
	}
	h := p.get("/console/").header
	for _, name := range []string{"Content-Security-Policy", "Referrer-Policy", "X-Frame-Options", "X-Content-Type-Options", "Cross-Origin-Opener-Policy"} {
		if h.Get(name) == "" {
			t.Errorf("the page has no %s", name)
		}
	}
	if policy := h.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
}

// TestTaskFilters finds tasks by the beginning of their ids, by owner, context and time.
func TestTaskFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, root := w.as(annsKey), w.as(rootKey)
	id := ann.send("echo", "hello")
	ann.done(id)
	other := root.send("echo", "hello")
	root.done(other)
	if a := ann.get("/console/tasks?id=" + id[:len(id)-1]); a.path != "/console/task?id="+id {
		t.Errorf("the beginning of an id leads to %s", a.path)
	}
	if a := root.get("/console/tasks?id=" + id[:len(id)-1]); a.path != "/console/task?id="+id+"&owner=ann" {
		t.Errorf("the beginning of an id leads an administrator to %s", a.path)
	}
	wants(t, ann.get("/console/tasks?id="+other), 200, "no task with this id")
	lists := func(p *person, query string, want ...string) {
		t.Helper()
		a := p.get("/console/tasks?" + query)
		if n := strings.Count(a.body, "a class=\"line\""); n != len(want) || a.code != 200 {
			t.Errorf("%s lists %d tasks, want %d:\n%s", query, n, len(want), a.body)
		}
		wants(t, a, 200, want...)
	}
	lists(root, "", id, other)
	lists(root, "scope=mine", other)
	lists(root, "scope=all", id, other)
	lists(root, "owner=ann", id)
	wants(t, root.get("/console/tasks?owner=ann"), 200, "<b>1</b> completed", "state=TASK_STATE_COMPLETED\">")
	lists(root, "owner=none")
	lists(ann, "since=2020-01-01T00:00", id)
	lists(ann, "since=15m&until=2100-01-01+12:00", id)
	lists(ann, "until=15m")
	lists(ann, "since=2100-01-01T00:00")
	lists(ann, "until=2020-01-01T00:00")
	lists(ann, "until=2100-01-01T00:00&agent=echo", id)
	wants(t, ann.get("/console/tasks?owner=root"), 403)
	wants(t, ann.get("/console/tasks?since=x"), 200, "is not a time")
}

func TestQuestionAndCancel(t *testing.T) {
	t.Parallel()
	p := newWorld(t, false).person()
	id := p.send("interview", "start")
	_, last := p.events("/console/task/events?id="+id+"&after=0", "input required")
	wants(t, p.get("/console/task?id="+id), 200, "The agent is waiting for your answer", "data-live=")
	wants(t, p.post("/console/task/answer", "id", id, "text", "Ada"), 200, "Ada")
	// A stream that continues after its last event has none of the earlier ones.
	news, _ := p.events("/console/task/events?id="+id+"&after="+last, "Ada")
	if strings.Contains(news, ">start<") || !strings.Contains(news, "Ada") {
		t.Errorf("the stream after %s repeats:\n%s", last, news)
	}
	p.get("/console/task?id=" + id)
	// The run for the answer is not another attempt at the first message. Its entries are 5 and 6.
	if news, _ := p.events("/console/task/events?id="+id+"&after="+last, `data-version="6"`); strings.Contains(news, "attempt") {
		t.Errorf("an answer is shown as another attempt:\n%s", news)
	}
	p.post("/console/task/cancel", "id", id)
	p.done(id)
	wants(t, p.get("/console/task?id="+id), 200, "canceled")
	wants(t, p.post("/console/task/cancel", "id", id), 400, `role="alert"`)
}

// TestOperate checks that administrators, and no other callers, end tasks with a reason, and read
// why a task cannot be run again.
func TestOperate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, root := w.as(annsKey), w.as(rootKey)
	id := ann.send("interview", "start")
	ann.events("/console/task/events?id="+id+"&after=0", "input required")
	if a := ann.get("/console/task?id=" + id); strings.Contains(a.body, "/console/task/operate") {
		t.Error("a caller without a role sees the form of operators")
	}
	wants(t, ann.post("/console/task/operate", "id", id, "verb", "fail", "reason", "x"), 403)
	page := "/console/task?id=" + id + "&owner=ann"
	a := root.get(page)
	wants(t, a, 200, "Fail this task?", "Cancel this task?", "of agent interview: “start”", "Its caller sees the reason. This cannot be undone.", "Not possible now: redrive, reassign (the task waits for its caller")
	if strings.Contains(a.body, "Run this task again?") {
		t.Error("the page has a button for what is not possible")
	}
	wants(t, root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "redrive"), 409, `role="alert"`)
	wants(t, root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "explode"), 400, "Choose to redrive")
	wants(t, root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "reassign", "agent", "none"), 404)
	wants(t, root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "fail", "reason", " "), 400, "a reason is required")
	wants(t, root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "fail", "reason", "the forms were lost"), 200, "failed", "the forms were lost")
	wants(t, ann.get("/console/task?id="+id), 200, "the forms were lost", `<span class="by">root</span>`)
}

var revisionField = regexp.MustCompile(`name="revision" value="([^"]+)"`)

// TestTwoOperators checks that a form of a page that is out of date does nothing, and that its operator
// reads about the action of the other. Output of the agent does not make a page out of date.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, root := w.as(annsKey), w.as(rootKey)
	id := ann.send("interview", "start")
	ann.events("/console/task/events?id="+id+"&after=0", "input required")
	address := "/console/task?id=" + id + "&owner=ann"
	seen := revisionField.FindStringSubmatch(root.get(address).body)
	if seen == nil {
		t.Fatal("the form has no revision")
	}
	wants(t, ann.post("/console/task/answer", "id", id, "text", "Ada"), 200)
	fail := func(revision string) page {
		return root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "fail", "reason", "the second reason", "revision", revision)
	}
	if news, _ := root.events("/console/task/events?id="+id+"&owner=ann&after=6&seen=old", "Fail this task?"); !strings.Contains(news, "event: head") {
		t.Errorf("the stream of a page that is out of date begins with %s", news)
	}
	if a := fail(html.UnescapeString(seen[1])); a.code != 409 || !strings.Contains(a.body, "nothing was done, because the task has changed (now ") {
		t.Errorf("an operation on a task that has changed = %d %s", a.code, a.body)
	}
	ann.events("/console/task/events?id="+id+"&after=0", `data-version="6"`)
	seen = revisionField.FindStringSubmatch(root.get(address).body)
	wants(t, root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "fail", "reason", "the first reason", "revision", html.UnescapeString(seen[1])), 200, "the first reason")
	a := fail(html.UnescapeString(seen[1]))
	wants(t, a, 409, "(now failed, run 2", "the first reason", `<span class="by">root</span>`)
	if strings.Contains(a.body, "the second reason") {
		t.Error("the second operation has changed the task")
	}
}

// TestSignInForForm sends forms without a session. The page after the sign-in has their fields.
func TestSignInForForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, root := w.as(annsKey), w.as(rootKey)
	id := ann.send("interview", "start")
	ann.events("/console/task/events?id="+id+"&after=0", "input required")
	root.post("/console/sign-out")
	a := root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "fail", "reason", "it <b>hangs</b>", "revision", "x")
	wants(t, a, 200, "Sign in")
	next := regexp.MustCompile(`name="next" value="([^"]*)"`).FindStringSubmatch(a.body)
	if next == nil {
		t.Fatal("the page has no address to return to")
	}
	wants(t, root.post("/console/sign-in", "key", rootKey, "next", html.UnescapeString(next[1])), 200, "<details class=\"action\" open>", "it &lt;b&gt;hangs", "Fail this task?", "input required")
	for form, want := range map[string]string{
		"/console/agents?x=1": "/console/agents\"", "/console/dead": "/console/dead?queue=q", "/console/task/answer": "/console/task?id=" + id + "&text=Ada",
		"/console/sign-in/none": "", "/console/task/none": "",
	} {
		root.post("/console/sign-out")
		a := root.post(form, "id", id, "queue", "q", "text", "Ada", "agent", "echo", "verb", "pause")
		if got := html.UnescapeString(a.body); want != "" && !strings.Contains(got, `name="next" value="`+want) {
			t.Errorf("%s leads to %s", form, got)
		}
		root.post("/console/sign-in", "key", rootKey)
	}
}

// TestRows checks that a list shows the message and the answer of each task to callers with the right to read it.
func TestRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, bob, root := w.as(annsKey), w.as(bobsKey), w.as(rootKey)
	wants(t, ann.get("/console/tasks"), 200, "There are no tasks yet", "parley send --url &#39;http://127.0.0.1")
	wants(t, ann.get("/console/tasks?agent=echo"), 200, "No matching tasks")
	id := ann.send("interview", "plan \n the\u202e <b>week</b>")
	ann.events("/console/task/events?id="+id+"&after=0", "input required")
	list := ann.get("/console/tasks")
	wants(t, list, 200, ">plan the⟨U&#43;202E⟩ &lt;b&gt;week&lt;/b&gt;</a>", "What is your name?", " UTC\">", ">input required<")
	wants(t, ann.get("/console/"), 200, ">plan the⟨U&#43;202E⟩")
	wants(t, root.get("/console/tasks?scope=all"), 200, ">plan the⟨U&#43;202E⟩", ">ann<")
	for _, p := range []*person{bob, root} {
		if a := p.get("/console/tasks?scope=mine"); a.code != 200 || strings.Contains(a.body, "week") {
			t.Errorf("the list of another caller = %d %s", a.code, a.body)
		}
	}
}

// TestTaskList searches, sorts and lays out lists of tasks, also one that is written in pieces.
func TestTaskList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, bob, root := w.as(annsKey), w.as(bobsKey), w.as(rootKey)
	for i := range 103 {
		ann.done(ann.send("echo", fmt.Sprint("parcel number ", i)))
	}
	id := ann.send("interview", "what colour is the parcel")
	ann.events("/console/task/events?id="+id+"&after=0", "input required")
	lines := func(p *person, query string) []string {
		t.Helper()
		a := p.get("/console/tasks?" + query)
		if a.code != 200 || strings.Contains(a.body, "<!--cut-->") || !strings.HasSuffix(a.body, "</html>\n") {
			t.Fatalf("%s = %d, ends with %q", query, a.code, a.body[max(0, len(a.body)-40):])
		}
		var all []string
		for _, m := range regexp.MustCompile(`<a class="line"[^>]*>([^<]*)</a>`).FindAllStringSubmatch(a.body, -1) {
			all = append(all, m[1])
		}
		return all
	}
	for query, want := range map[string]int{"": 50, "n=100": 100, "n=1000": 104, "n=10000&q=parcel": 104, "q=parcels+77": 1, "q=colour": 1, "q=banana": 0, "q=the": 0} {
		if got := lines(ann, query); len(got) != want {
			t.Errorf("%s lists %d tasks, want %d", query, len(got), want)
		}
	}
	if got := lines(bob, "q=parcel"); len(got) != 0 {
		t.Errorf("another caller finds %q", got)
	}
	if a := ann.get("/console/tasks?q=" + id[:30]); a.path != "/console/task?id="+id {
		t.Errorf("a search for an id leads to %s", a.path)
	}
	wants(t, ann.get("/console/tasks?q=the"), 200, `role="alert"`, "no word to search for")
	if got := lines(ann, "sort=state"); got[0] != "what colour is the parcel" {
		t.Errorf("sorted by state: %q", got)
	}
	if got := lines(ann, "sort=-changed&n=1000"); got[0] != "parcel number 0" || len(got) != 104 {
		t.Errorf("sorted by change, the oldest first: %q", got)
	}
	a := root.get("/console/tasks?q=77&col=message&col=owner&col=attempts&col=created&sort=owner")
	wants(t, a, 200, `<td class="c-owner">ann</td>`, "<td class=\"c-attempts num\">1</td>", "Sorted among the 1 newest", `cols=message%2Cowner%2Cattempts%2Ccreated`, `aria-sort="ascending"`)
	if strings.Contains(a.body, `class="c-agent"`) {
		t.Error("the page has a column that was not chosen")
	}
	wants(t, root.get("/console/tasks?scope=mine&q=77"), 200, "No matching tasks")
	wants(t, root.get("/console/?scope=mine"), 200, "Nothing has happened yet", "of the whole hub", "<b>0</b> completed")
	wants(t, root.get("/console/"), 200, "parcel number", "<b>103</b> completed")
}

// TestRaw shows the bytes of an entry in each dialect.
func TestRaw(t *testing.T) {
	t.Parallel()
	p := newWorld(t, false).person()
	id := p.send("echo", "hello")
	p.done(id)
	for as, want := range map[string]string{"": "&#34;kind&#34;: &#34;artifact&#34;", "v1.0": "&#34;artifactUpdate&#34;", "v0.3": "&#34;kind&#34;: &#34;artifact-update&#34;", dialecttest.Derived: "artifact"} {
		wants(t, p.get("/console/task/raw?id="+id+"&v=3&as="+as), 200, "hello", want)
	}
	wants(t, p.get("/console/task/raw?id="+id+"&v=3&as=morse"), 400, "is not a dialect")
	wants(t, p.get("/console/task/raw?id="+id+"&v=0"), 404)
}

func TestInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	put := func(id string, kind inbox.Kind) {
		if _, err := w.inbox.Put(t.Context(), &inbox.Item{ID: inbox.ID(id), Kind: kind, Owner: auth.Local, Text: "May I " + id + "?"}); err != nil {
			t.Fatal(err)
		}
	}
	put("go", inbox.Question)
	put("pay", inbox.Approval)
	p := w.person()
	wants(t, p.get("/console/inbox"), 200, "May I go?", "May I pay?", "Approve", "Answer")
	p.post("/console/inbox", "id", "go", "verb", "answer", "text", "Yes, go")
	a := p.post("/console/inbox", "id", "pay", "verb", "approve")
	if strings.Contains(a.body, "May I") {
		t.Errorf("settled items are open:\n%s", a.body)
	}
	wants(t, p.get("/console/inbox?state=all"), 200, "Yes, go", "approved")
	wants(t, p.post("/console/inbox", "id", "pay", "verb", "approve"), 409, `role="alert"`, "local")
	wants(t, p.post("/console/inbox", "id", "pay", "verb", "steal"), 400, "Choose")
}

// TestForms checks that a change needs the token of its session, and a page of this origin.
func TestForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	p, other := w.person(), w.person()
	other.get("/console/try")
	id := p.send("interview", "start")
	for _, token := range []string{"", "x", other.token} {
		p.token = token
		for _, path := range []string{"/console/task/cancel", "/console/task/answer", "/console/try", "/console/inbox", "/console/sign-in"} {
			if a := p.post(path, "id", id, "text", "x", "agent", "echo", "verb", "answer", "key", annsKey); a.code != 403 {
				t.Errorf("%s with token %q = %d", path, token, a.code)
			}
		}
	}
	p.get("/console/try")
	v := url.Values{"token": {p.token}, "id": {id}}
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:1"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/console/task/cancel", strings.NewReader(v.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(header, value)
		if a := p.do(r); a.code != 403 {
			t.Errorf("%s: %s = %d", header, value, a.code)
		}
	}
	a := p.get("/console/task?id=" + id)
	if strings.Contains(a.body, "cancel requested") || strings.Contains(a.body, "canceled") {
		t.Error("the task was canceled")
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	p := w.person()
	for _, path := range []string{"/console/", "/console/tasks", "/console/task?id=x", "/console/try", "/console/agents", "/console/inbox", "/console/task/entry?id=x&v=1"} {
		if a := p.get(path); !strings.HasPrefix(a.path, "/console/sign-in?next=") {
			t.Errorf("%s without a key leads to %s", path, a.path)
		}
	}
	if a := p.get("/console/task/events?id=x"); a.code != 401 {
		t.Errorf("events without a key = %d", a.code)
	}
	before := p.cookie()
	wants(t, p.post("/console/sign-in", "key", "prl_wrong-0123456789"), 401, "does not accept this key")
	wants(t, p.post("/console/sign-in", "key", "two words"), 422, "not a key")
	a := p.post("/console/sign-in", "key", annsKey, "next", "/console/tasks?state=x")
	if a.path != "/console/tasks?state=x" {
		t.Errorf("after the sign-in: %s", a.path)
	}
	if strings.Contains(a.body, annsKey) || p.cookie() == before || strings.Contains(p.cookie(), "prl_") {
		t.Error("the page has the key, or the session has the cookie from before")
	}
	wants(t, a, 200, "ann", "Sign out")
	for _, next := range []string{"https://evil.example/", "//evil.example/console/", `/console/\evil`, "/a2a", "javascript:alert(1)"} {
		q := w.person()
		q.get("/console/sign-in")
		if a := q.post("/console/sign-in", "key", annsKey, "next", next); !strings.HasPrefix(a.path, "/console/") || a.code != 200 {
			t.Errorf("next %q leads to %d %s", next, a.code, a.path)
		}
	}
	p.post("/console/sign-out")
	if a := p.get("/console/tasks"); !strings.HasPrefix(a.path, "/console/sign-in") {
		t.Errorf("after the sign-out: %s", a.path)
	}
}

// cookie returns the value of the session's cookie.
func (p *person) cookie() string {
	u, _ := url.Parse(p.url + "/console/")
	for _, c := range p.client.Jar.Cookies(u) {
		return c.Value
	}
	return ""
}

// TestIsolation checks that the task of another owner gives the same bytes as none, and that only
// administrators read it.
func TestIsolation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, bob, root := w.as(annsKey), w.as(bobsKey), w.as(rootKey)
	id := ann.send("echo", "the secret of ann")
	ann.done(id)
	none := strings.Repeat("0", len(id))
	for _, path := range []string{
		"/console/task?id=$ID", "/console/task?id=$ID&after=0", "/console/task/entry?id=$ID&v=1", "/console/task/part?id=$ID&v=1&part=0",
		"/console/task/events?id=$ID", "/console/task?id=$ID&owner=ann", "/console/task/raw?id=$ID&v=1", "/console/task/raw?id=$ID&v=1&as=v0.3", "/console/task/entry?id=$ID&v=1&owner=ann",
		"/console/task/events?id=$ID&owner=ann", "/console/tasks?id=$ID",
	} {
		got, want := bob.get(strings.ReplaceAll(path, "$ID", id)), bob.get(strings.ReplaceAll(path, "$ID", none))
		if got.code != want.code || strings.ReplaceAll(got.body, id, none) != want.body || got.code == 200 && !strings.Contains(path, "tasks?") {
			t.Errorf("%s = %d %s, want %d %s", path, got.code, got.body, want.code, want.body)
		}
	}
	if got, want := bob.post("/console/task/operate", "id", id, "verb", "fail", "reason", "x"), bob.post("/console/task/operate", "id", none, "verb", "fail", "reason", "x"); got.code != 403 || got.body != want.body {
		t.Errorf("operate = %d %s, want %d %s", got.code, got.body, want.code, want.body)
	}
	got, want := bob.post("/console/task/cancel", "id", id), bob.post("/console/task/cancel", "id", none)
	if got.code != want.code || got.body != want.body {
		t.Errorf("cancel = %d %s, want %d %s", got.code, got.body, want.code, want.body)
	}
	for _, path := range []string{"/console/", "/console/tasks", "/console/tasks?scope=all"} {
		if a := bob.get(path); strings.Contains(a.body, id[:8]) || strings.Contains(a.body, "<b>1</b>") {
			t.Errorf("%s shows the task of ann:\n%s", path, a.body)
		}
	}
	wants(t, root.get("/console/tasks?scope=all"), 200, id[:8], "<b>1</b> completed")
	wants(t, root.get("/console/task?id="+id+"&owner=ann"), 200, "the secret of ann")
	if a := root.get("/console/tasks?id=" + id); a.path != "/console/task?id="+id+"&owner=ann" {
		t.Errorf("an administrator gets to %s", a.path)
	}
}
