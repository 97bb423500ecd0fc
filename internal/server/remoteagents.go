package server

import (
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/client/transport"
	"github.com/parley-a2a/parley/internal/directory"
)

// remoteExecutor returns the executor for an agent of the directory. An agent that was not
// registered by the operator is called through the guard.
func (h *Hub) remoteExecutor(e *directory.Entry) (a2asrv.AgentExecutor, error) {
	if m := e.Spec.Model; m != nil {
		x, err := h.specThinker(m)
		if err != nil {
			return nil, err
		}
		return h.guardKnown(&e.Spec, x), nil
	}
	if e.Transport() == directory.Queue {
		x, err := h.queueExecutor(&e.Spec)
		if err != nil {
			return nil, err
		}
		if h.elsewhere(e.Name()) {
			return h.guardElsewhere(e.Name(), x), nil
		}
		return h.guardKnown(&e.Spec, x), nil
	}
	if e.Transport() == directory.RockBot {
		if h.rockBot.line == nil {
			return nil, fmt.Errorf("the hub has no place on RockBot's exchange, where the agent is %s", e.Spec.RockBot)
		}
		x := h.rockBotAgent(&e.Spec)
		if h.elsewhere(e.Name()) {
			return h.guardElsewhere(e.Name(), x), nil
		}
		return h.guardKnown(&e.Spec, x), nil
	}
	if a := h.remotes.ofConfiguration(e.Name()); a != nil {
		return h.guardElsewhere(e.Name(), a), nil
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
		NoStreaming: s.Streaming != nil && !*s.Streaming, Logger: h.logger,
		NoContext: s.Call.OmitContext, ParamsContext: s.Call.ParamsContext,
		Direct: remote.Direct{
			Binding: s.Call.Binding, Version: s.Call.Version, Fixed: s.Call.Fixed && !s.Call.FollowCard,
			Blind: s.Pinned, Streaming: s.Streaming != nil && *s.Streaming,
		},
	}
	if len(s.Call.Header) > 0 {
		a.Header = make(http.Header)
		for name, value := range s.Call.Header {
			a.Header.Set(name, value)
		}
	}
	if s.Guarded {
		a.HTTP = h.web.guarded
	} else {
		a.Transports = overGRPC
	}
	return h.guardKnown(s, h.adoptListed(e.Name(), a)), nil
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
