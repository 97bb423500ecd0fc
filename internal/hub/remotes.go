package hub

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/task"
)

// remotes are the remote agents that the hub calls. The zero remotes are none.
type remotes struct {
	mu        sync.Mutex // guards the fields below
	all       []*remote.Agent
	given     map[task.Agent]*remote.Agent // those of Adopt
	listed    map[task.Agent]*remote.Agent // those of the directory
	callbacks *remote.Callbacks            // nil if they cannot reach the hub
}

// Adopt connects a remote agent that the operator has named to the hub. Close closes it.
func (h *Hub) Adopt(name task.Agent, a *remote.Agent) *remote.Agent {
	a.Transports = h.parts.Transports
	h.adopt(name, a)
	h.remotes.mu.Lock()
	defer h.remotes.mu.Unlock()
	if h.remotes.given == nil {
		h.remotes.given = make(map[task.Agent]*remote.Agent)
	}
	h.remotes.given[name] = a
	return a
}

// Adopted returns the agent that was passed to Adopt under a name, or nil.
func (h *Hub) Adopted(name task.Agent) *remote.Agent {
	h.remotes.mu.Lock()
	defer h.remotes.mu.Unlock()
	return h.remotes.given[name]
}

// adopt connects a remote agent to the hub and closes it with the hub.
func (h *Hub) adopt(name task.Agent, a *remote.Agent) {
	a.Logger, a.Callbacks, a.Administers = h.parts.Logger, h.ownCallbacks(), h.administers
	if h.directory != nil {
		a.Known = func() []byte { return h.directory.KnownCard(name) }
		a.Broke = func(problem string) { h.report(answer{name, problem}) }
	}
	h.remotes.mu.Lock()
	defer h.remotes.mu.Unlock()
	h.remotes.all = append(h.remotes.all, a)
}

// administers reports whether a caller is an administrator: one with the role or, as long as callers
// need no key and all are on this machine, any.
func (h *Hub) administers(p *auth.Principal) bool {
	return p != nil && (slices.Contains(p.Roles, auth.RoleAdmin) || p.Anonymous() && auth.LocalOnly(h.parts.Auth))
}

// adoptListed is adopt for an agent that the directory lists.
func (h *Hub) adoptListed(name task.Agent, a *remote.Agent) *remote.Agent {
	h.adopt(name, a)
	h.remotes.mu.Lock()
	defer h.remotes.mu.Unlock()
	if h.remotes.listed == nil {
		h.remotes.listed = make(map[task.Agent]*remote.Agent)
	}
	h.remotes.listed[name] = a
	return a
}

// cardChanged makes the next call of a remote agent read its card again.
func (r *remotes) cardChanged(name task.Agent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range []*remote.Agent{r.given[name], r.listed[name]} {
		if a != nil {
			a.CardChanged()
		}
	}
}

// ownCallbacks returns the webhook of the hub for remote agents, or nil if the hub has no
// public URL or no key.
func (h *Hub) ownCallbacks() *remote.Callbacks {
	h.remotes.mu.Lock()
	defer h.remotes.mu.Unlock()
	if h.remotes.callbacks == nil && h.settings.PublicURL != "" && h.parts.Box != nil {
		h.remotes.callbacks = &remote.Callbacks{
			URL: strings.TrimSuffix(h.settings.PublicURL, "/") + remote.CallbackPath,
			Key: h.parts.Box.Key("callbacks"),
		}
	}
	return h.remotes.callbacks
}

// callbacks is ownCallbacks for the front. It returns a nil interface if there are none.
func (h *Hub) callbacks() http.Handler {
	if c := h.ownCallbacks(); c != nil {
		return c
	}
	return nil
}

// Close closes the remote agents. Call it after Run.
func (h *Hub) Close() error {
	h.remotes.mu.Lock()
	defer h.remotes.mu.Unlock()
	var errs []error
	for _, a := range h.remotes.all {
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}

// QueueExecutor returns the executor of an agent at a queue.
func (h *Hub) QueueExecutor(s *directory.Spec) (a2asrv.AgentExecutor, error) {
	if h.parts.Bus == nil {
		return nil, fmt.Errorf("the agent is at the queue %s, but the hub has no bus", s.Queue)
	}
	return &queue.Agent{Dispatcher: h.parts.Bus, Queue: s.Queue, Serial: s.Serial, Again: s.Again}, nil
}

// Executor returns the executor for an agent of the directory that is at a queue or at an
// address. An agent that the operator has not named is called through the guard.
func (h *Hub) Executor(e *directory.Entry) (a2asrv.AgentExecutor, error) {
	switch {
	case e.Spec.Model != nil || e.Transport() == directory.Exchange:
		return nil, fmt.Errorf("the hub cannot call the agent %s", e.Name())
	case e.Transport() == directory.Queue:
		return h.QueueExecutor(&e.Spec)
	}
	s := &e.Spec
	c := credentialsOf(&s.Call.Credentials)
	if err := c.Check(); err != nil {
		return nil, err
	}
	a := &remote.Agent{
		URL: s.URL, Target: s.Call.Target, Credentials: c, Timeout: s.Call.Timeout,
		Poll: s.Call.Poll, PollInitial: s.Call.PollInitial, PollMax: s.Call.PollMax,
		HistoryLength: s.Call.HistoryLength, ReturnImmediately: s.Call.ReturnImmediately, Unpinned: s.Call.FollowCard,
		Idempotent:  s.Call.Idempotent,
		Awaited:     s.WellKnown,
		NoStreaming: s.Streaming != nil && !*s.Streaming,
		NoContext:   s.Call.OmitContext, ParamsContext: s.Call.ParamsContext,
		Direct: remote.Direct{
			Binding: s.Call.Binding, Version: s.Call.Version, Fixed: s.Call.Fixed && !s.Call.FollowCard,
			Blind: s.Pinned, Streaming: s.Streaming != nil && *s.Streaming, Jobs: mayTakeJobs(s),
		},
	}
	if len(s.Call.Header) > 0 {
		a.Header = make(http.Header)
		for name, value := range s.Call.Header {
			a.Header.Set(name, value)
		}
	}
	if s.Guarded {
		a.HTTP = h.parts.Directory.Reader.Guarded
	} else {
		a.Transports = h.parts.Transports
	}
	return h.adoptListed(e.Name(), a), nil
}

// mayTakeJobs reports whether an agent without a card may be one that takes jobs: its file gives
// no protocol.
func mayTakeJobs(s *directory.Spec) bool {
	return s.WellKnown && s.Call.Version != a2a.Version && (s.Streaming == nil || !*s.Streaming)
}

// credentialsOf converts credentials to the form that calls need.
func credentialsOf(c *directory.Credentials) *transport.Credentials {
	p := &transport.Credentials{APIKey: c.APIKey, APIKeyEnv: c.APIKeyEnv, Bearer: c.Bearer, HeaderName: c.HeaderName}
	if c.HeaderValue != "" {
		p.HeaderValueBase64 = base64.StdEncoding.EncodeToString([]byte(c.HeaderValue))
	}
	if c.BearerEnv != "" && p.APIKeyEnv == "" {
		p.APIKeyEnv, p.Scheme = c.BearerEnv, transport.SchemeBearer
	}
	return p
}
