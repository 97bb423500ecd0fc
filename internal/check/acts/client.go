package acts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/check/wire"
)

// stub is the server of a client step: it answers every request with the same payload.
type stub struct {
	payload any
}

// RoundTrip implements http.RoundTripper. A JSON-RPC answer gets the id of the request.
func (c *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	payload := c.payload
	if envelope, ok := payload.(map[string]any); ok && envelope["jsonrpc"] != nil && req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		var asked struct {
			ID any `json:"id"`
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			return nil, err
		}
		envelope = maps.Clone(envelope)
		envelope["id"] = asked.ID
		payload = envelope
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// stubURL is the address of the stub; nothing is sent over a network.
const stubURL = "http://canned.invalid/rpc"

// client lets Parley's own client read a payload, and checks the result.
func (r *run) client(ctx context.Context, s *step) error {
	payload, err := r.fill(s.Client.Payload)
	if err != nil {
		return err
	}
	op, known := operations[s.Client.Operation]
	if !known {
		return unclear(fmt.Sprintf("unknown operation %q", s.Client.Operation))
	}
	parsed, err := parse(ctx, op, payload)
	if err != nil {
		return err
	}
	root, err := generic(parsed)
	if err != nil {
		return err
	}
	r.scope.steps[s.ID] = &answer{root: root}
	want, err := r.object(s.Parsed)
	if err != nil {
		return err
	}
	if err := match("", want, value{root, true}); err != nil {
		return err
	}
	return r.assertions(ctx, s.Assertions)
}

// parse returns the client's result for a payload, as JSON values.
func parse(ctx context.Context, op wire.Op, payload any) (any, error) {
	o := client.Options{HTTP: &http.Client{Transport: &stub{payload}}}
	if op == agentCard || op == wire.ExtendedCard {
		card, _, err := client.Fetch(ctx, stubURL, o)
		if err != nil {
			return nil, err
		}
		return spelledOut(card)
	}
	c, err := client.New(&a2a.AgentCard{
		Name: "stub", Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		SupportedInterfaces: []*a2a.AgentInterface{{URL: stubURL, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2a.Version}},
	}, o)
	if err != nil {
		return nil, err
	}
	result, err := invoke(ctx, c, op)
	if fault, ok := errors.AsType[*client.Error](err); ok {
		result, err = map[string]any{"error": map[string]any{
			"code": fault.Code, "message": fault.Message, "reason": fault.Reason, "metadata": fault.Meta,
		}}, nil
	}
	return result, errors.Join(err, c.Close())
}

// spelledOut returns a card in which absent capabilities are false. The client treats false and
// absent alike, and writes neither.
func spelledOut(card *a2a.AgentCard) (any, error) {
	v, err := generic(card)
	if m, ok := v.(map[string]any); ok {
		capabilities, _ := m["capabilities"].(map[string]any)
		if capabilities == nil {
			capabilities = map[string]any{}
			m["capabilities"] = capabilities
		}
		capabilities["streaming"] = card.Capabilities.Streaming
		capabilities["pushNotifications"] = card.Capabilities.PushNotifications
		capabilities["extendedAgentCard"] = card.Capabilities.ExtendedAgentCard
	}
	return v, err
}

func invoke(ctx context.Context, c *client.Client, op wire.Op) (any, error) {
	switch op {
	case wire.SendMessage:
		res, err := c.Send(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("?"))})
		if err != nil {
			return nil, err
		}
		return a2a.StreamResponse{Event: res}, nil
	case wire.GetTask:
		return c.Get(ctx, &a2a.GetTaskRequest{ID: "?"})
	case wire.ListTasks:
		return c.List(ctx, &a2a.ListTasksRequest{})
	case wire.CancelTask:
		return c.Cancel(ctx, &a2a.CancelTaskRequest{ID: "?"})
	}
	return nil, unclear(fmt.Sprintf("the client has no call for %s", op))
}

func generic(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return wire.Decode(b)
}
