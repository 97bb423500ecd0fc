package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/llm/mcp/stdio"
	"github.com/parley-a2a/parley/internal/membudget"
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
	// KeepAlive is the time after which a quiet answer sends a comment. The default is 15 s.
	KeepAlive time.Duration

	mu      sync.Mutex // guards the fields below
	callers map[string]*caller
	closed  bool
	wg      sync.WaitGroup

	exchanges exchanges

	once sync.Once
	// memory is that of answers of the hub until the client has read the result: half of that of the hub's
	// requests, and beside it, so that slow clients of MCP delay no others.
	memory *membudget.Budget
	// results and events are kept for all callers.
	results results
	events  *mcp.MemoryEventStore
}

// maxEvents is the size in bytes of the events that are kept for clients that reconnect.
const maxEvents = 16 << 20

// init begins to count the memory of answers if the hub does.
func (h *Handler) init(ctx context.Context) {
	if b := membudget.Of(ctx); b != nil {
		h.memory = &membudget.Budget{Max: b.Stats().Max / 2}
	}
	h.events = mcp.NewMemoryEventStore(nil)
	h.events.SetMaxBytes(maxEvents)
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
	h.once.Do(func() { h.init(r.Context()) })
	c, status, wrong := h.acquire(r)
	if wrong != "" {
		refuse(w, status, wrong)
		return
	}
	defer h.release(c)
	rc := http.NewResponseController(w)
	b, status, wrong := readBody(w, r, rc, int64(c.service.Limits.Message))
	if wrong != "" {
		refuse(w, status, wrong)
		return
	}
	if id, err := checkIDs(b); err != nil {
		refuseMessage(w, http.StatusBadRequest, id, err)
		return
	}
	x := &exchange{
		w: w, rc: rc, time: cmp.Or(h.WriteTime, 30*time.Second), quiet: cmp.Or(h.KeepAlive, 15*time.Second), header: make(http.Header),
	}
	defer h.exchanges.add(r, x)()
	w = x
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
		if h.callers == nil {
			h.callers = make(map[string]*caller)
		}
		h.callers[name] = c
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
	c.service.exchanges, c.service.memory, c.service.results = &h.exchanges, h.memory, &h.results
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
	options.EventStore = h.events
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
func readBody(w http.ResponseWriter, r *http.Request, rc *http.ResponseController, limit int64) (b []byte, status int, wrong string) {
	if r.Method != http.MethodPost {
		return nil, 0, ""
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, fmt.Sprintf("the message has more than %d bytes", limit)
	case errors.Is(err, apierror.ErrExhausted):
		w.Header().Set("Retry-After", "5")
		return nil, http.StatusTooManyRequests, err.Error()
	case err != nil:
		return nil, http.StatusBadRequest, "the body did not arrive"
	case !json.Valid(b):
		return nil, http.StatusBadRequest, "the body is not JSON"
	}
	_ = rc.SetReadDeadline(time.Time{}) // without deadlines, none was set
	r.Body = io.NopCloser(bytes.NewReader(b))
	return b, 0, ""
}

// checkIDs returns the error of the first message whose id would come back changed.
func checkIDs(b []byte) (id json.RawMessage, wrong *jsonrpc.Error) {
	all := []json.RawMessage{b}
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' && json.Unmarshal(b, &all) != nil {
		return nil, nil
	}
	for _, message := range all {
		if id, wrong := stdio.CheckID(message); wrong != nil {
			return id, wrong
		}
	}
	return nil, nil
}

// refuse answers with an error that every MCP client can read.
func refuse(w http.ResponseWriter, status int, text string) {
	var code int64 = jsonrpc.CodeInvalidRequest
	if status == http.StatusBadRequest {
		code = jsonrpc.CodeParseError
	}
	refuseMessage(w, status, nil, &jsonrpc.Error{Code: code, Message: text})
}

// refuseMessage answers the message with an id, or nil, with an error.
func refuseMessage(w http.ResponseWriter, status int, id json.RawMessage, wrong *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": wrong})
}
