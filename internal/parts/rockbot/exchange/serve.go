package exchange

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/task"
)

// Server performs requests of RockBot's agents. Its methods may be called concurrently, and
// more than once for the same request.
type Server interface {
	// Send performs a message for a caller, whose name is not verified. It returns the task in
	// v1.0 JSON when it has ended or waits for the caller. Requests with the same task id refer
	// to the same task. Send calls progress with the v1.0 JSON of each message that the agent
	// sends while it works.
	Send(ctx context.Context, r *Request, progress func(message []byte)) ([]byte, error)
	// Cancel cancels a task of a caller.
	Cancel(ctx context.Context, caller string, r *op.Cancel) error
	// Card returns the card of an agent for its announcement; nil if there is none.
	Card(name task.Agent) *a2a.AgentCard
}

// Request is a request of a caller on RockBot's exchange.
type Request struct {
	Caller string
	Send   *op.Send
}

// Serve announces one of the hub's agents and performs requests of RockBot's agents until ctx
// ends. It returns nil in that case. A request is acknowledged when its answer is confirmed;
// one that cannot be answered goes to the dead letters.
func (x *Exchange) Serve(ctx context.Context, name task.Agent, s Server) error {
	x.begin()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &host{line: x, name: name, server: s}
	errs := make([]error, 2)
	var owned sync.WaitGroup
	for i, topic := range []string{taskTopic, cancelTopic} {
		owned.Go(func() {
			errs[i] = h.receive(ctx, topic+string(name))
			cancel()
		})
	}
	owned.Go(func() { h.announce(ctx) })
	owned.Wait()
	return cmp.Or(errs[0], errs[1])
}

// host performs requests for one agent.
type host struct {
	line   *Exchange
	name   task.Agent
	server Server
}

// receive performs requests concurrently, up to the limit of RockBot's agents.
func (h *host) receive(ctx context.Context, topic string) error {
	var owned sync.WaitGroup
	defer owned.Wait()
	q := queueOf(string(h.name), topic)
	return h.line.receive(ctx, q, prefetch, func(a *amqpbus.Arrival) {
		owned.Go(func() { h.perform(ctx, a) })
	})
}

// perform answers one request. If ctx ends first, the broker redelivers it.
func (h *host) perform(ctx context.Context, a *amqpbus.Arrival) {
	ctx, span := trace.Start(traced(ctx, a), "request", trace.Server)
	defer span.End()
	span.Label(trace.Labels{Agent: string(h.name), Protocol: "rockbot", Transport: "amqp"})
	typ, body, err := h.answer(ctx, a)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		h.line.refuse(a, err.Error())
		return
	}
	to := cmp.Or(a.ReplyTo, responseTopic+a.Headers[sourceHeader])
	if h.line.say(ctx, a, &amqpbus.Message{Topic: to, Type: typ, Body: body}, string(h.name)) == nil {
		h.line.settle(a.Ack())
	}
}

// answer performs a request and returns the type and the body of the answer.
func (h *host) answer(ctx context.Context, a *amqpbus.Arrival) (typ string, body []byte, err error) {
	caller, id := a.Headers[sourceHeader], jobOf(a.Body)
	if caller == "" || id == "" {
		return "", nil, fmt.Errorf("no rb-source or no taskId: there is no address for an answer")
	}
	switch a.Type {
	case typeRequest:
		if body, err = h.send(ctx, a, caller, a2a.TaskID(id)); err == nil {
			return typeResult, body, nil
		}
	case typeCancel:
		r := &op.Cancel{ID: a2a.TaskID(id), Target: op.Target{Agent: h.name}}
		if err = h.server.Cancel(ctx, caller, r); err == nil {
			body = rawjson.AppendString([]byte(`{"taskId":`), id)
			return typeResult, append(body, `,"state":5}`...), nil
		}
	default:
		return "", nil, fmt.Errorf("type %q is not known", a.Type)
	}
	report := dialect.Explain(err, uuid.NewString())
	if report.Hidden {
		h.line.log().Error("request of RockBot failed", "agent", h.name, "caller", caller, "error", err)
	}
	return typeError, report.AppendJobError(nil, a.Body), nil
}

// send performs a request for a task.
func (h *host) send(ctx context.Context, a *amqpbus.Arrival, caller string, id a2a.TaskID) ([]byte, error) {
	d := dialect.Decoder{Fill: true}
	r, err := d.Job(a.Body)
	if err != nil {
		return nil, err
	}
	r.Agent, r.Dialect, r.Metadata = h.name, uint8(dialect.Job), bytes.Clone(r.Metadata)
	r.NewIDs, r.Once, r.Resume, r.Task = true, true, true, true
	if err := h.working(ctx, a, nil); err != nil {
		return nil, err
	}
	t, err := h.server.Send(ctx, &Request{caller, r}, func(message []byte) {
		if err := h.working(ctx, a, message); err != nil && ctx.Err() == nil {
			h.line.log().Warn("progress is not published", "agent", h.name, "task", id, "error", err)
		}
	})
	if err != nil {
		return nil, err
	}
	return dialect.AppendJobResult(nil, id, t), nil
}

// working publishes a status with a message, which may be nil.
func (h *host) working(ctx context.Context, a *amqpbus.Arrival, message []byte) error {
	body := dialect.AppendJobStatus(nil, a2a.TaskID(jobOf(a.Body)), message)
	return h.line.say(ctx, a, &amqpbus.Message{Topic: statusTopic, Type: typeStatus, Body: body}, string(h.name))
}

// say publishes m in answer to a, on behalf of an agent. It retries until the broker accepts
// it. It returns an error only if ctx ends.
func (x *Exchange) say(ctx context.Context, a *amqpbus.Arrival, m *amqpbus.Message, source string) error {
	m = x.signed(ctx, source, m)
	m.Correlation = a.Correlation
	for {
		err := x.x.Publish(ctx, m, nil)
		if err == nil || ctx.Err() != nil {
			return err
		}
		x.log().Warn("answer to RockBot waits for the broker", "topic", m.Topic, "error", err)
		_ = backoff.Sleep(ctx, answerPause) // Publish checks ctx
	}
}

// signed completes a message on behalf of an agent.
func (x *Exchange) signed(ctx context.Context, source string, m *amqpbus.Message) *amqpbus.Message {
	m.ID, m.Time, m.Headers = uuid.NewString(), time.Now(), headersOf(ctx, source)
	return m
}

// answerPause is the time between two attempts to answer.
const answerPause = time.Second
