package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// post is a notification as a receiver gets it.
type post struct {
	url    string
	header http.Header
	body   string
	text   string // of the status or the artifact
	at     time.Time
}

// network answers requests from memory.
type network struct {
	mu     sync.Mutex
	posts  []post
	now    map[string]int // requests under way by URL
	most   map[string]int
	all    int
	peak   int
	answer func(*http.Request, *post) (int, error) // nil answers 200
	header http.Header
	body   io.Reader
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p := post{url: r.URL.String(), header: r.Header.Clone(), body: string(b), text: textOf(string(b)), at: time.Now()}
	n.mu.Lock()
	n.posts = append(n.posts, p)
	n.count(p.url, 1)
	answer, header, body := n.answer, n.header, n.body
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.count(p.url, -1)
	}()
	code := http.StatusOK
	if answer != nil {
		if code, err = answer(r, &p); err != nil {
			return nil, err
		}
	}
	if header == nil {
		header = http.Header{}
	}
	if body == nil {
		body = strings.NewReader("")
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(body), Request: r}, nil
}

func (n *network) count(url string, by int) {
	if n.now == nil {
		n.now, n.most = make(map[string]int), make(map[string]int)
	}
	n.now[url] += by
	n.all += by
	n.most[url], n.peak = max(n.most[url], n.now[url]), max(n.peak, n.all)
}

// got returns the notifications of a URL, and forgets them.
func (n *network) got(url string) []post {
	n.mu.Lock()
	defer n.mu.Unlock()
	var got, rest []post
	for _, p := range n.posts {
		if p.url == url {
			got = append(got, p)
		} else {
			rest = append(rest, p)
		}
	}
	n.posts = rest
	return got
}

// texts returns the texts of the notifications of a URL, and forgets them.
func (n *network) texts(url string) string {
	var texts []string
	for _, p := range n.got(url) {
		texts = append(texts, p.text)
	}
	return strings.Join(texts, " ")
}

func textOf(body string) string {
	var f struct {
		StatusUpdate *struct {
			Status struct {
				State   string
				Message struct{ Parts []struct{ Text string } }
			}
		}
		ArtifactUpdate *struct {
			Artifact struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		return "not JSON: " + body
	}
	switch {
	case f.ArtifactUpdate != nil:
		return f.ArtifactUpdate.Artifact.Parts[0].Text
	case f.StatusUpdate != nil && len(f.StatusUpdate.Status.Message.Parts) > 0:
		return f.StatusUpdate.Status.Message.Parts[0].Text
	case f.StatusUpdate != nil:
		return f.StatusUpdate.Status.State
	}
	return body
}

// world is a dispatcher with a store and a network.
type world struct {
	t     *testing.T
	store *store
	net   *network
	cfg   Config
	d     *Dispatcher
	stop  func()
}

// store is a store that can fail.
type store struct {
	*memstore.Store
	mu       sync.Mutex
	broken   bool
	advances int
	steps    int
	refused  int
}

var errBroken = errors.New("disk is gone")

func (s *store) fail(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *store) check(steps int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		s.refused++
		return errBroken
	}
	if steps > 0 {
		s.advances++
		s.steps += steps
	}
	return nil
}

// Advance implements task.HookWork.
func (s *store) Advance(ctx context.Context, steps []task.HookStep) error {
	if err := s.check(len(steps)); err != nil {
		return err
	}
	return s.Store.Advance(ctx, steps)
}

// Unsettled implements task.HookWork.
func (s *store) Unsettled(ctx context.Context, after task.HookRef, limit int) ([]task.Hooked, error) {
	if err := s.check(0); err != nil {
		return nil, err
	}
	return s.Store.Unsettled(ctx, after, limit)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: &store{Store: new(memstore.Store)}, net: new(network)}
	w.cfg = Config{Store: w.store, Sealer: seal.New(), Transport: w.net, Version: "1"}
	w.cfg.Allow = []string{"all"}
	return w
}

// make creates a dispatcher without running it.
func (w *world) make() {
	w.t.Helper()
	d, err := New(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.d = d
}

// start creates a dispatcher and runs it until halt or the end of the test.
func (w *world) start() {
	w.t.Helper()
	if w.d == nil {
		w.make()
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	d := w.d
	wg.Go(func() {
		if err := d.Run(ctx); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
	w.stop = func() { cancel(); wg.Wait() }
	w.t.Cleanup(w.halt)
}

// halt stops the dispatcher as a signal does.
func (w *world) halt() {
	if w.stop != nil {
		w.stop()
	}
	w.stop, w.d = nil, nil
}

// job is a task of the world.
type job struct {
	w    *world
	head task.Head
}

// pass sleeps for d, and waits until all goroutines are idle. It runs in a bubble.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// slow answers 200 after d. It runs in a bubble.
func (n *network) slow(d time.Duration) func(*http.Request, *post) (int, error) {
	return func(*http.Request, *post) (int, error) {
		time.Sleep(d)
		return http.StatusOK, nil
	}
}

// task creates a task with the state SUBMITTED.
func (w *world) task(id string) *job {
	w.t.Helper()
	head := tasktest.Append(w.t, w.store, tasktest.NewHead("ann", a2a.TaskID(id)), tasktest.Created(w.now(), "hello"))
	return &job{w, head}
}

func (w *world) now() task.Millis { return task.MillisOf(time.Now()) }

// hook registers a webhook for the task and returns its ref.
func (j *job) hook(c task.HookRequest) task.HookRef {
	j.w.t.Helper()
	h := j.put(c)
	j.w.d.Changed(h.Ref(), h, &j.head)
	return h.Ref()
}

// put stores a webhook without notifying the dispatcher.
func (j *job) put(c task.HookRequest) *task.Hook {
	j.w.t.Helper()
	d := j.w.d
	if d == nil {
		j.w.make()
		d, j.w.d = j.w.d, nil
	}
	h, err := d.Prepare(&c)
	if err != nil {
		j.w.t.Fatal(err)
	}
	h.Task, h.Position = j.head.Key, j.head.Version
	h.Settled = j.head.State.Terminal()
	if err := j.w.store.PutHook(context.Background(), h); err != nil {
		j.w.t.Fatal(err)
	}
	return h
}

// add appends entries and notifies the dispatcher, if it runs.
func (j *job) add(es ...task.Entry) {
	j.w.t.Helper()
	j.head = tasktest.Append(j.w.t, j.w.store, j.head, es...)
	if j.w.d != nil {
		j.w.d.Moved(&j.head)
	}
}

// chunk adds a chunk with each of the texts.
func (j *job) chunk(texts ...string) {
	j.w.t.Helper()
	for _, s := range texts {
		j.add(tasktest.Chunk(j.w.now(), "a", s))
	}
}

func (j *job) work() { j.add(tasktest.Status(j.w.now(), task.Working, "")) }

func (j *job) complete() { j.add(tasktest.Status(j.w.now(), task.Completed, "")) }

// stored returns a hook from the store.
func (w *world) stored(ref task.HookRef) task.Hook {
	w.t.Helper()
	hooks, err := w.store.Hooks(context.Background(), ref.Task, "", 100)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range hooks {
		if h.ID == ref.ID {
			return h
		}
	}
	w.t.Fatalf("hook %v is gone", ref)
	return task.Hook{}
}

// dead returns the dead letters of a hook like "2-3 HTTP 404 (1)".
func (w *world) dead(ref task.HookRef) string {
	w.t.Helper()
	letters, err := w.store.DeadLetters(context.Background(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	var texts []string
	for _, l := range letters {
		texts = append(texts, fmt.Sprintf("%d-%d %s (%d)", l.First, l.Last, l.Reason, l.Attempts))
	}
	return strings.Join(texts, "; ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

// bubble runs f in a synctest bubble with a world.
func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	t.Parallel()
	alone(t, f)
}

// alone is bubble, but no other test runs at the same time.
func alone(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f(w)
		w.halt()
	})
}

const hookURL = "https://hook.example/a"

// numbers returns the texts "0" … of n chunks.
func numbers(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = strconv.Itoa(i)
	}
	return texts
}

// always answers every request with the same status or error.
func always(code int, err error) func(*http.Request, *post) (int, error) {
	return func(*http.Request, *post) (int, error) { return code, err }
}

// times answers the first n requests with a status or an error, then with 200.
func times(n, code int, err error) func(*http.Request, *post) (int, error) {
	var mu sync.Mutex
	return func(*http.Request, *post) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if n--; n >= 0 {
			return code, err
		}
		return http.StatusOK, nil
	}
}
