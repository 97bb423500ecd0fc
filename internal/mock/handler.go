package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
)

// RequestHandler returns the named agent as a handler of the SDK, so that another binding can
// serve it. An empty name selects the first agent.
//
//	a2agrpc.NewHandler(s.RequestHandler("")).RegisterWith(grpcServer)
//
// Options.Interfaces adds its address to the cards. Calls are recorded with the binding GRPC. A
// fault on the wire and a bare HTTP response become an error of the call; a slow or wrong
// answer becomes a correct one. It returns nil if there is no such agent.
func (s *Server) RequestHandler(name string) a2asrv.RequestHandler {
	a := s.agentNamed(name)
	if a == nil {
		return nil
	}
	return &handler{s, a}
}

// handler implements the SDK's handler for one agent.
type handler struct {
	server *Server
	agent  *agent
}

// errFault is the error that replaces a fault on the wire in other bindings.
type errFault Fault

func (e errFault) Error() string { return "fault: " + string(e) }

// begin converts a request into a call and checks its credential. The SDK method must end the
// call.
func (h *handler) begin(ctx context.Context, o dialect.Operation, req any) (*call, []byte, error) {
	params, err := json.Marshal(req)
	if err != nil {
		return nil, nil, apierror.New(a2a.ErrInvalidParams, "%v", err)
	}
	header := http.Header{}
	if cc, ok := a2asrv.CallContextFrom(ctx); ok {
		for name, values := range cc.ServiceParams().List() {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	c := &call{
		server: h.server, agent: h.agent, r: new(http.Request).WithContext(ctx), body: params,
		record: Request{At: time.Now(), Binding: bindingGRPC, Operation: o.String(), Header: header},
	}
	if !h.agent.auth.allows(header) {
		return c, nil, apierror.New(a2a.ErrUnauthenticated, "the credential is missing or wrong")
	}
	if r := h.server.takeReply(h.agent, o.String()); r != nil {
		c.latency += r.latency
		return c, params, c.refused(r)
	}
	return c, params, nil
}

// refused returns the error that replaces an answer without a task.
func (c *call) refused(r *reply) error {
	switch {
	case r.fault == Hang:
		c.begin()
		<-c.r.Context().Done()
		return context.Cause(c.r.Context())
	case r.fault == Reset || r.fault == Garbage:
		return errFault(r.fault)
	case r.http != nil:
		return fmt.Errorf("http status %d", r.http.Status)
	}
	return r.err
}

func (c *call) end(err error) error {
	if c == nil {
		return err
	}
	if err != nil {
		c.record.Problem = err.Error()
	}
	c.begin()
	return err
}

// into decodes a result into one of the SDK's types.
func into[T any](c *call, o object, err error) (*T, error) {
	if err := c.end(err); err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(marshal(o), out); err != nil {
		return nil, fmt.Errorf("answer %s: %w", c.record.Operation, err)
	}
	return out, nil
}

// query performs a call that gets, lists or cancels tasks.
func query[T any](ctx context.Context, h *handler, o dialect.Operation, req any) (*T, error) {
	c, params, err := h.begin(ctx, o, req)
	var out object
	if err == nil {
		out, err = c.query(o, params)
	}
	return into[T](c, out, err)
}

func (h *handler) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return query[a2a.Task](ctx, h, dialect.GetTask, req)
}

func (h *handler) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	clone := *req
	if clone.PageSize == 0 {
		clone.PageSize = dialect.DefaultPageSize
	}
	return query[a2a.ListTasksResponse](ctx, h, dialect.ListTasks, &clone)
}

func (h *handler) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return query[a2a.Task](ctx, h, dialect.CancelTask, req)
}

func (h *handler) receive(ctx context.Context, o dialect.Operation, req *a2a.SendMessageRequest) (*call, *answer, *op.Send, error) {
	c, params, err := h.begin(ctx, o, req)
	if err == nil && o.Streaming() && !h.agent.streaming {
		err = apierror.New(a2a.ErrUnsupportedOperation, "the agent does not stream")
	}
	if err != nil {
		return c, nil, nil, c.end(err)
	}
	in, err := new(dialect.Decoder).Send(params)
	var a *answer
	if err == nil {
		a, err = h.server.receive(c, in)
	}
	if err == nil {
		err = c.refused(a.reply)
	}
	return c, a, in, c.end(err)
}

func (h *handler) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	ctx, cancel := h.server.bound(ctx)
	defer cancel()
	c, a, in, err := h.receive(ctx, dialect.SendMessage, req)
	switch {
	case err != nil:
		return nil, err
	case a.message != nil:
		return into[a2a.Message](c, a.message, nil)
	case in.ReturnImmediately:
		return into[a2a.Task](c, a.first, nil)
	}
	err = context.Canceled
	inject := func(f Fault) {
		if err = c.refused(&reply{fault: f}); err == nil {
			err = errFault(f)
		}
	}
	if h.server.settled(ctx, a, inject) {
		return into[a2a.Task](c, h.server.snapshot(a.task, view{in.HistoryLength, true}), nil)
	}
	return nil, err
}

func (h *handler) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, cancel := h.server.bound(ctx)
		defer cancel()
		c, a, _, err := h.receive(ctx, dialect.SendStreamingMessage, req)
		if err != nil {
			yield(nil, err)
			return
		}
		c.events(ctx, a, yield)
	}
}

func (h *handler) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, cancel := h.server.bound(ctx)
		defer cancel()
		c, params, err := h.begin(ctx, dialect.SubscribeToTask, req)
		var a *answer
		if err == nil {
			var in *op.Subscribe
			if in, err = new(dialect.Decoder).Subscribe(params); err == nil {
				a, err = h.server.subscribed(c, in)
			}
		}
		if err := c.end(err); err != nil {
			yield(nil, err)
			return
		}
		c.events(ctx, a, yield)
	}
}

// events yields a task and its events, or a bare message.
func (c *call) events(ctx context.Context, a *answer, yield func(a2a.Event, error) bool) {
	send := func(o object) bool {
		var r a2a.StreamResponse
		if err := json.Unmarshal(marshal(o), &r); err != nil {
			return yield(nil, err)
		}
		return yield(r.Event, nil)
	}
	if a.message != nil {
		send(object{"message": a.message})
		return
	}
	if !send(object{"task": a.first}) {
		return
	}
	for e := range c.server.state.follow(ctx, a.task, a.from) {
		switch {
		case e.fault == Close:
			return
		case e.fault != "":
			yield(nil, errFault(e.fault))
			return
		case !send(e.frame), c.record.Operation != dialect.SubscribeToTask.String() && e.state == inputRequired:
			return
		}
	}
}

func (h *handler) GetTaskPushConfig(ctx context.Context, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, h.noPush(ctx, dialect.GetPushConfig, req)
}

func (h *handler) ListTaskPushConfigs(ctx context.Context, req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, h.noPush(ctx, dialect.ListPushConfigs, req)
}

func (h *handler) CreateTaskPushConfig(ctx context.Context, req *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, h.noPush(ctx, dialect.CreatePushConfig, req)
}

func (h *handler) DeleteTaskPushConfig(ctx context.Context, req *a2a.DeleteTaskPushConfigRequest) error {
	return h.noPush(ctx, dialect.DeletePushConfig, req)
}

func (h *handler) noPush(ctx context.Context, o dialect.Operation, req any) error {
	c, _, err := h.begin(ctx, o, req)
	if err == nil {
		err = a2a.ErrPushNotificationNotSupported
	}
	return c.end(err)
}

func (h *handler) GetExtendedAgentCard(ctx context.Context, req *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	c, _, err := h.begin(ctx, dialect.GetExtendedAgentCard, req)
	if err == nil {
		err = apierror.New(a2a.ErrUnsupportedOperation, "the agent has no extended card")
	}
	return nil, c.end(err)
}
