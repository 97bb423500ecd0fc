package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/sse"
)

// maxAnswer is the maximum size of an answer of the hub that a page reads.
const maxAnswer = 32 << 20

// maxRefusal is the maximum size of an error of the hub that is read, in bytes.
const maxRefusal = 64 << 10

// refusal is an error that the hub has answered.
type refusal struct {
	Code    int
	Message string
	// RetryAfter is the header of that name.
	RetryAfter string
}

func (e *refusal) Error() string { return e.Message }

// refusedBy returns the answer of the hub in an error; nil for other errors.
func refusedBy(err error) (r *refusal) {
	_ = errors.As(err, &r) // without one it stays nil
	return r
}

// isMissing reports whether the hub has answered that something does not exist, or that the
// caller may not see it.
func isMissing(err error) bool {
	refused := refusedBy(err)
	return refused != nil && (refused.Code == http.StatusNotFound || refused.Code == http.StatusForbidden)
}

// mistake returns the answer of the hub to a form that the person can correct on the same page. It
// is nil for other errors, and if the caller has no right to send the form.
func mistake(err error) *refusal {
	refused := refusedBy(err)
	if refused == nil || refused.Code == http.StatusUnauthorized || refused.Code == http.StatusForbidden {
		return nil
	}
	return refused
}

type outsideKey struct{}

// asOutside passes a request of a page on to the hub, as if the browser had sent it.
func (h *Handler) asOutside(w http.ResponseWriter, r *http.Request) {
	if outer, ok := r.Context().Value(outsideKey{}).(*http.Request); ok {
		r.RemoteAddr, r.Host, r.TLS = outer.RemoteAddr, outer.Host, outer.TLS
	}
	h.Hub.ServeHTTP(w, r)
}

// forwarded are the headers of a proxy from which a hub takes its address.
var forwarded = []string{"X-Forwarded-Host", "X-Forwarded-Proto"}

// request returns a request to the hub with the credentials of the person.
func (p *page) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(b)
	}
	ctx = context.WithValue(ctx, outsideKey{}, p.r)
	if p.session.openID != nil {
		ctx = p.session.openID.Context(ctx)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://hub"+path, in)
	if err != nil {
		return nil, err
	}
	for _, name := range forwarded {
		if v := p.r.Header.Values(name); v != nil {
			r.Header[name] = v
		}
	}
	if name := auth.Proxied(p.r.Header.Values); name != "" {
		r.Header[name] = p.r.Header.Values(name)
	}
	r.Header.Set("A2A-Version", "1.0")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.session.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.session.key)
	}
	return r, nil
}

// call sends a request to the hub.
func (p *page) call(ctx context.Context, method, path string, body any) (*http.Response, error) {
	r, err := p.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	return p.roundTrip(r)
}

// roundTrip sends a request to the hub. A refusal is an error.
func (p *page) roundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.hub.inside.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.RequestURI(), err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer func() { _ = resp.Body.Close() }()
		return nil, refused(resp.StatusCode, resp.Header, resp.Body)
	}
	resp.Body = membudget.Counted(r.Context(), resp)
	return resp, nil
}

// refused reads the error of an answer.
func refused(code int, header http.Header, body io.Reader) error {
	var e struct {
		Error struct {
			Message string
		} `json:"error"`
	}
	_ = json.NewDecoder(io.LimitReader(body, maxRefusal)).Decode(&e) // without a text the status stays
	if e.Error.Message == "" {
		e.Error.Message = http.StatusText(code)
	}
	return &refusal{Code: code, Message: e.Error.Message, RetryAfter: header.Get("Retry-After")}
}

// do sends a request and decodes the answer into v, unless v is nil.
func (p *page) do(method, path string, body, v any) error {
	resp, err := p.call(p.r.Context(), method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if v == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(v); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// get reads an answer of the hub.
func (p *page) get(path string, v any) error { return p.do(http.MethodGet, path, nil, v) }

// scoped returns the page with an account of its own for the memory of answers of the hub, until drop is called.
func (p *page) scoped() (own *page, drop func()) {
	account := membudget.AccountOf(p.r.Context()).Another()
	own = new(page)
	*own = *p
	own.r = p.r.WithContext(account.Context(p.r.Context()))
	return own, account.Release
}

// errEnough ends a stream whose reader wants no further events.
var errEnough = errors.New("no further events are wanted")

// follow calls f with each event of a stream of the hub until it ends or f returns false. The hub
// answers in this goroutine, so that an open stream holds nothing else. It counts the memory of each event
// until the next one.
func (p *page) follow(ctx context.Context, path string, f func(sse.Event) bool) error {
	ctx, cancel := context.WithCancel(membudget.WithoutAccount(ctx))
	defer cancel()
	r, err := p.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	s := &followed{header: make(http.Header), cancel: cancel}
	s.feed = sse.Feed{Limit: maxAnswer, Event: func(e sse.Event) error {
		if !f(e) {
			return errEnough
		}
		return nil
	}}
	err = p.hub.inside.Serve(s, r)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", http.MethodGet, path, err)
	case s.code >= http.StatusBadRequest:
		return refused(s.code, s.header, &s.text)
	case errors.Is(s.err, errEnough):
		return nil
	}
	return s.err
}

// followed receives a stream from the hub. Handlers do not use it concurrently.
type followed struct {
	header http.Header
	cancel context.CancelFunc
	code   int
	text   bytes.Buffer // the beginning of a refusal
	feed   sse.Feed
	err    error // ends the stream
}

var _ http.Flusher = (*followed)(nil)

// Header implements http.ResponseWriter.
func (s *followed) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *followed) WriteHeader(code int) {
	if s.code == 0 && code >= http.StatusOK {
		s.code = code
	}
}

// Flush implements http.Flusher: written events have already been read.
func (s *followed) Flush() { s.WriteHeader(http.StatusOK) }

// Write implements http.ResponseWriter. After an error it cancels the request of the stream.
func (s *followed) Write(b []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	if s.code >= http.StatusBadRequest {
		s.text.Write(b[:min(len(b), maxRefusal-s.text.Len())])
		return len(b), nil
	}
	if s.err == nil {
		_, s.err = s.feed.Write(b)
	}
	if s.err != nil {
		s.cancel()
		return 0, s.err
	}
	return len(b), nil
}
