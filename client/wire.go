package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

const eventStream = "text/event-stream"

// wire stands between the SDK's client and the network and mends what the SDK
// cannot read: errors in any content type, errors in place of a stream, single
// answers in place of a stream, answers without end. It also knows the ids of events,
// which the SDK passes over.
//
// It returns an error of the agent as an error of the round trip. That bends the
// contract of RoundTripper, but it is the only way past the SDK's decoder, which
// drops the reason, and drops everything if a stream was asked for.
type wire struct {
	base    http.RoundTripper
	maxBody int64
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	req = comeBack(translate(req))
	resp, err := w.connect(req)
	if err != nil {
		return nil, err
	}
	if redirects(resp) {
		return resp, nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == eventStream {
		if at := cursorFrom(req.Context()); at != nil {
			resp.Body = newMarked(resp.Body, at)
		}
		return resp, nil
	}
	body, err := readBounded(resp.Body, w.maxBody)
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", req.URL.Host, err)
	}
	if err := errorOf(resp.StatusCode, body); err != nil {
		return nil, err
	}
	if req.Header.Get("Accept") == eventStream {
		if resp.StatusCode == http.StatusNoContent && req.Header.Get(lastEventID) != "" {
			return nil, errNothingLeft
		}
		body = frame(body)
	}
	resp.StatusCode = http.StatusOK
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// connect sends req, and tells a host that could not be connected to from one that
// may have received something.
func (w *wire) connect(req *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := w.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		return resp, nil
	}
	if !connected.Load() && req.Context().Err() == nil {
		return nil, &unreachable{host: req.URL.Host, err: err}
	}
	return nil, err
}

// translate returns req with the names that the specification uses where the SDK
// uses others.
func translate(req *http.Request) *http.Request {
	q := req.URL.Query()
	after, ok := q["lastUpdatedAfter"]
	if !ok {
		return req
	}
	q.Del("lastUpdatedAfter")
	q["statusTimestampAfter"] = after
	req = req.Clone(req.Context())
	req.URL.RawQuery = q.Encode()
	return req
}

func redirects(resp *http.Response) bool {
	return resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != ""
}

// readBounded reads and closes r.
func readBounded(r io.ReadCloser, limit int64) ([]byte, error) {
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("more than %d bytes: %w", limit, ErrTooLarge)
	}
	return body, nil
}

// frame makes a single answer the only event of a stream.
func frame(body []byte) []byte {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	var b bytes.Buffer
	for line := range bytes.Lines(body) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// sameHost follows redirects only where the first request went.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return fmt.Errorf("refuse redirect from %s to %s", first.Host, req.URL)
	}
	if len(via) >= 5 {
		return errors.New("stop after 5 redirects")
	}
	return nil
}

// authorize is the part of the credentials that every binding carries alike.
type authorize struct {
	a2aclient.PassthroughInterceptor
	params a2aclient.ServiceParams
}

// Before implements a2aclient.CallInterceptor.
func (a authorize) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	for name, values := range a.params {
		req.ServiceParams.Append(name, values...)
	}
	return ctx, nil, nil
}

// credentials returns what every call carries beside its payload.
func credentials(card *a2a.AgentCard, o *Options) a2aclient.CallInterceptor {
	params := a2aclient.ServiceParams{}
	for name, values := range o.headers(card) {
		params.Append(name, values...)
	}
	return authorize{params: params}
}

// headers returns the headers of a call to the agent with the given card, or of the
// request for the card if it is nil.
func (o *Options) headers(card *a2a.AgentCard) http.Header {
	h := o.Header.Clone()
	if h == nil {
		h = make(http.Header)
	}
	if o.Key == "" {
		return h
	}
	h.Set("Authorization", "Bearer "+o.Key)
	if card == nil {
		return h
	}
	for _, scheme := range card.SecuritySchemes {
		if k, ok := scheme.(a2a.APIKeySecurityScheme); ok && k.Location == a2a.APIKeySecuritySchemeLocationHeader {
			h.Set(k.Name, o.Key)
		}
	}
	return h
}
