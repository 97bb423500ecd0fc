package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// HTTP sends plain requests.
type HTTP struct {
	Options
}

// Plain is a request written by hand.
type Plain struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	// Key and Timeout are as in Request.
	Key     *string
	Timeout time.Duration
}

// Do sends r and reads the complete answer. It sets the Envelope if the body is JSON.
func (h *HTTP) Do(ctx context.Context, r Plain) *Exchange {
	x := &Exchange{}
	ctx, cancel := h.limit(ctx, r.Timeout)
	defer cancel()
	res := h.start(ctx, r, x)
	if res == nil {
		return x
	}
	x.read(ctx, res)
	return x
}

// Open sends r and returns the answer as a stream if it is one.
func (h *HTTP) Open(ctx context.Context, r Plain, unwrap func(any) (any, *Fault)) *Stream {
	x := &Exchange{Op: StreamMessage}
	ctx, cancel := h.limit(ctx, r.Timeout)
	s := &Stream{Exchange: x, ctx: ctx, cancel: cancel}
	res := h.start(ctx, r, x)
	switch {
	case res == nil:
	case MediaType(res.Header) == "text/event-stream":
		s.source = &sse{body: res.Body, r: bufio.NewReader(res.Body), unwrap: unwrap, oversee: maxBody}
	default:
		x.read(ctx, res)
	}
	return s
}

// start sends the request. It returns nil if there is no answer.
func (h *HTTP) start(ctx context.Context, r Plain, x *Exchange) *http.Response {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		x.Err = err
		return nil
	}
	h.authorize(req.Header, r.Key)
	if h.UserAgent != "" {
		req.Header.Set("User-Agent", h.UserAgent)
	}
	maps.Copy(req.Header, r.Header)
	x.Sent = fmt.Sprintf("%s %s\n%s\n%s", r.Method, r.URL, headText(req.Header), r.Body)
	res, err := h.roundTripper().RoundTrip(req)
	if err != nil {
		x.fail(ctx, err)
		return nil
	}
	x.Status, x.Header = res.StatusCode, res.Header
	x.Got = fmt.Sprintf("%d %s\n%s\n", res.StatusCode, http.StatusText(res.StatusCode), headText(res.Header))
	return res
}

// authorize adds the credential.
func (o *Options) authorize(header http.Header, replaced *string) {
	key := o.Key
	if replaced != nil {
		key = *replaced
	}
	if key == "" {
		return
	}
	header.Set("Authorization", "Bearer "+key)
	for _, name := range o.KeyHeaders {
		header.Set(name, key)
	}
}

func (x *Exchange) read(ctx context.Context, res *http.Response) {
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	x.Body = body
	x.Got += string(body)
	switch {
	case err != nil:
		x.fail(ctx, err)
	case len(body) > maxBody:
		x.Err = fmt.Errorf("the answer has more than %d bytes", maxBody)
	default:
		x.Envelope, _ = Decode(body)
	}
}

// MediaType returns the media type of a Content-Type, without parameters.
func MediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(strings.TrimSpace(h.Get("Content-Type")))
	}
	return t
}

func headText(h http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	return b.String()
}

// httpCaller calls a JSON-RPC or HTTP+JSON interface.
type httpCaller struct {
	HTTP
	iface Interface
}

// Close does nothing.
func (*httpCaller) Close() error { return nil }

// Call makes a call.
func (c *httpCaller) Call(ctx context.Context, r Request) *Exchange {
	if r.Op.Streams() {
		return c.Open(ctx, r).Rest()
	}
	plain, err := c.plain(r)
	if err != nil {
		return c.named(&Exchange{Err: err}, r)
	}
	return c.unwrapped(c.named(c.Do(ctx, plain), r)).renamed()
}

// Open opens a stream.
func (c *httpCaller) Open(ctx context.Context, r Request) *Stream {
	plain, err := c.plain(r)
	if err != nil {
		return &Stream{Exchange: c.named(&Exchange{Err: err}, r), cancel: func() {}, ctx: ctx}
	}
	s := c.HTTP.Open(ctx, plain, c.unwrap)
	if c.iface.Binding == REST && (r.Op == SubscribeTask || r.Op == LegacySubscribe) && noRoute(s.Exchange) {
		s.Close()
		plain.Method = http.MethodGet
		s = c.HTTP.Open(ctx, plain, c.unwrap)
	}
	c.named(s.Exchange, r)
	if s.source == nil {
		c.unwrapped(s.Exchange).renamed()
	}
	return s
}

// noRoute reports whether the server does not support the request. The prose of the
// specification subscribes with POST, its protocol definition with GET.
func noRoute(x *Exchange) bool {
	return x.Status == http.StatusMethodNotAllowed || x.Status == http.StatusNotFound && RESTFault(x.Envelope, 404).Reason() == ""
}

func (c *httpCaller) named(x *Exchange, r Request) *Exchange {
	x.Interface, x.Op = c.iface, r.Op
	return x
}

// unwrapped extracts the result or the error from the binding's envelope.
func (c *httpCaller) unwrapped(x *Exchange) *Exchange {
	if x.Err != nil {
		return x
	}
	if c.iface.Binding == REST {
		return x.unwrapREST()
	}
	if x.Envelope == nil {
		x.Err = fmt.Errorf("status %d, and the body is not JSON: %s", x.Status, clip(string(x.Body), 200))
		return x
	}
	x.Result, x.Fault = c.unwrap(x.Envelope)
	if x.Status >= 400 && x.Fault == nil {
		x.Fault = &Fault{Binding: JSONRPC, HTTP: x.Status, Message: clip(string(x.Body), 200)}
	}
	if x.Fault != nil {
		x.Fault.HTTP = x.Status
	}
	return x
}

func (x *Exchange) unwrapREST() *Exchange {
	switch {
	case x.Status >= 400:
		x.Fault = RESTFault(x.Envelope, x.Status)
	case x.Status >= 300:
		x.Err = fmt.Errorf("status %d", x.Status)
	case x.Envelope == nil && len(bytes.TrimSpace(x.Body)) > 0:
		x.Err = fmt.Errorf("the body is not JSON: %s", clip(string(x.Body), 200))
	default:
		x.Result = x.Envelope
	}
	return x
}

// unwrap extracts the result or the error of a frame or a JSON-RPC answer.
func (c *httpCaller) unwrap(v any) (any, *Fault) {
	m, _ := v.(map[string]any)
	if c.iface.Binding == REST {
		if _, ok := m["error"]; ok {
			f := RESTFault(v, 0)
			f.Legacy = c.iface.inProto()
			return nil, f
		}
		if c.iface.inProto() {
			v = fromProto(v)
		}
		return v, nil
	}
	if e, ok := m["error"]; ok && e != nil {
		return nil, RPCFault(e)
	}
	return m["result"], nil
}

// plain writes r in the form of the binding.
func (c *httpCaller) plain(r Request) (Plain, error) {
	p := Plain{Method: http.MethodPost, URL: c.iface.URL, Key: r.Key, Timeout: r.Timeout, Header: http.Header{"Content-Type": {"application/json"}}}
	accept := "application/json"
	if r.Op.Streams() {
		accept = "text/event-stream"
	}
	p.Header.Set("Accept", accept)
	version := r.Version
	if version == "" {
		version = c.iface.Version
	}
	if version != NoVersion {
		p.Header.Set("A2A-Version", version)
	}
	switch {
	case c.iface.inProto():
		return c.legacyREST(p, r)
	case c.iface.Binding == REST:
		return c.rest(p, r)
	}
	params := withTenant(r.Params, c.iface.Tenant)
	id := r.ID
	if id == nil {
		id = "check-" + uuid.NewString()
	}
	var err error
	p.Body, err = json.Marshal(envelope{"2.0", id, r.Op, params})
	return p, err
}

// envelope is a JSON-RPC request.
type envelope struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      any            `json:"id"`
	Method  Op             `json:"method"`
	Params  map[string]any `json:"params,omitempty"`
}

func withTenant(params map[string]any, tenant string) map[string]any {
	if tenant == "" {
		return params
	}
	params = maps.Clone(params)
	if params == nil {
		params = map[string]any{}
	}
	params["tenant"] = tenant
	return params
}

// rest writes r as HTTP+JSON (specification §11.3).
func (c *httpCaller) rest(p Plain, r Request) (Plain, error) {
	rest := maps.Clone(r.Params)
	delete(rest, "tenant")
	take := func(name string) string {
		s, _ := rest[name].(string)
		delete(rest, name)
		return url.PathEscape(s)
	}
	var path string
	body := false
	switch r.Op {
	case SendMessage, StreamMessage:
		body, path = true, "/message:"+map[Op]string{SendMessage: "send", StreamMessage: "stream"}[r.Op]
	case GetTask:
		p.Method, path = http.MethodGet, "/tasks/"+take("id")
	case ListTasks:
		p.Method, path = http.MethodGet, "/tasks"
	case CancelTask:
		path, body = "/tasks/"+take("id")+":cancel", true
	case SubscribeTask:
		path = "/tasks/" + take("id") + ":subscribe"
	case CreatePush:
		path, body = "/tasks/"+take("taskId")+"/pushNotificationConfigs", true
	case ListPush:
		p.Method, path = http.MethodGet, "/tasks/"+take("taskId")+"/pushNotificationConfigs"
	case GetPush, DeletePush:
		p.Method = map[Op]string{GetPush: http.MethodGet, DeletePush: http.MethodDelete}[r.Op]
		path = "/tasks/" + take("taskId") + "/pushNotificationConfigs/" + take("id")
	case ExtendedCard:
		p.Method, path = http.MethodGet, "/extendedAgentCard"
	default:
		return p, fmt.Errorf("%w: %s over HTTP+JSON", ErrInexpressible, r.Op)
	}
	return c.restAt(p, path, rest, body)
}

// restAt puts the params that are not in the path into the body or the query.
func (c *httpCaller) restAt(p Plain, path string, rest map[string]any, body bool) (Plain, error) {
	p.URL = strings.TrimRight(c.iface.URL, "/")
	if c.iface.Tenant != "" {
		p.URL += "/" + url.PathEscape(c.iface.Tenant)
	}
	p.URL += path
	if body {
		var err error
		if len(rest) > 0 {
			p.Body, err = json.Marshal(rest)
		}
		return p, err
	}
	p.Header.Del("Content-Type")
	query := url.Values{}
	for name, v := range rest {
		if !scalar(v) {
			return p, fmt.Errorf("%w: %s in a query", ErrInexpressible, name)
		}
		query.Set(name, fmt.Sprint(v))
	}
	if len(query) > 0 {
		p.URL += "?" + query.Encode()
	}
	return p, nil
}

func scalar(v any) bool {
	switch v.(type) {
	case string, bool, int, int64, uint64, float64, json.Number:
		return true
	}
	return false
}
