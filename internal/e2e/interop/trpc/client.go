package main

import (
	"context"
	"regexp"
	"strconv"
	"sync"

	"trpc.group/trpc-go/trpc-a2a-go/client"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"

	"github.com/parley-a2a/parley/internal/e2e/interop/driver"
)

// peer is the library's client of one hub.
type peer struct {
	hub string

	mu     sync.Mutex // guards the field below
	agents map[string]*client.A2AClient
}

// agent connects to an agent at the URL that its card names.
func (p *peer) agent(ctx context.Context, name string) (*client.A2AClient, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.agents[name]; c != nil {
		return c, nil
	}
	first, err := client.NewA2AClient(p.hub)
	if err != nil {
		return nil, err
	}
	card, err := first.GetAgentCard(ctx, p.hub+"/a2a/"+name+"/.well-known/agent.json")
	if err != nil {
		return nil, err
	}
	c, err := client.NewA2AClient(card.URL)
	if err != nil {
		return nil, err
	}
	if p.agents == nil {
		p.agents = make(map[string]*client.A2AClient)
	}
	p.agents[name] = c
	return c, nil
}

// Do implements driver.Peer.
func (p *peer) Do(ctx context.Context, s *driver.Step) (any, error) {
	if s.Op == "read" {
		ev := new(protocol.StreamingMessageEvent)
		if err := ev.UnmarshalJSON(s.Params); err != nil {
			return nil, err
		}
		return ev.Result, nil
	}
	c, err := p.agent(ctx, s.Agent)
	if err != nil {
		return nil, err
	}
	v, err := do(ctx, c, s)
	return v, refusal(err)
}

func do(ctx context.Context, c *client.A2AClient, s *driver.Step) (any, error) {
	switch s.Op {
	case "send":
		r, err := c.SendMessage(ctx, *driver.Params[protocol.SendMessageParams](s))
		if err != nil {
			return nil, err
		}
		return r.Result, nil
	case "get":
		return c.GetTasks(ctx, *driver.Params[protocol.TaskQueryParams](s))
	case "cancel":
		return c.CancelTasks(ctx, *driver.Params[protocol.TaskIDParams](s))
	case "createPush":
		return c.SetPushNotification(ctx, *driver.Params[protocol.TaskPushNotificationConfig](s))
	case "getPush":
		return c.GetPushNotification(ctx, *driver.Params[protocol.TaskIDParams](s))
	}
	return nil, driver.ErrNoOperation
}

// Stream implements driver.Peer.
func (p *peer) Stream(ctx context.Context, s *driver.Step, report func(any) bool) error {
	c, err := p.agent(ctx, s.Agent)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var events <-chan protocol.StreamingMessageEvent
	if s.Op == "subscribe" {
		events, err = c.ResubscribeTask(ctx, *driver.Params[protocol.TaskIDParams](s))
	} else {
		events, err = c.StreamMessage(ctx, *driver.Params[protocol.SendMessageParams](s))
	}
	if err != nil {
		return refusal(err)
	}
	for ev := range events {
		if !report(ev.Result) {
			return nil
		}
	}
	return nil
}

// code matches the beginning of the library's JSON-RPC errors; their type is not exported.
var code = regexp.MustCompile(`jsonrpc error (-\d+):`)

func refusal(err error) error {
	if err == nil {
		return nil
	}
	m := code.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	n, parsed := strconv.Atoi(m[1])
	if parsed != nil {
		return err
	}
	return &driver.Failure{Code: n, Message: err.Error()}
}
