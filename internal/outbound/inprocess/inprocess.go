// Package inprocess sends HTTP requests to a handler in the same process.
//
// # Overview
//
// A [Transport] is an http.RoundTripper in front of an http.Handler. Clients inside the hub
// thus use the same path as remote ones, with all checks of the hub. The handler gets the
// context of the request with its values.
//
// # Guarantees
//
// Answers are streamed: data can be read once the handler has flushed it, or has returned.
// Closing the body of an answer, or the end of the request's context, ends the context of the
// handler. A panic of a handler is an error of the request, or of reading its answer.
//
// # Non-guarantees
//
// There are no deadlines, no trailers and no upgrades; a handler that sets a deadline gets an
// error.
//
// # Concurrency
//
// A Transport is safe for concurrent use. RoundTrip runs the handler in a
// goroutine; Close waits for all requests.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// ErrClosed is the error of requests after Close.
var ErrClosed = errors.New("the hub stops")

// Transport sends requests to a handler.
type Transport struct {
	// Handler answers the requests. It must be set before the first request.
	Handler http.Handler

	mu     sync.Mutex // guards closed, and the start of requests
	closed bool
	wg     sync.WaitGroup
}

// Refuse refuses requests from now on. Requests in progress continue.
func (t *Transport) Refuse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// Close refuses requests from now on, and waits for those in progress. It does not cancel them.
func (t *Transport) Close() {
	t.Refuse()
	t.wg.Wait()
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	body, pipe := io.Pipe()
	w := &writer{header: make(http.Header), began: make(chan struct{}), pipe: pipe}
	in := received(r.Clone(ctx))
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		cancel()
		_ = in.Body.Close()
		return nil, ErrClosed
	}
	t.wg.Go(func() {
		defer cancel()
		w.finish(t.serve(w, in))
		_ = in.Body.Close()
	})
	t.mu.Unlock()
	select {
	case <-w.began:
	case <-r.Context().Done(): // the handler's context ends as well
		_ = body.Close()
		return nil, context.Cause(r.Context())
	}
	if w.err != nil {
		return nil, w.err
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &answer{body, cancel}, ContentLength: w.length(), Request: r,
	}, nil
}

// Serve answers a request in the goroutine of the caller, which provides the writer. An idle stream
// thus holds neither a goroutine nor a pipe, nor a copy of the request: the caller must not use r any
// more. A panic of the handler is returned as an error.
func (t *Transport) Serve(w http.ResponseWriter, r *http.Request) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return ErrClosed
	}
	t.wg.Add(1)
	t.mu.Unlock()
	defer t.wg.Done()
	return t.serve(w, received(r))
}

// received makes a request one as a server receives it.
func received(in *http.Request) *http.Request {
	in.RequestURI = in.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	if in.Host == "" {
		in.Host = in.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// serve runs the handler; it returns a panic as an error.
func (t *Transport) serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	t.Handler.ServeHTTP(w, r)
	return nil
}

// answer is the body of an answer: closing it cancels the handler.
type answer struct {
	io.ReadCloser

	cancel context.CancelFunc
}

// Close implements io.Closer.
func (a *answer) Close() error {
	a.cancel()
	return a.ReadCloser.Close()
}

// writer is the ResponseWriter of the handler. It belongs to the handler; other goroutines read
// it once began is closed.
type writer struct {
	header, sent http.Header
	status       int
	began        chan struct{}
	err          error
	pipe         *io.PipeWriter
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if w.sent != nil || status < 200 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
	close(w.began)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

// Flush implements http.Flusher: written data has already been read.
func (w *writer) Flush() { w.WriteHeader(http.StatusOK) }

// length returns the length of the answer if the handler has set it, or -1.
func (w *writer) length() int64 {
	n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// finish ends the answer.
func (w *writer) finish(err error) {
	if err != nil && w.sent == nil {
		w.err, w.sent = err, http.Header{}
		close(w.began)
	}
	w.WriteHeader(http.StatusOK)
	_ = w.pipe.CloseWithError(err) // never fails
}
