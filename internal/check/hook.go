package check

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/wake"
)

// hooks receives requests to webhooks. Requests to different paths are kept apart.
type hooks struct {
	base   string // the URL for agents
	secret string // the registered credential
	server *http.Server
	done   sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	all     map[string][]*delivery
	arrived wake.Broadcast // at each request
}

// The largest notification, and the number of notifications to keep for each webhook.
const (
	maxDelivery   = 1 << 20
	maxDeliveries = 100
)

// listenHooks starts receiving on l.
func listenHooks(l net.Listener, base string) *hooks {
	h := &hooks{base: base, secret: uuid.NewString(), all: map[string][]*delivery{}}
	h.server = &http.Server{Handler: http.HandlerFunc(h.receive), ReadTimeout: wire.DefaultTimeout}
	h.done.Go(func() { _ = h.server.Serve(l) }) // it only reports that it was closed
	return h
}

// close stops receiving.
func (h *hooks) close() error {
	err := h.server.Close()
	h.done.Wait()
	return err
}

// receive stores the first requests to each path.
func (h *hooks) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	x := &wire.Exchange{Op: "webhook", Sent: fmt.Sprintf("%s %s", r.Method, r.URL.Path), Body: body}
	for name, values := range r.Header {
		for _, v := range values {
			x.Sent += "\n" + name + ": " + v
		}
	}
	x.Sent += "\n\n" + string(body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.all[r.URL.Path]); n < maxDeliveries {
		h.all[r.URL.Path] = append(h.all[r.URL.Path], &delivery{header: r.Header, body: body, shown: x, secret: h.secret})
	}
	h.arrived.Send()
}

// deliveries returns the requests to path so far.
func (h *hooks) deliveries(path string) []*delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all[path])
}

// wait returns the first request to path, or nil if none arrives in time.
func (h *hooks) wait(ctx context.Context, path string, limit time.Duration) *delivery {
	if limit <= 0 {
		limit = wire.DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		h.mu.Lock()
		next := h.arrived.Next()
		h.mu.Unlock()
		if got := h.deliveries(path); len(got) > 0 {
			return got[0]
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
}
