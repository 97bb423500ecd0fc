package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"
	"github.com/AltairaLabs/PromptKit/runtime/tools"

	"github.com/parley-a2a/parley/internal/e2e/interop/driver"
)

// peer is PromptKit's client of one hub.
type peer struct {
	hub      string
	executor *a2a.Executor

	mu     sync.Mutex // guards the field below
	agents map[string]*a2a.Client
}

func newPeer(hub string) *peer {
	return &peer{hub: hub, executor: a2a.NewExecutor(a2a.WithNoRetry()), agents: make(map[string]*a2a.Client)}
}

// url returns the URL of an agent for PromptKit, which adds /a2a and the path of the card. An
// agent without a name is the hub itself.
func (p *peer) url(agent string) string {
	if agent == "" {
		return p.hub
	}
	return p.hub + "/a2a/" + agent
}

func (p *peer) agent(name string) *a2a.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.agents[name]
	if c == nil {
		c = a2a.NewClient(p.url(name))
		p.agents[name] = c
	}
	return c
}

// Do implements driver.Peer.
func (p *peer) Do(ctx context.Context, s *driver.Step) (any, error) {
	c := p.agent(s.Agent)
	switch s.Op {
	case "card":
		return answer(c.Discover(ctx))
	case "tools":
		return answer(p.tools(ctx, s))
	case "execute":
		return answer(p.execute(ctx, s))
	case "send":
		return answer(c.SendMessage(ctx, driver.Params[a2a.SendMessageRequest](s)))
	case "get":
		return answer(c.GetTask(ctx, driver.Params[a2a.GetTaskRequest](s).ID))
	case "list":
		tasks, err := c.ListTasks(ctx, driver.Params[a2a.ListTasksRequest](s))
		return answer(struct {
			Tasks []*a2a.Task `json:"tasks"`
		}{tasks}, err)
	case "cancel":
		return nil, refusal(c.CancelTask(ctx, driver.Params[a2a.CancelTaskRequest](s).ID))
	}
	return nil, driver.ErrNoOperation
}

func answer(v any, err error) (any, error) {
	if err != nil {
		return nil, refusal(err)
	}
	return v, nil
}

// tools lists the tools that the bridge creates from a card.
func (p *peer) tools(ctx context.Context, s *driver.Step) (any, error) {
	made, err := a2a.NewToolBridge(a2a.NewClient(p.url(s.Agent))).RegisterAgent(ctx)
	return struct {
		Tools []*tools.ToolDescriptor `json:"tools"`
	}{made}, err
}

// execution is the params of the step in which the executor calls a tool.
type execution struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// execute calls a tool as an agent of PromptKit does: with the registry's executor, which
// returns the answer of one call.
func (p *peer) execute(ctx context.Context, s *driver.Step) (any, error) {
	var e execution
	if err := json.Unmarshal(s.Params, &e); err != nil {
		return nil, err
	}
	made, err := a2a.NewToolBridge(a2a.NewClient(p.url(s.Agent))).RegisterAgent(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range made {
		if t.Name != e.Tool {
			continue
		}
		result, parts, err := p.executor.ExecuteMultimodal(ctx, t, e.Args)
		return struct {
			Result json.RawMessage `json:"result"`
			Parts  any             `json:"parts"`
		}{result, parts}, err
	}
	return nil, fmt.Errorf("the bridge makes no tool %s", e.Tool)
}

// Stream implements driver.Peer.
func (p *peer) Stream(ctx context.Context, s *driver.Step, report func(any) bool) error {
	if s.Op != "stream" {
		return driver.ErrNoOperation
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := p.agent(s.Agent).SendMessageStream(ctx, driver.Params[a2a.SendMessageRequest](s))
	if err != nil {
		return refusal(err)
	}
	for ev := range events {
		var v any = ev.StatusUpdate
		if ev.ArtifactUpdate != nil {
			v = ev.ArtifactUpdate
		}
		if !report(v) {
			return nil
		}
	}
	return nil
}

func refusal(err error) error {
	var rpc *a2a.RPCError
	if errors.As(err, &rpc) {
		return &driver.Failure{Code: rpc.Code, Message: err.Error()}
	}
	return err
}
