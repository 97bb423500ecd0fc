package exchange

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/task"
)

// DefaultTimeout is the default of Agent.Timeout. It is long, because an agent may be started
// only for its task.
const DefaultTimeout = 30 * time.Minute

// Agent passes its tasks to an agent of RockBot. Exchange and Name are required; fields must not
// change once it is in use.
type Agent struct {
	Exchange *Exchange
	// Name is the agent's name on RockBot's exchange.
	Name string
	// Timeout is the longest time for a message. Zero means DefaultTimeout.
	Timeout time.Duration
	// Idempotent declares that the agent performs repeated requests with the same task id only
	// once.
	Idempotent bool
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
)

// Traits implements agent.Described.
func (a *Agent) Traits() agent.Traits {
	return agent.Traits{AfterCrash: agent.Resume, Silence: -1, NoMessage: true}
}

// Kind returns "rockbot", the kind of the agent for people.
func (a *Agent) Kind() string { return "rockbot" }

// state is the progress of a run, stored as its checkpoint.
type jobState struct {
	// Key is agent.Call.Key of the message that the place belongs to.
	Key string `json:"key"`
	// Sent is set once the broker has confirmed the request.
	Sent bool `json:"sent"`
	// Deadline is in milliseconds since 1970.
	Deadline int64 `json:"deadline"`
}

// run is one execution.
type run struct {
	agent   *Agent
	ec      *a2asrv.ExecutorContext
	call    *agent.Call
	yield   func(a2a.Event, error) bool
	state   jobState
	job     string // the task id of the request
	context string
	thread  string // the correlation id of all requests of a task
	source  string // the caller's name for RockBot
	slot    *slot
	made    int // the number of artifacts
}

// Execute implements a2asrv.AgentExecutor.
func (a *Agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		r, err := a.newRun(ctx, ec, yield)
		if err == nil {
			r.slot = a.Exchange.enter(r.job)
			defer a.Exchange.leave(r.job, r.slot)
			err = r.perform(ctx)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (a *Agent) newRun(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) (*run, error) {
	call := agent.CallFrom(ctx)
	if call == nil {
		return nil, errors.New("an agent of RockBot needs a hub, which keeps its checkpoints")
	}
	r := &run{agent: a, ec: ec, call: call, yield: yield}
	if len(call.Saved) > 0 {
		if err := json.Unmarshal(call.Saved, &r.state); err != nil {
			return nil, fmt.Errorf("decode checkpoint: %w", err)
		}
	}
	owner := auth.PrincipalFrom(ctx).Owner()
	r.job = derived("job", owner, call.Key)
	r.context = derived("context", owner, ec.ContextID)
	r.thread = derived("thread", owner, string(ec.TaskID))
	r.source = a.Exchange.source(auth.PrincipalFrom(ctx))
	return r, nil
}

// derived returns an id that depends only on its arguments. The arguments cannot be derived
// from the id.
func derived(kind string, owner task.Owner, word string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "rockbot %s %d:%s%s", kind, len(owner), owner, word))
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8 (RFC 9562): vendor specific
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// perform sends the request, unless an earlier execution has, and passes on the agent's
// responses.
func (r *run) perform(ctx context.Context) error {
	known := r.state.Key == r.call.Key
	if !known {
		timeout := cmp.Or(r.agent.Timeout, DefaultTimeout)
		r.state = jobState{Key: r.call.Key, Deadline: time.Now().Add(timeout).UnixMilli()}
		if err := r.note(ctx); err != nil {
			return err
		}
	}
	if !known || !r.state.Sent && r.agent.Idempotent {
		if err := r.send(ctx); err != nil {
			return err
		}
	}
	return r.follow(ctx)
}

// note makes the place durable.
func (r *run) note(ctx context.Context) error {
	b, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	if err := r.call.Checkpoint(b); err != nil {
		return err
	}
	return r.call.Flush(ctx)
}

// send publishes the request, unless the broker may have it already.
func (r *run) send(ctx context.Context) error {
	body, err := r.request(ctx)
	if err != nil {
		return err
	}
	topic := taskTopic + r.agent.Name
	ids := trace.IDs{Task: r.job, Context: r.context, Correlation: r.thread} // those of the wire, for the agent's spans
	ctx, span := trace.Start(trace.WithIDs(ctx, ids.Or(trace.IDsFrom(ctx))), "queue_dispatch", trace.Client)
	defer span.End()
	span.Label(trace.Labels{Agent: string(r.call.Agent), Skill: r.call.Skill, Protocol: r.agent.Kind(), Transport: "amqp"})
	waits := queueOf(r.agent.Name, topic)
	err = r.agent.Exchange.publish(ctx, &amqpbus.Message{
		Topic: topic, ID: r.job, Type: typeRequest, Correlation: r.thread, Body: body, Headers: headersOf(ctx, r.source),
	}, &waits)
	switch {
	case errors.Is(err, bus.ErrUnknown):
		r.agent.Exchange.log().Info("outcome of a send is unknown", "agent", r.call.Agent, "task", r.ec.TaskID, "error", err)
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("agent %q is not reachable: %w", r.call.Agent, err)
	case err != nil:
		return context.Cause(ctx)
	default:
		r.state.Sent = true
	}
	return r.note(ctx)
}

// publish publishes a message from the hub, after it has completed its envelope and created the
// hub's queues.
func (x *Exchange) publish(ctx context.Context, m *amqpbus.Message, waits *amqpbus.Queue) error {
	x.begin()
	if err := x.prepare(ctx); err != nil {
		return err
	}
	m.Time, m.ReplyTo = time.Now(), responseTopic+m.Headers[sourceHeader]
	return x.x.Publish(ctx, m, waits)
}

// sourceHeader names the sender of a message.
const sourceHeader = "rb-source"

// headersOf returns the headers of a message, with the trace context of ctx. RockBot adds rb- to
// the names in its envelopes, and the name of the trust header has that prefix already.
func headersOf(ctx context.Context, source string) map[string]string {
	h := map[string]string{sourceHeader: source, "rb-rb-content-trust": "agent-message"}
	for name, v := range trace.Headers(ctx) {
		h[headerPrefix+name] = v
	}
	return h
}

// headerPrefix precedes the names of RockBot's headers. traceHeaders are those of the trace context
// (W3C Trace Context), without it.
const headerPrefix = "rb-"

var traceHeaders = [...]string{"traceparent", "tracestate"}

// traced returns ctx with the trace context and the ids of a message of RockBot.
func traced(ctx context.Context, a *amqpbus.Arrival) context.Context {
	p := make(map[string][]string)
	for _, name := range traceHeaders {
		if v := a.Headers[headerPrefix+name]; v != "" {
			p[name] = []string{v}
		}
	}
	trace.Clean(p)
	ids := trace.MetadataIDs(rawjson.Member(a.Body, "metadata"))
	ids.Task = jobOf(a.Body)
	if id, ok := rawjson.String(rawjson.Member(a.Body, "contextId")); ok && trace.Usable(id) {
		ids.Context = id
	}
	if trace.Usable(a.Correlation) {
		ids.Correlation = a.Correlation
	}
	return trace.WithIDs(trace.Extract(ctx, p), ids)
}

// request returns the AgentTaskRequest, with the metadata of the caller and the limits of
// further delegation.
func (r *run) request(ctx context.Context) ([]byte, error) {
	onward, err := r.call.OutgoingDelegation(ctx)
	if err != nil {
		return nil, err
	}
	out := rawjson.AppendString([]byte(`{"skill":`), cmp.Or(r.call.Skill, dialect.GeneralSkill))
	metadata := append(rawjson.AppendMembers(out, r.call.Metadata, "skill", "skillId", "skillHint"), '}')
	if onward != nil {
		metadata = delegation.AppendMetadata(nil, metadata, (*delegation.Context)(onward))
	}
	params := rawjson.AppendString([]byte(`{"taskId":`), r.job)
	params = rawjson.AppendString(append(params, `,"contextId":`...), r.context)
	params = append(append(params, `,"metadata":`...), metadata...)
	params = append(append(append(params, `,"message":`...), r.call.Message...), '}')
	return dialect.Job.AppendParams(nil, dialect.SendMessage, params), nil
}

// follow passes on the agent's responses until it has ended or asks a question.
func (r *run) follow(ctx context.Context) error {
	deadline := time.NewTimer(time.Until(time.UnixMilli(r.state.Deadline)))
	defer deadline.Stop()
	for {
		for n, ok := r.slot.next(); ok; n, ok = r.slot.next() {
			if done, err := r.handle(ctx, n); done || err != nil {
				return err
			}
		}
		select {
		case <-r.slot.wake:
		case <-deadline.C:
			why := "gave no answer in time"
			if !r.state.Sent {
				why += "; it is unknown whether it has got the message"
			}
			r.yield(r.failed(why), nil)
			return nil
		case <-ctx.Done():
			return nil // the next execution continues here
		}
	}
}

func (r *run) failed(why string) a2a.Event {
	text := a2a.NewTextPart(fmt.Sprintf("agent %q %s", r.call.Agent, why))
	return agent.Status(r.ec, a2a.TaskStateFailed, text)
}

// handle passes on one message of the agent. done is set if the run is over.
func (r *run) handle(ctx context.Context, n message) (done bool, err error) {
	answer, err := dialect.ReadJobAnswer(a2a.TaskID(r.job), r.ec.TaskID, rawjson.Mend(n.body))
	switch {
	case err != nil && n.arrival == nil:
		r.agent.Exchange.log().Warn("status of RockBot is not valid", "agent", r.call.Agent, "error", err)
		return false, nil
	case err != nil:
		// What can be read beside it is passed on.
		if r.yieldArtifacts(rawjson.Member(answer.JSON, "task")) {
			r.yield(r.failed("broke the protocol: "+err.Error()), nil)
		}
		return true, r.settle(ctx, n)
	case answer.Code == "task_not_cancelable":
		return false, r.settle(ctx, n) // the agent refuses to cancel, and continues
	case answer.Code != "":
		r.yield(r.failed("failed: "+answer.Code+": "+answer.Message), nil)
		return true, r.settle(ctx, n)
	}
	state, ok := r.yieldTask(answer.JSON)
	if !ok {
		return true, r.settle(ctx, n)
	}
	done = state.Terminal() || state == a2a.TaskStateInputRequired
	return done, r.settle(ctx, n)
}

// settle acknowledges a response when its events are durable.
func (r *run) settle(ctx context.Context, n message) error {
	if n.arrival == nil {
		return nil
	}
	if err := r.call.Flush(ctx); err != nil {
		return err
	}
	r.agent.Exchange.settle(n.arrival.Ack())
	return nil
}

// yieldTask yields the artifacts and the status of a task in v1.0 JSON.
func (r *run) yieldTask(frame []byte) (a2a.TaskState, bool) {
	t := rawjson.Member(frame, "task")
	if !r.yieldArtifacts(t) {
		return "", false
	}
	status := rawjson.Member(t, "status")
	name, _ := rawjson.String(rawjson.Member(status, "state"))
	state := a2a.TaskState(name)
	if state == a2a.TaskStateSubmitted {
		return state, true // its event has been stored already
	}
	b := append([]byte(`{"statusUpdate":{"status":`), status...)
	return state, r.yield(&agent.Raw{JSON: append(b, `}}`...)}, nil)
}

// yieldArtifacts yields the artifacts of a task. It reports whether further events are accepted.
func (r *run) yieldArtifacts(t []byte) bool {
	for artifact := range rawjson.Elements(rawjson.Member(t, "artifacts")) {
		b := append([]byte(`{"artifactUpdate":{"artifact":`), r.named(artifact)...)
		if !r.yield(&agent.Raw{JSON: append(b, `,"lastChunk":true}}`...)}, nil) {
			return false
		}
	}
	return true
}

// named returns an artifact with an id, which RockBot's artifacts lack.
func (r *run) named(artifact []byte) []byte {
	r.made++
	out := rawjson.AppendString([]byte(`{"artifactId":`), fmt.Sprintf("%s-%d", r.job[:8], r.made))
	return append(rawjson.AppendMembers(out, artifact, "artifactId"), '}')
}

// Cancel implements a2asrv.AgentExecutor. It sends a cancel request; the run receives the
// response.
func (a *Agent) Cancel(ctx context.Context, _ *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		call := agent.CallFrom(ctx)
		if call == nil {
			yield(nil, a2a.ErrTaskNotCancelable)
			return
		}
		var at jobState
		if err := json.Unmarshal(call.Saved, &at); err != nil {
			yield(nil, a2a.ErrTaskNotCancelable)
			return
		}
		job := derived("job", auth.PrincipalFrom(ctx).Owner(), at.Key)
		body := append(rawjson.AppendString([]byte(`{"taskId":`), job), '}')
		err := a.Exchange.publish(ctx, &amqpbus.Message{
			Topic: cancelTopic + a.Name, ID: job + "-cancel", Type: typeCancel, Correlation: job, Body: body,
			Headers: headersOf(ctx, a.Exchange.source(auth.PrincipalFrom(ctx))),
		}, nil)
		if err != nil {
			a.Exchange.log().Info("cancel is not delivered", "agent", call.Agent, "error", err)
		}
	}
}
