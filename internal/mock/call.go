package mock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
)

// maxBody bounds the body of a request.
const maxBody = 4 << 20

const (
	bindingRPC  = "JSONRPC"
	bindingREST = "HTTP+JSON"
	bindingGRPC = "GRPC"
)

// call is one HTTP request that is being served.
type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	agent  *agent
	shape  dialect.Shape
	// frames converts the frames of a stream in a dialect that a part adds; nil for other answers.
	frames  func(v1 []byte) [][]byte
	rest    bool
	id      []byte // of the JSON-RPC request
	body    []byte
	record  Request
	noted   bool
	begun   bool
	latency time.Duration // delay before the answer
	fault   Fault         // injected into the answer
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.bound(r.Context())
	defer cancel()
	c := &call{server: s, w: w, r: r.WithContext(ctx), record: Request{
		At: time.Now(), HTTP: r.Method + " " + r.URL.RequestURI(), Header: r.Header.Clone(),
	}}
	route(c)
}

func route(c *call) {
	p, card := strings.CutSuffix(c.r.URL.Path, "/.well-known/agent-card.json")
	if !card {
		p, card = strings.CutSuffix(c.r.URL.Path, "/.well-known/agent.json")
	}
	if rest, ok := strings.CutPrefix(p+"/", "/v1/a2a/"); ok && !card {
		c.rest = true
		c.serveREST(strings.TrimSuffix(rest, "/"))
		return
	}
	name, ok := strings.CutPrefix(strings.TrimPrefix(p+"/", "/v1"), "/a2a/")
	name = strings.Trim(name, "/")
	if !card {
		name = strings.TrimSuffix("/"+name, "/a2a") // some clients append it
		name = strings.TrimPrefix(name, "/")
	}
	if p == "/" || p == "" {
		name, ok = "", true
	}
	if c.agent = c.server.agentNamed(name); !ok || c.agent == nil {
		c.notFound()
		return
	}
	if card {
		c.serveCard()
		return
	}
	c.serveRPC()
}

// begin records the request and waits for the latency of its answer. It is called before every
// answer; a second call does nothing.
func (c *call) begin() {
	c.note()
	if !c.begun {
		c.begun = true
		pause(c.r.Context(), c.latency)
	}
}

// note records the request once.
func (c *call) note() {
	if c.noted {
		return
	}
	c.noted = true
	if c.agent != nil {
		c.record.Agent = c.agent.name
		c.latency += c.agent.latency
	}
	c.record.Body = c.body
	if c.record.Binding != "" {
		c.record.Dialect = c.shape.String()
	}
	c.server.recorder.add(c.record)
}

func (c *call) notFound() {
	c.record.Problem = "nothing is served at this path"
	c.begin()
	var paths []string
	for _, a := range c.server.agents {
		paths = append(paths, "/a2a/"+a.name)
	}
	http.Error(c.w, "nothing is served at this path; agents are at "+strings.Join(paths, ", "), http.StatusNotFound)
}

// read reads the body of a call and checks its credential and its media type.
func (c *call) read() error {
	var err error
	if c.body, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return apierror.New(apierror.ErrTooLarge, "the request is larger than %d bytes", maxBody)
		}
		return apierror.New(a2a.ErrInvalidRequest, "the body cannot be read")
	}
	if !c.agent.auth.allows(c.r.Header) {
		return apierror.New(a2a.ErrUnauthenticated, "the credential is missing or wrong")
	}
	kind, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if len(c.body) > 0 && kind != "application/json" && kind != "application/a2a+json" {
		return apierror.New(apierror.ErrMediaType, "the content type %q is not JSON", clip(kind))
	}
	return nil
}

// allows reports whether h has the credential.
func (a *Auth) allows(h http.Header) bool {
	switch {
	case a == nil:
		return true
	case a.Scheme == "api_key":
		return h.Get("X-API-Key") == a.Token
	}
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && token == a.Token
}

// operate answers an operation. params is a v1.0 object, or nil.
func (c *call) operate(o dialect.Operation, params []byte) {
	if c.scripted(o.String()) {
		return
	}
	if err := c.perform(o, params); err != nil {
		c.fail(err)
	}
}

// scripted answers an operation if the script has a reply for it. A fault that modifies an
// answer is only stored.
func (c *call) scripted(name string) bool {
	r := c.server.takeReply(c.agent, name)
	if r == nil {
		return false
	}
	c.latency += r.latency
	return c.answerDirectly(r)
}

func (s *Server) takeReply(a *agent, name string) *reply {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	r := a.replies[name]
	if r == nil || r.limited && r.left == 0 {
		return nil
	}
	r.left--
	return r
}

// answerDirectly sends an answer that needs no task. It returns false if r has none.
func (c *call) answerDirectly(r *reply) bool {
	switch r.fault {
	case Hang, Reset, Garbage:
		c.inject(r.fault)
		return true
	default:
		c.fault = r.fault
	}
	switch {
	case r.err != nil:
		c.fail(r.err)
	case r.http != nil:
		c.begin()
		c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for name, v := range r.http.Header {
			c.w.Header().Set(name, v)
		}
		c.w.WriteHeader(r.http.Status)
		c.write(c.r.Context(), []byte(r.http.Body))
	default:
		return false
	}
	return true
}

func (c *call) perform(o dialect.Operation, params []byte) error {
	var d dialect.Decoder
	switch o {
	case dialect.SendMessage, dialect.SendStreamingMessage:
		d.Fill = c.shape != dialect.V1
		in, err := d.Send(params)
		if err != nil {
			return err
		}
		return c.send(o, in)
	case dialect.GetTask, dialect.ListTasks, dialect.CancelTask:
		out, err := c.query(o, params)
		if err != nil {
			return err
		}
		c.result(out)
		return nil
	case dialect.SubscribeToTask:
		in, err := d.Subscribe(params)
		if err != nil {
			return err
		}
		return c.subscribe(in)
	case dialect.GetExtendedAgentCard:
		return apierror.New(a2a.ErrUnsupportedOperation, "the agent has no extended card")
	default:
		return a2a.ErrPushNotificationNotSupported
	}
}

// query returns the result of a call that gets, lists or cancels tasks.
func (c *call) query(o dialect.Operation, params []byte) (object, error) {
	var d dialect.Decoder
	switch o {
	case dialect.GetTask:
		in, err := d.Get(params)
		if err != nil {
			return nil, err
		}
		t, err := c.server.state.find(c.agent, in.ID)
		if err != nil {
			return nil, err
		}
		c.server.state.mu.Lock()
		defer c.server.state.mu.Unlock()
		return t.taskLocked(view{in.HistoryLength, true}), nil
	case dialect.ListTasks:
		in, err := d.List(params)
		if err != nil {
			return nil, err
		}
		return c.server.list(c, in)
	default:
		in, err := d.Cancel(params)
		if err != nil {
			return nil, err
		}
		return c.server.cancel(c, in)
	}
}

// send answers a message.
func (c *call) send(o dialect.Operation, in *op.Send) error {
	stream := o == dialect.SendStreamingMessage
	if stream && !c.agent.streaming {
		return apierror.New(a2a.ErrUnsupportedOperation, "the agent does not stream")
	}
	a, err := c.server.receive(c, in)
	if err != nil {
		return err
	}
	if c.answerDirectly(a.reply) {
		return nil
	}
	switch {
	case stream:
		c.stream(a, o)
	case a.message != nil:
		c.result(object{"message": a.message})
	case in.ReturnImmediately:
		c.result(object{"task": a.first})
	default:
		c.note()
		if c.server.settled(c.r.Context(), a, c.inject) {
			c.result(object{"task": c.server.snapshot(a.task, view{in.HistoryLength, true})})
		}
	}
	return nil
}

func (s *Server) snapshot(t *task, v view) object {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return t.taskLocked(v)
}

// subscribe streams an existing task.
func (c *call) subscribe(in *op.Subscribe) error {
	if !c.agent.streaming {
		return apierror.New(a2a.ErrUnsupportedOperation, "the agent does not stream")
	}
	in.LastEventID = c.r.Header.Get("Last-Event-ID")
	a, err := c.server.subscribed(c, in)
	if err != nil {
		return err
	}
	c.stream(a, dialect.SubscribeToTask)
	return nil
}

// stream writes the events of a task, or a bare message, as server-sent events.
func (c *call) stream(a *answer, o dialect.Operation) {
	c.begin()
	if a.first == nil && a.message == nil && c.server.nothingLeft(a) {
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	if c.derived() && c.fault != WrongDialect {
		c.frames = c.shape.Frames(nil)
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusOK)
	ctx := c.r.Context()
	switch {
	case a.message != nil:
		c.frame(ctx, object{"message": a.message}, 0)
		return
	case a.first != nil && c.firstFrame(ctx, a, o):
		return
	}
	for e := range c.server.state.follow(ctx, a.task, a.from) {
		if e.fault != "" {
			c.injectStream(e.fault)
			return
		}
		c.frame(ctx, e.frame, e.number)
		if o == dialect.SendStreamingMessage && e.state == inputRequired {
			return
		}
	}
}

// nothingLeft reports whether a task has ended and all its events have been sent.
func (s *Server) nothingLeft(a *answer) bool {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return a.task.state.terminal() && a.from == len(a.task.events)
}

// firstFrame writes the current task. It reports whether the task has ended. In dialects of
// parts the frame is a status, and a message that answers a question gets none: its clients would
// take the old question for a new one.
func (c *call) firstFrame(ctx context.Context, a *answer, o dialect.Operation) bool {
	st, _ := a.first["status"].(object)
	word, _ := st["state"].(string)
	now := taskState(word)
	switch {
	case !c.derived():
		c.frame(ctx, object{"task": a.first}, a.from)
	case o != dialect.SendStreamingMessage || !now.interrupted():
		c.frame(ctx, object{"task": object{"id": a.task.id, "contextId": a.task.context, "status": st}}, a.from)
	}
	return now.terminal()
}

// frame writes one event of a stream.
func (c *call) frame(ctx context.Context, o object, number int) {
	if c.frames == nil {
		c.event(ctx, c.encode(o), number)
		return
	}
	all := c.frames(marshal(o))
	for i, f := range all {
		n := 0
		if i == len(all)-1 {
			n = number
		}
		c.event(ctx, dialect.AppendRPCResult(nil, c.answerID(), sorted(f)), n)
	}
}

// event writes a server-sent event.
func (c *call) event(ctx context.Context, data []byte, number int) {
	line := "data: " + string(data) + "\n\n"
	if number > 0 {
		line = fmt.Sprintf("id: %d\n%s", number, line)
	}
	c.write(ctx, []byte(line))
}

// encode writes a result in the shape of the call, in its envelope.
func (c *call) encode(o object) []byte {
	s := c.shape
	if c.fault == WrongDialect {
		s = wrongFor(s)
	}
	body := write(s, o)
	if c.rest {
		return body
	}
	return dialect.AppendRPCResult(nil, c.answerID(), body)
}

func (c *call) answerID() []byte {
	if c.fault == WrongID {
		return []byte(`"not-your-request"`)
	}
	return c.id
}

// result answers with a result.
func (c *call) result(o object) {
	c.begin()
	c.respond(http.StatusOK, c.encode(o))
}

// fail answers with an error of the protocol.
func (c *call) fail(err error) {
	if c.record.Problem == "" {
		c.record.Problem = err.Error()
	}
	c.begin()
	r := explain(err)
	if s := r.RetrySeconds(); s != "" {
		c.w.Header().Set("Retry-After", s)
	}
	if r.HTTP == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	switch {
	case c.rest:
		c.respond(r.HTTP, r.AppendREST(nil))
	case c.shape == dialect.V1:
		c.respond(r.RPCStatus(), r.AppendRPC(nil, c.answerID()))
	default:
		e := marshal(object{"code": legacyCode(c.shape, r.Code), "message": r.Message})
		id := c.answerID()
		if len(id) == 0 {
			id = []byte("null")
		}
		c.respond(r.RPCStatus(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, e))
	}
}

// respond writes a complete answer.
func (c *call) respond(status int, body []byte) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	c.write(c.r.Context(), body)
}
