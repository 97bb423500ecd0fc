package rockbot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(hubtest.M{M: m}, goleak.Cleanup(rabbittest.Exit))
}

// patience is the time limit for expected events.
const patience = 4 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// caller sends A2A 1.0 requests to a hub with a key.
type caller struct {
	t   *testing.T
	hub *hubtest.Hub
	key string
}

// taskOf contains the members of a task that the tests read.
type taskOf struct {
	ID, ContextID string
	Status        struct {
		State   string
		Message json.RawMessage
	}
	Artifacts json.RawMessage
}

// rpc calls a method at an agent and reads the result.
func (c *caller) rpc(agent, method, params string, result any) error {
	c.t.Helper()
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	err := hubtest.Call(within(c.t), hubtest.Request{
		URL:    c.hub.URL() + "/a2a/" + agent,
		Body:   fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params),
		Header: []string{"A2A-Version", "1.0", "X-API-Key", c.key},
	}, &answer)
	if err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error)
	}
	return json.Unmarshal(answer.Result, result)
}

// send sends a message whose parts are JSON and returns the task in the answer.
func (c *caller) send(agent, message string) *taskOf {
	c.t.Helper()
	var r struct{ Task *taskOf }
	params := `{"message":` + message + `,"configuration":{"returnImmediately":true}}`
	if err := c.rpc(agent, "SendMessage", params, &r); err != nil {
		c.t.Fatal(err)
	}
	return r.Task
}

// text sends a text in a new message.
func (c *caller) text(agent, id, text string) *taskOf {
	c.t.Helper()
	return c.send(agent, fmt.Sprintf(`{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}`, id, text))
}

// wait returns a task once it is in a state. It follows the changes on a stream.
func (c *caller) wait(agent, id, state string) *taskOf {
	c.t.Helper()
	ctx := within(c.t)
	for {
		var got taskOf
		if err := c.rpc(agent, "GetTask", fmt.Sprintf(`{"id":%q}`, id), &got); err != nil {
			c.t.Fatal(err)
		}
		if got.Status.State == state {
			return &got
		}
		if err := c.changed(ctx, agent, id, got.Status.State); err != nil {
			c.t.Fatalf("task %s is %s %s, want %s: %v", id, got.Status.State, got.Status.Message, state, err)
		}
	}
}

// changed waits until a task is no longer in a state, which may already be so, or until its next
// event. A task that has ended has none, which is no error the first time.
func (c *caller) changed(ctx context.Context, agent, id, from string) error {
	resp, err := hubtest.Do(ctx, hubtest.Request{
		URL:    c.hub.URL() + "/a2a/" + agent,
		Body:   fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":%q}}`, id),
		Header: []string{"A2A-Version", "1.0", "X-API-Key", c.key, "Accept", "text/event-stream"},
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n := 0
	for e, err := range hubtest.Events(resp.Body) {
		if n++; n > 1 || err != nil {
			break
		}
		var first struct{ Result struct{ Task taskOf } }
		if err := json.Unmarshal([]byte(e.Data), &first); err != nil {
			return fmt.Errorf("%s: %w", e.Data, err)
		}
		if first.Result.Task.Status.State != from {
			break // it has changed before the stream began
		}
	}
	return ctx.Err()
}
