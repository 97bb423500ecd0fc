package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/livefeed"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// openBroker creates the broker, which chooses among agents.
func (h *Hub) openBroker(ctx context.Context) error {
	var rules []broker.Rule
	for _, s := range h.cfg.Broker.Skills {
		r := broker.Rule{Skill: s.ID, Cooldown: duration(s.Cooldown), Key: s.CooldownKey}
		for _, name := range s.Among {
			r.Among = append(r.Among, task.Agent(name))
		}
		rules = append(rules, r)
	}
	h.broker = broker.New(broker.Config{Health: health{h}, Rules: rules, Notes: h.stores.agents, Logger: h.logger})
	return h.broker.Open(ctx)
}

// health reports which agents answer, by the directory.
type health struct{ *Hub }

func (x health) Healthy(name task.Agent) bool { return x.core.Healthy(name) }

// same returns the time for which messages for a skill with the same content count as one.
func (h *Hub) same() func(skill string) time.Duration {
	windows := make(map[string]time.Duration)
	for _, s := range h.cfg.Broker.Skills {
		if s.Dedupe > 0 {
			windows[strings.ToLower(s.ID)] = duration(s.Dedupe)
		}
	}
	if len(windows) == 0 {
		return nil
	}
	return func(skill string) time.Duration { return windows[strings.ToLower(skill)] }
}

// brokerGate adapts the broker to the engine's gate.
type brokerGate struct{ *broker.Broker }

func (g brokerGate) Admit(_ task.Agent, r *op.Send) (func(), error) {
	undo, err := g.Broker.Admit(r.Message.Skill, func(key string) string { return metadataText(r, key) })
	if cooling, ok := errors.AsType[*broker.Cooldown](err); ok {
		return nil, &apierror.Error{Err: apierror.ErrExhausted, Message: cooling.Error(), RetryAfter: cooling.After}
	}
	return undo, err
}

// metadataText returns the text of a member of the metadata. The metadata of the message take
// precedence over those of the request.
func metadataText(r *op.Send, key string) string {
	for name, metadata := range rawjson.Fields(r.Message.Body) {
		if name != "metadata" {
			continue
		}
		if text, ok := memberText(metadata, key); ok {
			return text
		}
	}
	text, _ := memberText(r.Metadata, key)
	return text
}

func memberText(object []byte, key string) (string, bool) {
	if rawjson.KindOf(object) != rawjson.Object {
		return "", false
	}
	for name, value := range rawjson.Fields(object) {
		if name == key && rawjson.KindOf(value) == rawjson.Text {
			return rawjson.String(value)
		}
	}
	return "", false
}

// observer notifies the broker of ended tasks, and the live view of output.
func (h *Hub) observer() (engine.Observer, engine.Interest) {
	o := engine.ObserverFuncs{OnEnded: func(o *engine.Outcome) { h.broker.Ended((*broker.Outcome)(o)) }}
	i := engine.Interest{Ends: true, Bodies: broker.Wants}
	if chat := h.busParts.chat; chat != nil {
		i.Output = livefeed.Kinds
		o.OnChanged = func(c engine.Change) {
			if c.Output != nil {
				chat.Output(c.Output)
			}
		}
	}
	return o, i
}
