package mcpserver

import (
	"crypto/rand"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/sse"
)

// exchange is the answer to a request. An answer of events sends its head when its call begins, and
// comments while it has no event, so that proxies and clients see that it is alive. A client that does
// not accept a write in time is disconnected.
type exchange struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	time  time.Duration // for a write
	quiet time.Duration // between comments

	// header is that of the SDK, which sets it before the call begins.
	header http.Header

	mu    sync.Mutex // guards the fields below, and writing
	began bool
	ended bool
	// quieted ends the comments; nil unless the answer has events.
	quieted func()
	// accounts are the memory of the results in the answer.
	accounts []*membudget.Account
}

// Header implements http.ResponseWriter.
func (x *exchange) Header() http.Header { return x.header }

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.beginLocked(status)
}

func (x *exchange) beginLocked(status int) {
	if x.began {
		return
	}
	x.began = true
	maps.Copy(x.w.Header(), x.header)
	x.w.WriteHeader(status)
	if x.events() {
		x.quieted = sse.Repeat(x.quiet, func() bool {
			x.mu.Lock()
			defer x.mu.Unlock()
			_, err := x.writeLocked(sse.Comment)
			if err == nil {
				err = x.rc.Flush()
			}
			return err == nil
		})
	}
}

func (x *exchange) events() bool { return x.header.Get("Content-Type") == "text/event-stream" }

// Write implements io.Writer.
func (x *exchange) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.beginLocked(http.StatusOK)
	return x.writeLocked(b)
}

func (x *exchange) writeLocked(b []byte) (int, error) {
	_ = x.rc.SetWriteDeadline(time.Now().Add(x.time)) // without deadlines, none is set
	return x.w.Write(b)
}

// Flush implements http.Flusher.
func (x *exchange) Flush() {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.rc.Flush()
}

// called sends the head of an answer of events, unless the exchange has ended.
func (x *exchange) called() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended && x.events() {
		x.beginLocked(http.StatusOK)
		_ = x.rc.Flush()
	}
}

// charge releases an account at the end of the exchange.
func (x *exchange) charge(a *membudget.Account) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		a.Release()
		return
	}
	x.accounts = append(x.accounts, a)
}

// end ends the comments, and releases the memory of the answer.
func (x *exchange) end() {
	x.mu.Lock()
	x.ended = true
	quieted, accounts := x.quieted, x.accounts
	x.mu.Unlock()
	for _, a := range accounts {
		a.Release()
	}
	if quieted != nil {
		quieted()
	}
}

// exchanges finds the exchange of a call: the SDK passes the header of its request to the handler of the
// call, and nothing else of it.
type exchanges struct{ open sync.Map }

// headerExchange names the exchange of a request inside the process.
const headerExchange = "X-Parley-Exchange"

// add notes the exchange of a request until remove is called.
func (s *exchanges) add(r *http.Request, x *exchange) (remove func()) {
	name := rand.Text()
	r.Header.Set(headerExchange, name)
	s.open.Store(name, x)
	return func() {
		s.open.Delete(name)
		x.end()
	}
}

// begin sends the head of the answer to a call that is at work. The SDK may answer earlier errors with
// another status.
func (s *exchanges) begin(header http.Header) {
	if x, ok := s.open.Load(header.Get(headerExchange)); ok {
		x.(*exchange).called()
	}
}

// release releases an account at the end of an exchange, or now if that has ended or there is none. s may be
// nil.
func (s *exchanges) release(extra *mcp.RequestExtra, a *membudget.Account) {
	if a == nil {
		return
	}
	if extra != nil {
		if x, ok := s.open.Load(extra.Header.Get(headerExchange)); ok {
			x.(*exchange).charge(a)
			return
		}
	}
	a.Release()
}
