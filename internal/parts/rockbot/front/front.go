// Package front lets agents of RockBot call agents of a hub over RabbitMQ. It connects
// internal/parts/rockbot/exchange, which implements the wire protocol, to the engine.
//
// # Guarantees
//
// A request that arrives twice is one task, also across a restart of the hub. Callers see their
// own tasks only: the owner is the name of the calling agent, which RockBot's broker
// authenticates. The policy, trust, limits and audit log of the hub apply to them as to other
// callers.
//
// # Non-guarantees
//
// Statuses may be lost or repeated when the hub is killed. Of the artifacts only the text of
// chunks is published before the result.
package front

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/parts/rockbot/exchange"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// Server implements exchange.Server on an engine, which is required.
type Server struct {
	Engine *engine.Engine
	// Whole is the name under which callers reach the whole hub: a message to it goes to the
	// agent with the requested skill, or to the default agent. Empty means none.
	Whole task.Agent
}

var _ exchange.Server = (*Server)(nil)

// prefix precedes the names of RockBot's agents, so that they differ from all other principals.
const prefix = "rockbot/"

// via states that RockBot's broker has authenticated the agent.
const via = "rockbot"

// callerOf returns the caller of that name. Its tasks join the trace of ctx, under its ids.
func callerOf(ctx context.Context, name string) *op.Caller {
	return &op.Caller{
		Principal: &auth.Principal{ID: prefix + name, DisplayName: name, Via: via}, Params: trace.Store(ctx, nil),
	}
}

// admit counts a request against the rate limit of its caller.
func (s *Server) admit(c *op.Caller) error {
	if l := s.Engine.Limiter(); l != nil {
		return l.Request(c.Principal.Owner())
	}
	return nil
}

// Send implements exchange.Server. It waits longer than a single call of the engine does.
func (s *Server) Send(ctx context.Context, q *exchange.Request, progress func([]byte)) ([]byte, error) {
	r := *q.Send
	r.Followed = true
	r.Agent = s.agent(r.Agent)
	dialect.ForJob(&r, s.Engine.Offers)
	c := callerOf(ctx, q.Caller)
	if err := s.admit(c); err != nil {
		return nil, err
	}
	a, err := s.follow(ctx, c, &r, progress)
	for errors.Is(err, apierror.ErrExhausted) || err == nil && !a.Head.State.Terminal() && !a.Head.State.Interrupted() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if a != nil {
			a.Release()
		}
		if a, err = s.Engine.Send(ctx, c, &r); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	defer a.Release()
	none := 0
	a.History = &none
	return dialect.AppendTask(nil, &a.Answer, dialect.RPCMessages), nil
}

// follow passes on the progress of an agent until the task has ended or waits, and returns the
// task. If the caller has too many streams, the error is apierror.ErrExhausted.
func (s *Server) follow(ctx context.Context, c *op.Caller, r *op.Send, progress func([]byte)) (*engine.Answer, error) {
	stream, err := s.Engine.Stream(ctx, c, r)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for {
		events, err := stream.Next(ctx, 0)
		switch {
		case errors.Is(err, io.EOF):
			return stream.Answer(ctx, nil)
		case err != nil:
			return nil, err
		}
		for i := range events {
			ev := &events[i]
			if ev.Kind == task.Status && ev.State.Interrupted() {
				return stream.Answer(ctx, nil)
			}
			if reply := eventBody(ev); reply != nil {
				progress(reply)
			}
		}
	}
}

// eventBody returns the message of a status, or the text of an artifact without its last chunk;
// nil for everything else. The last chunk is part of the result, which follows at once.
func eventBody(ev *engine.Event) []byte {
	if ev.Kind == task.Status && ev.State == task.Working && len(ev.Body) > 0 {
		return ev.Body
	}
	update := rawjson.Member(ev.Frame, "artifactUpdate")
	if update == nil || string(rawjson.Member(update, "lastChunk")) == "true" {
		return nil
	}
	var text []byte
	for part := range rawjson.Elements(rawjson.Member(rawjson.Member(update, "artifact"), "parts")) {
		if s, ok := rawjson.String(rawjson.Member(part, "text")); ok {
			text = append(text, s...)
		}
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil
	}
	message := rawjson.AppendString([]byte(`{"role":"ROLE_AGENT","parts":[{"text":`), string(text))
	return append(message, `}]}`...)
}

// Cancel implements exchange.Server.
func (s *Server) Cancel(ctx context.Context, caller string, r *op.Cancel) error {
	c := callerOf(ctx, caller)
	if err := s.admit(c); err != nil {
		return err
	}
	own := *r
	own.Agent = s.agent(r.Agent)
	_, err := s.Engine.Cancel(ctx, c, &own)
	return err
}

// agent returns the agent that a name stands for; empty for the whole hub.
func (s *Server) agent(name task.Agent) task.Agent {
	if name == s.Whole {
		return ""
	}
	return name
}

// Card implements exchange.Server.
func (s *Server) Card(name task.Agent) *a2a.AgentCard {
	if name == s.Whole && name != "" {
		return s.whole()
	}
	a, _ := s.Engine.Agent(name)
	return a.Card
}

// whole returns a card with the skills of all agents. Of several skills with the same id the
// first counts.
func (s *Server) whole() *a2a.AgentCard {
	c := &a2a.AgentCard{Name: string(s.Whole), Description: "The agents of a hub, by their skills.", Version: "1.0.0"}
	for _, a := range s.Engine.Agents() {
		if a.Card == nil || a.ByName {
			continue
		}
		for i := range a.Card.Skills {
			same := func(k a2a.AgentSkill) bool { return strings.EqualFold(k.ID, a.Card.Skills[i].ID) }
			if !slices.ContainsFunc(c.Skills, same) {
				c.Skills = append(c.Skills, a.Card.Skills[i])
			}
		}
	}
	return c
}
