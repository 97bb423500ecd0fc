package peer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/sse"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

const (
	eventStream = "text/event-stream"
	// lastEventID is the header with which a reader of server-sent events resumes.
	lastEventID = "Last-Event-ID"
	// idempotencyKey is the header with the idempotency key of a message.
	idempotencyKey = "Idempotency-Key"
)

// maxDepth is the maximum nesting of answers of peers.
const maxDepth = 110

// send sends the request of a call. It returns once the header of the answer was read.
func (e *endpoint) send(ctx context.Context, s dialect.Shape, a *ask) (*http.Response, error) {
	r, err := e.route(s, a)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	header, shown, err := e.carry(ctx)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, withQuery(r.url, shown.query).String(), body(r))
	if err != nil {
		return nil, err
	}
	req.Header = header
	e.mark(req, s, a, r)
	trace.Inject(ctx, req.Header)
	delegation.Inject(ctx, req.Header)
	injectExtensions(ctx, req.Header, s)
	for _, c := range shown.cookie {
		req.AddCookie(c)
	}
	holdBody(req, a)
	resp, err := e.peer.http.Do(req)
	if err != nil {
		return nil, explain(ctx, err)
	}
	return resp, nil
}

func body(r *request) io.Reader {
	if r.body == nil {
		return nil
	}
	return bytes.NewReader(r.body)
}

func withQuery(u *url.URL, more url.Values) *url.URL {
	if len(more) == 0 {
		return u
	}
	out := *u
	q := out.Query()
	for name, values := range more {
		q[name] = values
	}
	out.RawQuery = q.Encode()
	return &out
}

// carry returns the headers of a call: the caller's, and the credentials, if they may be sent
// to the endpoint.
func (e *endpoint) carry(ctx context.Context) (http.Header, *shown, error) {
	if !e.trusted() {
		// Other headers may be secret as well.
		h := make(http.Header)
		if agent := e.peer.opts.Header.Get("User-Agent"); agent != "" {
			h.Set("User-Agent", agent)
		}
		return h, new(shown), nil
	}
	shown, err := e.peer.auth.show(ctx)
	if err != nil {
		return nil, nil, err
	}
	header := join(e.peer.opts.Header, shown.header)
	if e.peer.opts.Identity == nil {
		return header, shown, nil
	}
	identity, err := e.identity(ctx)
	return join(header, identity), shown, err
}

// identity returns the headers that identify the original caller.
func (e *endpoint) identity(ctx context.Context) (http.Header, error) {
	if e.inClear() {
		return nil, &transport.IdentityError{Err: errors.New("the connection to it is not encrypted")}
	}
	h, err := e.peer.opts.Identity.Header(ctx)
	switch {
	case err == nil:
		return h, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, &transport.IdentityError{Err: err}
}

// headers returns the headers of a call over a binding that is not HTTP, whose dialect is
// always that of the card.
func (e *endpoint) headers(ctx context.Context) (http.Header, error) {
	h, _, err := e.carry(ctx)
	if err == nil {
		s, _ := e.native()
		e.version(h, s, false)
		trace.Inject(ctx, h)
		delegation.Inject(ctx, h)
		injectExtensions(ctx, h, s)
		if after, ok := ctx.Value(afterKey{}).(string); ok {
			h.Set(lastEventID, after)
		}
		if s == dialect.V03Proto && e.iface.Tenant != "" {
			h.Set("A2A-Tenant", e.iface.Tenant)
		}
	}
	return h, err
}

// mark adds the headers of the dialect.
func (e *endpoint) mark(req *http.Request, s dialect.Shape, a *ask, r *request) {
	h := req.Header
	if r.body != nil {
		h.Set("Content-Type", "application/json")
	}
	h.Set("Accept", "application/json")
	if a.op.Streaming() {
		h.Set("Accept", eventStream)
	}
	if a.after != "" {
		h.Set(lastEventID, a.after)
	}
	e.version(h, s, a.sends())
	if !a.sends() {
		return
	}
	msg := rawjson.Member(a.params, "message")
	if id := text(msg, "messageId"); id != "" && e.peer.opts.Idempotent && httpcall.HeaderValue(id) {
		h.Set(idempotencyKey, id)
	}
	for name, key := range map[string]string{"X-Correlation-Id": "correlationId", "X-Parent-Id": "parentId"} {
		v := cmp.Or(text(rawjson.Member(a.params, "metadata"), key), text(rawjson.Member(msg, "metadata"), key))
		if v != "" && httpcall.HeaderValue(v) && h.Get(name) == "" {
			h.Set(name, v)
		}
	}
}

// version adds the version of the protocol. The calls of some dialects are recognized by its
// absence.
func (e *endpoint) version(h http.Header, s dialect.Shape, sends bool) {
	c := &dialect.Of(s).Calling
	if c.Header != "" && !(sends && c.NoSendHeader) {
		h.Set("A2A-Version", c.Header)
	}
}

// call makes a call that has one answer, and returns the result of v1.0.
func (e *endpoint) call(ctx context.Context, s dialect.Shape, a *ask) ([]byte, error) {
	if e.base == nil {
		return e.callConn(ctx, s, a)
	}
	resp, err := e.send(ctx, s, a)
	if err != nil {
		return nil, err
	}
	v1, err := e.answer(ctx, s, a, resp)
	if v1 != nil {
		confirmed(ctx, a, resp.Header)
	}
	return v1, err
}

// answer reads an answer to its end.
func (e *endpoint) answer(ctx context.Context, s dialect.Shape, a *ask, resp *http.Response) ([]byte, error) {
	host := e.base.Host
	raw, err := httpcall.ReadBounded(resp.Body, cmp.Or(max(0, e.peer.opts.MaxBody), DefaultMaxBody))
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", host, explain(ctx, err))
	}
	raw = rawjson.Mend(raw)
	if err := e.errorIn(ctx, resp, raw); err != nil {
		return nil, err
	}
	if page := bytes.TrimSpace(raw); len(page) == 0 || page[0] == '<' {
		return nil, notAnAnswer(host, page)
	}
	if err := rawjson.Check(raw, maxDepth); err != nil {
		return nil, unreadable(strange("%s answered with %v", host, err))
	}
	return e.result(s, a, raw)
}

func notAnAnswer(host string, page []byte) error {
	if len(page) == 0 {
		return strange("%s answered with nothing", host)
	}
	return strange("%s answered with a web page", host)
}

// errorIn returns the error of an answer, or nil.
func (e *endpoint) errorIn(ctx context.Context, resp *http.Response, raw []byte) error {
	if e.takesJobs() {
		// Jobs have their own form of errors.
		if job, err := dialect.ReadJobAnswer("", "", raw); err == nil && job.Code != "" {
			return jobError(&job, resp.StatusCode)
		}
	}
	err := ErrorOf(resp.StatusCode, raw)
	var agent *transport.Error
	if errors.As(err, &agent) {
		agent.RetryAfter = backoff.RetryAfter(resp.Header.Get("Retry-After"), time.Now(), longestAsked)
		if resp.StatusCode == http.StatusUnauthorized {
			e.refused(ctx)
		}
	}
	return err
}

// refused discards tokens that the peer has refused.
func (e *endpoint) refused(ctx context.Context) {
	if t := e.peer.auth.tokens; t != nil {
		t.turn <- struct{}{}
		t.token = ""
		<-t.turn
	}
	if i := e.peer.opts.Identity; i != nil {
		i.Refused(ctx)
	}
}

func jobError(job *dialect.JobAnswer, status int) error {
	e := &transport.Error{Err: job.Sentinel(), Message: job.Message, Status: status}
	e.Reason = a2a.ErrorReason(e.Err)
	e.Settle()
	if job.Retryable && status < 500 {
		e.Status = http.StatusServiceUnavailable
	}
	return e
}

// result reads the result of a call from an answer without an error.
func (e *endpoint) result(s dialect.Shape, a *ask, raw []byte) ([]byte, error) {
	if e.takesJobs() {
		job, err := dialect.ReadJobAnswer(a.job, a.task, raw)
		if err != nil {
			return job.JSON, unreadable(err)
		}
		return job.JSON, e.ended(job.JSON)
	}
	inner, err := e.unwrap(raw)
	if err != nil {
		return nil, unreadable(err)
	}
	out, err := s.ReadResult(a.op, inner)
	return out, unreadable(err)
}

// ended returns an error if the job in the result is still in progress, because a job cannot be
// read again.
func (e *endpoint) ended(frame []byte) error {
	status := rawjson.Member(rawjson.Member(frame, "task"), "status")
	state := a2a.TaskState(text(status, "state"))
	if state == a2a.TaskStateSubmitted || state == a2a.TaskStateWorking {
		return strange("%s answered a job with the state %s, and a job cannot be followed", e.base.Host, state)
	}
	return nil
}

// unwrap returns the result in a JSON-RPC response.
func (e *endpoint) unwrap(raw []byte) ([]byte, error) {
	if e.iface.ProtocolBinding != a2a.TransportProtocolJSONRPC {
		return raw, nil
	}
	if result := rawjson.Member(raw, "result"); result != nil {
		return result, nil
	}
	if rawjson.Member(raw, "jsonrpc") != nil || rawjson.KindOf(raw) != rawjson.Object {
		return nil, strange("%s answered without a result", e.base.Host)
	}
	return raw, nil // some agents omit the envelope
}

// frames is an open stream.
type frames struct {
	next  func() (dialect.Frame, string, error) // io.EOF at the end
	stop  func()
	whole bool // it is one answer
}

// open opens a stream and reads its first frame, so that an error in its place is detected.
func (e *endpoint) open(ctx context.Context, s dialect.Shape, a *ask) (*frames, error) {
	switch {
	case e.base == nil && a.op.Streaming():
		return e.openConn(ctx, s, a)
	case e.base == nil:
		return e.singleConn(ctx, s, a)
	}
	o := &e.peer.opts
	ctx, dog := watch(ctx, limit(o.Idle, DefaultIdle))
	resp, err := e.send(ctx, s, a)
	if err != nil {
		dog.stop()
		return nil, err
	}
	dog.alive()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusOK && kind == eventStream:
		f, err := primed(e.reader(ctx, s, resp.Body, dog))
		if err == nil {
			confirmed(ctx, a, resp.Header)
		}
		return f, err
	case resp.StatusCode == http.StatusNoContent && a.after != "":
		resp.Body.Close()
		dog.stop()
		return nil, ErrNothingLeft
	}
	defer dog.stop()
	v1, err := e.answer(ctx, s, a, resp)
	if v1 == nil {
		return nil, err
	}
	confirmed(ctx, a, resp.Header)
	return single(v1, err), nil
}

// single is a stream of one frame: the answer of an agent that does not stream. err is why
// something in it could not be read.
func single(v1 []byte, err error) *frames {
	done := false
	return &frames{
		stop:  func() {},
		whole: true,
		next: func() (dialect.Frame, string, error) {
			if done {
				return dialect.Frame{}, "", io.EOF
			}
			done = true
			return dialect.Frame{JSON: v1}, "", err
		},
	}
}

func (e *endpoint) reader(ctx context.Context, s dialect.Shape, body io.ReadCloser, dog *watchdog) *frames {
	events := sse.NewReader(body, cmp.Or(max(0, e.peer.opts.MaxEvent), DefaultMaxEvent), dog.alive)
	var once sync.Once
	return &frames{
		stop: func() { once.Do(func() { dog.stop(); body.Close() }) },
		next: func() (dialect.Frame, string, error) {
			m, err := events.Next()
			if err != nil {
				return dialect.Frame{}, "", unread(ctx, err)
			}
			f, err := e.frame(s, m.Data)
			return f, m.ID, err
		},
	}
}

// unread converts the error of a reader of events.
func unread(ctx context.Context, err error) error {
	switch {
	case err == io.EOF:
		return err
	case errors.Is(err, sse.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return explain(ctx, err)
}

// frame reads one event. An event has an end, so that one of a broken connection is not read.
func (e *endpoint) frame(s dialect.Shape, data []byte) (dialect.Frame, error) {
	data = rawjson.Mend(data)
	if err := rawjson.Check(data, maxDepth); err != nil {
		return dialect.Frame{}, unreadable(strange("an event of %s: %v", e.base.Host, err))
	}
	if err := ErrorOf(http.StatusOK, data); err != nil {
		var agent *transport.Error
		if errors.As(err, &agent) {
			agent.Status = 0
		}
		return dialect.Frame{}, err
	}
	inner, err := e.unwrap(data)
	if err != nil {
		return dialect.Frame{}, unreadable(err)
	}
	f, err := s.ReadFrame(inner)
	return f, unreadable(err)
}

// primed reads the first frame of a stream. An empty stream counts as cut.
func primed(f *frames) (*frames, error) {
	first, id, err := f.next()
	if err != nil && err != io.EOF && !isUnreadable(err) {
		f.stop()
		return nil, &unopened{err}
	}
	next, begun := f.next, false
	f.next = func() (dialect.Frame, string, error) {
		if !begun {
			begun = true
			return first, id, err // an event that cannot be read is one of many
		}
		return next()
	}
	return f, nil
}

// unopened is the error in the place of the first frame of a stream with a successful status:
// whether the call was accepted is unknown, unless it is an error of the agent.
type unopened struct{ err error }

func (u *unopened) Error() string { return u.err.Error() }
func (u *unopened) Unwrap() error { return u.err }
