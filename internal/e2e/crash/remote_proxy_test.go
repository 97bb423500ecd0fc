package crash

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// step is the progress of a task as seen by the proxy.
type step string

const (
	atConnect  step = "connect"  // a message arrives
	atAccept   step = "accept"   // the remote hub has accepted the message, but its answer has not been forwarded
	atMiddle   step = "middle"   // the third event of the stream
	atQuestion step = "question" // the status with the question
	atAnswer   step = "answer"   // a further message was accepted
	atCancel   step = "cancel"   // the cancellation was accepted
	atFinish   step = "finish"   // the last status
)

// action is a fault.
type action string

const (
	killHub   action = "kill hub"
	killPeer  action = "kill peer"
	drop      action = "drop"      // the connection breaks, and this event is lost
	truncate  action = "truncate"  // the connection breaks in the middle of the event
	delay     action = "delay"     // this event is delayed by half a second
	duplicate action = "duplicate" // this event, or the request, is sent twice
)

// proxy stands between the hubs and injects one fault.
type proxy struct {
	*httptest.Server
	to   string
	kill map[action]func() // each kills a hub and starts it again

	mu    sync.Mutex // guards the field below
	armed *planned
}

// planned is a fault that has been armed.
type planned struct {
	step step
	act  action
	done chan struct{} // closed once it is over
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{to: to}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// plan arms the proxy.
func (p *proxy) plan(s step, a action) *planned {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = &planned{s, a, make(chan struct{})}
	return p.armed
}

// disarm cancels the planned fault, or waits until it is over if it has begun.
func (p *proxy) disarm(w *planned) {
	p.mu.Lock()
	unhurt := p.armed == w
	p.armed = nil
	p.mu.Unlock()
	if !unhurt {
		<-w.done
	}
}

// due returns the planned fault if it belongs to step s, and disarms the proxy; otherwise nil.
func (p *proxy) due(s step) *planned {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.armed
	if w == nil || s == "" || w.step != s {
		return nil
	}
	p.armed = nil
	return w
}

// strike applies a fault to an exchange as a whole. It reports whether the exchange continues.
func (p *proxy) strike(w *planned) bool {
	if w == nil {
		return true
	}
	defer close(w.done)
	switch w.act {
	case killHub, killPeer:
		p.kill[w.act]()
		return false
	case delay:
		<-time.After(500 * time.Millisecond)
	}
	return w.act != drop && w.act != truncate
}

// ServeHTTP forwards a request and its answer.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	message := bytes.Contains(body, []byte(`"message":{`))
	if message {
		wrong := p.due(atConnect)
		if wrong != nil && wrong.act == duplicate {
			if resp, err := p.forward(r.Context(), r, body); err == nil {
				resp.Body.Close()
			}
		}
		if !p.strike(wrong) {
			panic(http.ErrAbortHandler)
		}
	}
	// The request is forwarded before faults of later steps, so the remote hub continues with
	// an accepted message although its sender gets no answer.
	resp, err := p.forward(r.Context(), r, body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	for _, s := range accepted(r, body, message) {
		if !p.strike(p.due(s)) {
			panic(http.ErrAbortHandler)
		}
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		p.stream(w, resp.Body)
		return
	}
	p.answer(w, resp.Body)
}

// accepted returns the steps that an answer completes.
func accepted(r *http.Request, body []byte, message bool) []step {
	switch {
	case message && bytes.Contains(body, []byte(`"taskId":`)):
		return []step{atAccept, atAnswer}
	case message:
		return []step{atAccept}
	case bytes.Contains(body, []byte(`"CancelTask"`)), strings.HasSuffix(r.URL.Path, ":cancel"):
		return []step{atCancel}
	}
	return nil
}

func (p *proxy) forward(ctx context.Context, r *http.Request, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, p.to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header, req.Host = r.Header.Clone(), r.Host
	return http.DefaultTransport.RoundTrip(req)
}

// answer forwards an answer that is not a stream.
func (p *proxy) answer(w http.ResponseWriter, from io.Reader) {
	body, err := io.ReadAll(from)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if !p.strike(p.due(stepOf(body, 0))) {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

// stream forwards events.
func (p *proxy) stream(w http.ResponseWriter, from io.Reader) {
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	events := bufio.NewReader(from)
	var event []byte
	for n := 0; ; {
		line, err := events.ReadBytes('\n')
		if err != nil {
			panic(http.ErrAbortHandler) // the remote hub may end it with or without an error
		}
		if event = append(event, line...); len(bytes.TrimSpace(line)) > 0 {
			continue
		}
		n++
		p.event(w, event, n)
		_ = rc.Flush()
		event = nil
	}
}

// event forwards one event.
func (p *proxy) event(w io.Writer, event []byte, n int) {
	wrong := p.due(stepOf(event, n))
	switch {
	case wrong == nil:
	case wrong.act == truncate:
		_, _ = w.Write(event[:len(event)/2])
		_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
	case wrong.act == duplicate:
		_, _ = w.Write(event)
	}
	if !p.strike(wrong) {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(event)
}

// stepOf returns the step of an event, the nth of its stream.
func stepOf(event []byte, n int) step {
	for _, s := range []struct {
		state string
		step  step
	}{{"COMPLETED", atFinish}, {"CANCELED", atFinish}, {"INPUT_REQUIRED", atQuestion}} {
		if bytes.Contains(event, []byte(`"TASK_STATE_`+s.state+`"`)) {
			return s.step
		}
	}
	if n == 3 {
		return atMiddle
	}
	return ""
}
