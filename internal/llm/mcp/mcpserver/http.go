package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	// Logger receives records for operators. If nil, nothing is logged.
	Logger *slog.Logger

	mu     sync.Mutex // guards the fields below
	guests map[string]*guest
	closed bool
	wg     sync.WaitGroup
}

// guest is the state of one caller.
type guest struct {
	// ready is closed when the fields below are set.
	ready chan struct{}
	desk  *desk
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
	g, status, wrong := h.enter(r)
	if wrong != "" {
		refuse(w, status, wrong)
		return
	}
	defer h.leave(g)
	rc := http.NewResponseController(w)
	if status, wrong := readBody(w, r, rc, int64(g.desk.Limits.Message)); wrong != "" {
		refuse(w, status, wrong)
		return
	}
	w = &patient{w, rc, cmp.Or(h.WriteTime, 30*time.Second)}
	if r.Header.Get(headerVersion) >= firstModern {
		g.single.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodPost && r.Header.Get(headerSession) == "" && g.full(cmp.Or(h.Sessions, 32)) {
		refuse(w, http.StatusTooManyRequests, "too many sessions; end one with DELETE")
		return
	}
	g.sessions.ServeHTTP(w, r)
}

// full reports whether the caller has reached the limit of sessions.
func (g *guest) full(limit int) bool {
	n := 0
	for range g.desk.mcp.Sessions() {
		n++
	}
	return n >= limit
}

// enter returns the guest of a request, or the error to answer with.
func (h *Handler) enter(r *http.Request) (g *guest, status int, wrong string) {
	name := h.Caller(r)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, http.StatusServiceUnavailable, errClosed.Error()
	}
	g, there := h.guests[name]
	if !there {
		for h.dismissLocked(cmp.Or(h.Idle, time.Hour)) {
		}
		if len(h.guests) >= cmp.Or(h.Callers, 1000) && !h.dismissLocked(0) {
			h.mu.Unlock()
			return nil, http.StatusServiceUnavailable, "too many callers; try again later"
		}
		g = &guest{ready: make(chan struct{})}
		if h.guests == nil {
			h.guests = make(map[string]*guest)
		}
		h.guests[name] = g
	}
	g.requests++
	h.mu.Unlock()
	if there {
		<-g.ready
	} else {
		h.receive(g, r)
	}
	return g, 0, ""
}

// receive starts a server for a new guest.
func (h *Handler) receive(g *guest, r *http.Request) {
	defer close(g.ready)
	g.desk = h.Server(r).open(r.Context())
	one := func(*http.Request) *mcp.Server { return g.desk.mcp }
	options := mcp.StreamableHTTPOptions{
		// The surrounding server checks Host and Origin.
		DisableLocalhostProtection: true,
		MaxRequestBodyBytes:        -1, // the body was read within its limit
	}
	single := options
	single.Stateless, single.PropagateRequestCancellation = true, true
	g.single = mcp.NewStreamableHTTPHandler(one, &single)
	options.SessionTimeout = cmp.Or(h.Idle, time.Hour)
	options.EventStore = mcp.NewMemoryEventStore(nil)
	g.sessions = mcp.NewStreamableHTTPHandler(one, &options)
}

// leave counts the end of a request.
func (h *Handler) leave(g *guest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g.requests--
	g.last = time.Now()
}

// dismissLocked closes the caller that has been idle longest, if any caller has no open
// request, no session, and has been idle for at least quiet.
func (h *Handler) dismissLocked(quiet time.Duration) bool {
	var who string
	for name, g := range h.guests {
		if g.requests > 0 || time.Since(g.last) < quiet || g.desk.busy() || g.full(1) {
			continue
		}
		if who == "" || g.last.Before(h.guests[who].last) {
			who = name
		}
	}
	if who == "" {
		return false
	}
	g := h.guests[who]
	delete(h.guests, who)
	h.wg.Go(g.desk.close)
	return true
}

// Close ends all calls and sessions, and waits until they have ended. Later requests are
// refused.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	guests := h.guests
	h.guests = nil
	h.mu.Unlock()
	for _, g := range guests {
		h.wg.Go(func() {
			<-g.ready
			g.desk.close()
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

// patient is a ResponseWriter that disconnects a client which does not accept writes in time.
type patient struct {
	http.ResponseWriter

	rc   *http.ResponseController
	time time.Duration
}

// Write implements io.Writer.
func (p *patient) Write(b []byte) (int, error) {
	_ = p.rc.SetWriteDeadline(time.Now().Add(p.time))
	return p.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (p *patient) Flush() { _ = p.rc.Flush() }

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
