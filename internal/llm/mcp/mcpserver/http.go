package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/lazy"
)

// Handler is the streamable HTTP endpoint. Its fields must not change once it serves. It does
// not authenticate callers, and checks neither Host nor Origin: the surrounding server does.
type Handler struct {
	// Caller returns the name of a request's caller. Requests with the same name share sessions
	// and a Server. It is required.
	Caller func(*http.Request) string
	// Server returns the Server for a caller, given one of its requests. It is required.
	Server func(*http.Request) *Server
	// Sessions is the largest number of sessions of a caller. The default is 32.
	Sessions int
	// Callers is the largest number of concurrent callers. The default is 1000.
	Callers int
	// Idle is the time after which a session without messages is closed. The default is 1 h.
	Idle time.Duration
	// WriteTime is the time that a client may take to accept a write. The default is 30 s.
	WriteTime time.Duration

	mu      sync.Mutex // guards the fields below
	callers map[string]*caller
	closed  bool
	wg      sync.WaitGroup
}

// caller is the state of one caller.
type caller struct {
	// ready is closed when the fields below are set.
	ready   chan struct{}
	service *service
	// sessions serves protocol versions with sessions, single the others.
	sessions, single http.Handler

	// Guarded by Handler.mu: the number of open requests, and the time of the last one.
	requests int
	last     time.Time
}

const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, status, wrong := h.acquire(r)
	if wrong != "" {
		refuse(w, status, wrong)
		return
	}
	defer h.release(c)
	rc := http.NewResponseController(w)
	if status, wrong := readBody(w, r, rc, int64(c.service.Limits.Message)); wrong != "" {
		refuse(w, status, wrong)
		return
	}
	w = &deadlineWriter{w, rc, cmp.Or(h.WriteTime, 30*time.Second)}
	if r.Header.Get(headerVersion) >= firstModern {
		c.single.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodPost && r.Header.Get(headerSession) == "" && c.full(cmp.Or(h.Sessions, 32)) {
		refuse(w, http.StatusTooManyRequests, "too many sessions; end one with DELETE")
		return
	}
	c.sessions.ServeHTTP(w, r)
}

// full reports whether the caller has reached the limit of sessions.
func (c *caller) full(limit int) bool {
	n := 0
	for range c.service.mcp.Sessions() {
		n++
	}
	return n >= limit
}

// acquire returns the caller of a request, or the error to answer with.
func (h *Handler) acquire(r *http.Request) (c *caller, status int, wrong string) {
	name := h.Caller(r)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, http.StatusServiceUnavailable, errClosed.Error()
	}
	c, there := h.callers[name]
	if !there {
		for h.evictIdleLocked(cmp.Or(h.Idle, time.Hour)) {
		}
		if len(h.callers) >= cmp.Or(h.Callers, 1000) && !h.evictIdleLocked(0) {
			h.mu.Unlock()
			return nil, http.StatusServiceUnavailable, "too many callers; try again later"
		}
		c = &caller{ready: make(chan struct{})}
		lazy.Put(&h.callers, name, c)
	}
	c.requests++
	h.mu.Unlock()
	if there {
		<-c.ready
	} else {
		h.start(c, r)
	}
	return c, 0, ""
}

func (h *Handler) start(c *caller, r *http.Request) {
	defer close(c.ready)
	c.service = h.Server(r).open(r.Context())
	one := func(*http.Request) *mcp.Server { return c.service.mcp }
	options := mcp.StreamableHTTPOptions{
		// The surrounding server checks Host and Origin.
		DisableLocalhostProtection: true,
		MaxRequestBodyBytes:        -1, // the body was read within its limit
	}
	single := options
	single.Stateless, single.PropagateRequestCancellation = true, true
	c.single = mcp.NewStreamableHTTPHandler(one, &single)
	options.SessionTimeout = cmp.Or(h.Idle, time.Hour)
	options.EventStore = mcp.NewMemoryEventStore(nil)
	c.sessions = mcp.NewStreamableHTTPHandler(one, &options)
}

// release counts the end of a request.
func (h *Handler) release(c *caller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.requests--
	c.last = time.Now()
}

// evictIdleLocked closes the caller that has been idle longest, if any caller has no open
// request, no session, and has been idle for at least quiet.
func (h *Handler) evictIdleLocked(minIdle time.Duration) bool {
	var oldest string
	for name, c := range h.callers {
		if c.requests > 0 || time.Since(c.last) < minIdle || c.service.busy() || c.full(1) {
			continue
		}
		if oldest == "" || c.last.Before(h.callers[oldest].last) {
			oldest = name
		}
	}
	if oldest == "" {
		return false
	}
	c := h.callers[oldest]
	delete(h.callers, oldest)
	h.wg.Go(c.service.close)
	return true
}

// Close ends all calls and sessions, and waits until they have ended. Later requests are
// refused.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	callers := h.callers
	h.callers = nil
	h.mu.Unlock()
	for _, c := range callers {
		h.wg.Go(func() {
			<-c.ready
			c.service.close()
		})
	}
	h.wg.Wait()
}

// readBody reads the body of a request first, so that the read deadline does not apply to the
// response.
func readBody(w http.ResponseWriter, r *http.Request, rc *http.ResponseController, limit int64) (status int, wrong string) {
	if r.Method != http.MethodPost {
		return 0, ""
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the message has more than %d bytes", limit)
	case err != nil:
		return http.StatusBadRequest, "the body did not arrive"
	case !json.Valid(b):
		return http.StatusBadRequest, "the body is not JSON"
	}
	_ = rc.SetReadDeadline(time.Time{}) // without deadlines, none was set
	r.Body = io.NopCloser(bytes.NewReader(b))
	return 0, ""
}

// refuse answers with an error that every MCP client can read.
func refuse(w http.ResponseWriter, status int, text string) {
	code := jsonrpc.CodeInvalidRequest
	if status == http.StatusBadRequest {
		code = jsonrpc.CodeParseError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text},
	})
}

// deadlineWriter is a ResponseWriter that disconnects a client which does not accept writes in
// time.
type deadlineWriter struct {
	http.ResponseWriter

	rc   *http.ResponseController
	time time.Duration
}

// Write implements io.Writer.
func (w *deadlineWriter) Write(b []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.time))
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *deadlineWriter) Flush() { _ = w.rc.Flush() }

// Unwrap is for http.ResponseController.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
