package main

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/parley-a2a/parley/internal/e2e/interop/driver"
)

// peer is the SDK's client of one hub by one binding.
type peer struct {
	hub, binding string

	mu     sync.Mutex // guards the field below
	agents map[string]*a2aclient.Client
}

// agent connects to an agent by its card, like any program that uses the SDK alone. Over gRPC
// the hub has one address for all agents, and its own card names it.
func (p *peer) agent(ctx context.Context, name string) (*a2aclient.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.agents[name]; c != nil {
		return c, nil
	}
	base := p.hub + "/a2a/" + name
	if p.binding == string(a2a.TransportProtocolGRPC) {
		base = p.hub
	}
	card, err := agentcard.DefaultResolver.Resolve(ctx, base, agentcard.WithPath("/.well-known/agent.json"))
	if err != nil {
		return nil, err
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), p.transport())
	if err != nil {
		return nil, err
	}
	if p.agents == nil {
		p.agents = make(map[string]*a2aclient.Client)
	}
	p.agents[name] = c
	return c, nil
}

func (p *peer) transport() a2aclient.FactoryOption {
	if p.binding == string(a2a.TransportProtocolGRPC) {
		return a2aclient.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	return a2aclient.WithJSONRPCTransport(nil)
}

// Do implements driver.Peer.
func (p *peer) Do(ctx context.Context, s *driver.Step) (any, error) {
	if s.Op == "read" {
		return a2a.UnmarshalEventJSON(s.Params)
	}
	c, err := p.agent(ctx, s.Agent)
	if err != nil {
		return nil, err
	}
	v, err := do(ctx, c, s)
	return v, refusal(err)
}

func do(ctx context.Context, c *a2aclient.Client, s *driver.Step) (any, error) {
	switch s.Op {
	case "send":
		return c.SendMessage(ctx, driver.Params[a2a.MessageSendParams](s))
	case "get":
		return c.GetTask(ctx, driver.Params[a2a.TaskQueryParams](s))
	case "cancel":
		return c.CancelTask(ctx, driver.Params[a2a.TaskIDParams](s))
	case "createPush":
		return c.SetTaskPushConfig(ctx, driver.Params[a2a.TaskPushConfig](s))
	case "getPush":
		return c.GetTaskPushConfig(ctx, driver.Params[a2a.GetTaskPushConfigParams](s))
	case "listPush":
		return c.ListTaskPushConfig(ctx, driver.Params[a2a.ListTaskPushConfigParams](s))
	case "deletePush":
		return nil, c.DeleteTaskPushConfig(ctx, driver.Params[a2a.DeleteTaskPushConfigParams](s))
	}
	return nil, driver.ErrNoOperation
}

// Stream implements driver.Peer.
func (p *peer) Stream(ctx context.Context, s *driver.Step, report func(any) bool) error {
	c, err := p.agent(ctx, s.Agent)
	if err != nil {
		return err
	}
	var events iter.Seq2[a2a.Event, error]
	if s.Op == "subscribe" {
		events = c.ResubscribeToTask(ctx, driver.Params[a2a.TaskIDParams](s))
	} else {
		events = c.SendStreamingMessage(ctx, driver.Params[a2a.MessageSendParams](s))
	}
	for ev, err := range events {
		if err != nil {
			return refusal(err)
		}
		if !report(ev) {
			return nil
		}
	}
	return nil
}

// codes are the errors that the SDK distinguishes.
var codes = map[error]int{
	a2a.ErrParseError:                   -32700,
	a2a.ErrInvalidRequest:               -32600,
	a2a.ErrMethodNotFound:               -32601,
	a2a.ErrInvalidParams:                -32602,
	a2a.ErrTaskNotFound:                 -32001,
	a2a.ErrTaskNotCancelable:            -32002,
	a2a.ErrPushNotificationNotSupported: -32003,
	a2a.ErrUnsupportedOperation:         -32004,
	a2a.ErrUnsupportedContentType:       -32005,
	a2a.ErrInternalError:                -32603,
}

func refusal(err error) error {
	for known, code := range codes {
		if errors.Is(err, known) {
			return &driver.Failure{Code: code, Message: err.Error()}
		}
	}
	return err
}
