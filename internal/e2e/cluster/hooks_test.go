package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// hooks is a receiver of webhooks. Each path belongs to one job.
type hooks struct {
	server *httptest.Server

	mu    sync.Mutex // guards the fields below
	got   map[string][]string
	times map[string][]time.Time
	n     int           // notifications of all jobs
	more  chan struct{} // closed at the next notification
}

func startHooks(t *testing.T) *hooks {
	h := &hooks{got: map[string][]string{}, times: map[string][]time.Time{}, more: make(chan struct{})}
	h.server = httptest.NewServer(h)
	t.Cleanup(func() { h.server.CloseClientConnections(); h.server.Close() })
	return h
}

// ServeHTTP implements http.Handler.
func (h *hooks) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the hub was killed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/")
	h.got[name] = append(h.got[name], string(body))
	h.times[name] = append(h.times[name], time.Now())
	h.n++
	close(h.more)
	h.more = make(chan struct{})
}

// await waits until a job's webhook has got the last event of its log, and returns all
// notifications.
func (h *hooks) await(ctx context.Context, name string, log []hubtest.Event) ([]string, error) {
	for {
		h.mu.Lock()
		got, more := slices.Clone(h.got[name]), h.more
		h.mu.Unlock()
		if slices.Contains(got, log[len(log)-1].Data) {
			return got, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return got, fmt.Errorf("%w: webhook of %s: the last event does not arrive; %d notifications for %d events", errViolation, name, len(got), len(log))
		}
	}
}

// count returns the number of notifications of all jobs.
func (h *hooks) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}

// reach waits until there are n notifications.
func (h *hooks) reach(ctx context.Context, n int) error {
	for {
		h.mu.Lock()
		got, more := h.n, h.more
		h.mu.Unlock()
		if got >= n {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("%w: %d of %d notifications have arrived", errViolation, got, n)
		}
	}
}

// longestPause returns the longest time between two notifications of a job, of which the later one is after a
// moment.
func (h *hooks) longestPause(name string, after time.Time) (most time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	times := h.times[name]
	for i := 1; i < len(times); i++ {
		if times[i].After(after) {
			most = max(most, times[i].Sub(times[i-1]))
		}
	}
	return most
}

// checkHandovers checks that a webhook went back to an event that it had before at most so many times. Zero means
// that each event was sent once.
func checkHandovers(got []string, log []hubtest.Event, most int) error {
	if most == 0 && len(got) > len(log) {
		return fmt.Errorf("%w: %d notifications for %d events: %v", errViolation, len(got), len(log), versionsOf(got, log))
	}
	back, at := 0, -1
	for _, body := range got {
		if at+1 < len(log) && log[at+1].Data == body {
			at++
			continue
		}
		if i := slices.IndexFunc(log, func(ev hubtest.Event) bool { return ev.Data == body }); i != at {
			back++
			at = i
		}
	}
	if back > most {
		return fmt.Errorf("%w: the webhook went back %d times, %d at most are allowed: %v", errViolation, back, most, versionsOf(got, log))
	}
	return nil
}

// checkNotifications checks that each event of a log was sent to the webhook, in order.
// Repetitions are allowed.
func checkNotifications(got []string, log []hubtest.Event) error {
	next := 0
	for _, body := range got {
		if next < len(log) && log[next].Data == body { // two events may have the same data
			next++
			continue
		}
		switch i := slices.IndexFunc(log, func(ev hubtest.Event) bool { return ev.Data == body }); {
		case i < 0:
			return fmt.Errorf("%w: a notification is no event of the log: %s", errViolation, body)
		case i > next:
			return fmt.Errorf("%w: the notification of event %s comes before that of event %s; all in their order: %v", errViolation, log[i].ID, log[next].ID, versionsOf(got, log))
		}
	}
	if next < len(log) {
		return fmt.Errorf("%w: the webhook got %d of %d events", errViolation, next, len(log))
	}
	return nil
}

// versionsOf returns the versions of notifications.
func versionsOf(got []string, log []hubtest.Event) (all []string) {
	for _, body := range got {
		for _, ev := range log {
			if ev.Data == body {
				all = append(all, ev.ID)
			}
		}
	}
	return all
}
