package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/task"
)

// openDirectory registers remote agents, after those of the hub.
func (h *Hub) openDirectory(ctx context.Context) error {
	if h.cfg.Conformance {
		return nil
	}
	c := &h.cfg.Directory
	policy, err := safedial.ParsePolicy(c.Allow)
	if err != nil {
		return configf("directory.allow: %w", err)
	}
	h.web = newCardReader(policy)
	if h.web.verifier, err = newCardVerifier(&h.cfg.Cards, h.web.plain); err != nil {
		return err
	}
	h.directory = directory.New(directory.Config{
		Sources:   h.sources(),
		Registrar: &registrar{engine: h.engine, broker: h.broker, make: h.remoteExecutor, cardChanged: h.remotes.cardChanged, made: make(map[task.Agent]madeExecutor)},
		Fetcher:   h.web,
		Store:     h.db.Ledger(),
		Sealer:    h.box,
		Policy:    policy.CheckURL,
		Refresh:   duration(c.Refresh), Probe: duration(c.Probe),
		Services: h.cfg.Services(),
		Logger:   h.logger,
	})
	h.health.directory = h.directory
	if b := h.busParts.announced; b != nil {
		b.Presence = h.directory.SetPresence
	}
	return h.directory.Open(ctx)
}

// sources returns the sources of agents, in order of precedence.
func (h *Hub) sources() []directory.Source {
	c := &h.cfg.Directory
	own := slices.DeleteFunc(h.engine.Agents(), func(a engine.Agent) bool {
		return h.elsewhere(a.Name)
	})
	all := []directory.Source{localAgents(own), configuredAgents{h.cfg}}
	for _, path := range c.Specs {
		all = append(all, agentfile.Specs(h.places(path)))
	}
	all = append(all, agentfile.Agents(h.places(c.AgentsFile)), agentfile.WellKnown(h.places(c.WellKnown)))
	return append(all, h.knownOnBus()...)
}

// localAgents are the agents of the hub itself, as a source of the directory: they can be found
// like others, and their names are reserved.
type localAgents []engine.Agent

// Name implements directory.Source.
func (localAgents) Name() string { return "this hub" }

// Load implements directory.Source.
func (l localAgents) Load(context.Context) directory.Update {
	var u directory.Update
	for _, a := range l {
		s := directory.Spec{
			Name: a.Name, Title: a.Card.Name, Description: a.Card.Description, Version: a.Card.Version, Local: true,
			InputModes: a.Card.DefaultInputModes, OutputModes: a.Card.DefaultOutputModes,
		}
		for i := range a.Card.Skills {
			k := &a.Card.Skills[i]
			s.Skills = append(s.Skills, directory.Skill{
				ID: k.ID, Name: k.Name, Description: k.Description, Tags: k.Tags, Examples: k.Examples,
				InputModes: k.InputModes, OutputModes: k.OutputModes,
			})
		}
		u.Specs = append(u.Specs, s)
	}
	return u
}

// Follow implements directory.Source. Agents of the hub do not change.
func (localAgents) Follow(ctx context.Context, _ func(directory.Update)) error {
	<-ctx.Done()
	return nil
}

// registrar registers agents of the directory with the engine.
type registrar struct {
	engine *engine.Engine
	broker *broker.Broker
	// make creates the executor of an agent.
	make func(e *directory.Entry) (a2asrv.AgentExecutor, error)
	// cardChanged is called when an agent keeps its executor and has a new card.
	cardChanged func(task.Agent)

	mu   sync.Mutex // guards the field below
	made map[task.Agent]madeExecutor
}

// madeExecutor is an executor with the properties for which it was created.
type madeExecutor struct {
	spec      directory.Spec
	streaming bool
	push      bool
	transport string
	executor  a2asrv.AgentExecutor
}

// Put implements directory.Registrar. An agent keeps its executor, and so its connections, if
// only its card has changed.
func (r *registrar) Put(e *directory.Entry) error {
	x, err := r.executor(e)
	if err != nil {
		return err
	}
	a := engine.Agent{
		Name: e.Name(), Card: e.Card(), Others: e.Others, Executor: x, ListedSkills: true,
		AdvisoryModes: e.Spec.Model == nil && !e.Spec.Local && e.Transport() == directory.HTTP && !e.Spec.StrictModes,
	}
	if had, ok := r.engine.Agent(e.Name()); ok {
		a.More = had.More
	}
	if err := r.engine.Update(a); !errors.Is(err, engine.ErrNoAgent) {
		return err
	}
	return r.engine.Register(a)
}

func (r *registrar) executor(e *directory.Entry) (a2asrv.AgentExecutor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	had, ok := r.made[e.Name()]
	if ok && had.spec.Same(&e.Spec) && had.streaming == e.Streaming && had.push == e.Push && had.transport == e.Transport() {
		r.cardChanged(e.Name())
		return had.executor, nil
	}
	x, err := r.make(e)
	if err != nil {
		return nil, err
	}
	r.cardChanged(e.Name()) // an agent of the configuration keeps its connection
	r.made[e.Name()] = madeExecutor{e.Spec, e.Streaming, e.Push, e.Transport(), x}
	return x, nil
}

// Drop implements directory.Registrar.
func (r *registrar) Drop(name task.Agent) {
	r.mu.Lock()
	delete(r.made, name)
	r.mu.Unlock()
	r.broker.Forget(name)
	_ = r.engine.Unregister(name) // an agent that cannot be called is not registered
}

// cardReader reads cards. It reads those of guarded agents through the guard.
type cardReader struct {
	plain, guarded *http.Client
	verifier       *cardVerifier // nil if signatures are not verified

	mu  sync.Mutex                     // guards the field below
	own map[directory.TLS]*http.Client // those with client certificates
}

// Timeouts until a server has answered. The directory bounds the whole.
const (
	cardConnect = 3 * time.Second
	cardHeaders = 10 * time.Second
)

func cardTransport() *http.Transport {
	plain := http.DefaultTransport.(*http.Transport).Clone()
	plain.TLSHandshakeTimeout, plain.ResponseHeaderTimeout = cardConnect, cardHeaders
	return plain
}

func newCardReader(policy *safedial.Policy) *cardReader {
	plain := cardTransport()
	guarded := policy.Client(safedial.ClientOptions{})
	return &cardReader{plain: &http.Client{Transport: plain}, guarded: guarded}
}

// Fetch implements directory.Fetcher.
func (c *cardReader) Fetch(ctx context.Context, r *directory.Request) (*card.Card, error) {
	header, err := r.Call.Credentials.Header(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for name, value := range r.Call.Header {
		header.Set(name, value)
	}
	o := &card.FetchOptions{Header: header, ETag: r.ETag, Timeout: -1, Target: r.Call.Target}
	if c.verifier != nil {
		o.ETag = "" // the cached card may be unverified
	}
	if o.Client, err = c.client(r); err != nil {
		return nil, err
	}
	got, err := card.Fetch(ctx, r.URL, o)
	if err == nil && c.verifier != nil {
		got, err = c.verifier.check(ctx, got)
	}
	if err == nil && got.Fallback {
		withoutAgent(got, r.Call.Target)
	}
	return got, err
}

// withoutAgent removes the name, description, skills and signature from a card that may belong
// to another agent at the address of the target. It removes them from Raw, too: after a restart
// the directory reads the card from there.
func withoutAgent(c *card.Card, target string) {
	c.A2A.Name, c.A2A.Description, c.A2A.Skills, c.SignedBy = target, "", nil, ""
	raw := rawjson.AppendString([]byte(`{"name":`), target)
	for name, v := range rawjson.Fields(c.Raw) {
		switch strings.ToLower(name) { // the reader of cards ignores the case of names
		case "name", "agentname", "description", "skills", "signatures":
		default:
			raw = append(append(rawjson.AppendString(append(raw, ','), name), ':'), v...)
		}
	}
	c.Raw = append(raw, '}')
}

// client returns the HTTP client for the address of an agent.
func (c *cardReader) client(r *directory.Request) (*http.Client, error) {
	switch {
	case r.Guarded:
		return c.guarded, nil
	case r.Call.TLS == directory.TLS{}:
		return c.plain, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if had := c.own[r.Call.TLS]; had != nil {
		return had, nil
	}
	config, err := tlsOf(&r.Call.TLS)
	if err != nil {
		return nil, err // a later attempt may succeed
	}
	t := cardTransport()
	t.TLSClientConfig = config
	if c.own == nil {
		c.own = make(map[directory.TLS]*http.Client)
	}
	c.own[r.Call.TLS] = &http.Client{Transport: t}
	return c.own[r.Call.TLS], nil
}

func tlsOf(t *directory.TLS) (*tls.Config, error) {
	return tlsfile.Client(tlsfile.ClientFiles{Cert: t.CertFile, Key: t.KeyFile, CA: t.CAFile})
}

func (c *cardReader) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, own := range c.own {
		own.CloseIdleConnections()
	}
	c.plain.CloseIdleConnections()
	c.guarded.CloseIdleConnections()
}

// runDirectory runs the directory until ctx ends. It reads the files again when the process
// receives SIGHUP.
func (h *Hub) runDirectory(ctx context.Context) error {
	if h.directory == nil {
		return nil
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for {
			select {
			case <-hangups:
				h.logger.Info("reading the files that name agents again")
				h.directory.Reload(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	wg.Go(func() {
		for {
			select {
			case name := <-h.answered:
				h.directory.Answered(name, time.Now())
			case <-ctx.Done():
				return
			}
		}
	})
	defer h.web.close()
	return h.directory.Run(ctx)
}
