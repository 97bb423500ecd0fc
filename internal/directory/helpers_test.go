package directory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is an agent that serves its card over HTTP.
type peer struct {
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	answer http.HandlerFunc
	asked  int
	header http.Header // of the last request
}

func startPeer(t *testing.T, answer http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{answer: answer}
	p.Server = &httptest.Server{Listener: testenv.Listen(t), Config: &http.Server{Handler: http.HandlerFunc(p.serve)}}
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func (p *peer) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked++
	p.header = r.Header.Clone()
	answer := p.answer
	p.mu.Unlock()
	answer(w, r)
}

func (p *peer) becomes(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *peer) questions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// cardOf returns the card of an agent with skills.
func cardOf(name string, skills ...string) string {
	c := map[string]any{
		"name": name, "description": "The agent " + name + ".", "version": "2.0.0",
		"supportedInterfaces": []any{map[string]string{"url": "https://elsewhere.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}},
		"capabilities":        map[string]any{"streaming": true, "pushNotifications": true},
		"defaultInputModes":   []string{"text/plain"}, "defaultOutputModes": []string{"text/plain"},
	}
	var list []any
	for _, id := range skills {
		list = append(list, map[string]any{"id": id, "name": strings.ToUpper(id), "description": "Does " + id + ".", "tags": []string{"tag-" + id}})
	}
	c["skills"] = list
	b, _ := json.Marshal(c)
	return string(b)
}

func serveDocument(doc string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/agent-card.json" {
			http.NotFound(w, r)
			return
		}
		tag := fmt.Sprintf(`"%x"`, len(doc))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(doc))
	}
}

// web reads cards over HTTP.
type web struct{}

func (web) Fetch(ctx context.Context, r *directory.Request) (*card.Card, error) {
	h, err := r.Call.Credentials.Header(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return card.Fetch(ctx, r.URL, &card.FetchOptions{Client: client, Header: h, ETag: r.ETag})
}

// registrar records its calls.
type registrar struct {
	mu    sync.Mutex
	calls []string
	fails error
}

func (r *registrar) Put(e *directory.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprint("put ", e.Name(), " ", ids(e)))
	return r.fails
}

func (r *registrar) Drop(name task.Agent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, "drop "+string(name))
}

func (r *registrar) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func ids(e *directory.Entry) []string {
	var all []string
	for _, s := range e.Skills {
		all = append(all, s.ID)
	}
	return all
}

// list is a source controlled by the test.
type list struct {
	name    string
	first   directory.Update
	changes chan directory.Update
}

func (l *list) Name() string                          { return l.name }
func (l *list) Load(context.Context) directory.Update { return l.first }
func (l *list) Follow(ctx context.Context, changed func(directory.Update)) error {
	for {
		select {
		case u := <-l.changes:
			changed(u)
		case <-ctx.Done():
			return nil
		}
	}
}

func source(name string, specs ...directory.Spec) *list {
	return &list{name: name, first: directory.Update{Specs: specs}, changes: make(chan directory.Update)}
}

// bundle is an open directory with its registrar and its log.
type bundle struct {
	*directory.Directory
	t    *testing.T
	hub  *registrar
	logs *logs
}

func open(t *testing.T, cfg directory.Config) *bundle {
	t.Helper()
	b := &bundle{t: t, hub: new(registrar), logs: new(logs)}
	cfg.Registrar = b.hub
	cfg.Logger = slog.New(slog.NewTextHandler(b.logs, nil))
	if cfg.Fetcher == nil {
		cfg.Fetcher = web{}
	}
	b.Directory = directory.New(cfg)
	if err := b.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// start runs the directory until the test ends.
func (b *bundle) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Run: %v", err)
		}
	})
}

func (b *bundle) get(name string) *directory.Entry {
	b.t.Helper()
	e, err := b.Get(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

func (b *bundle) refresh(name string) directory.Probe {
	b.t.Helper()
	_, p, err := b.Refresh(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bundle) names() []string {
	var all []string
	for _, e := range b.List() {
		all = append(all, string(e.Name()))
	}
	return all
}

// logs collects log output.
type logs struct{ testenv.Buffer }

func (l *logs) count(text string) int { return strings.Count(l.String(), text) }

// box is a Sealer without real encryption that checks contexts.
type box struct{}

func (box) Seal(plain, context []byte) []byte {
	sealed := slices.Concat(plain, []byte{0}, context)
	for i := range sealed {
		sealed[i] ^= 0x5a
	}
	return sealed
}

func (b box) Open(sealed, context []byte) ([]byte, error) {
	opened := bytes.Clone(sealed)
	for i := range opened {
		opened[i] ^= 0x5a
	}
	plain, found := bytes.CutSuffix(opened, slices.Concat([]byte{0}, context))
	if !found {
		return nil, errors.New("sealed for something else")
	}
	return plain, nil
}
