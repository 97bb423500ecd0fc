package adminapi_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// lists counts the lists of tasks that are read.
type lists struct {
	*memstore.Store
	n atomic.Int64
}

func (l *lists) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	l.n.Add(1)
	return l.Store.List(ctx, q)
}

// written is the answer of a stream. It may be read while the stream is written.
type written struct {
	mu     sync.Mutex // guards the fields below
	header http.Header
	body   bytes.Buffer
}

func (w *written) Header() http.Header { return w.header }

func (w *written) WriteHeader(int) {}

func (w *written) Flush() {}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.Write(b)
}

// last returns the data of the last event, and the number of events.
func (w *written) last() (string, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Split(w.body.String(), "data: ")
	data, _, _ := strings.Cut(all[len(all)-1], "\n")
	return data, len(all) - 1
}

// TestCountStreams follows counts by fifty streams while tasks change a hundred times a second. All of
// them show the last change, and together they cost one count a second for each selection of tasks.
func TestCountStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &lists{Store: new(memstore.Store)}
		h := &adminapi.Handler{Hub: newHub(), Tasks: s, Events: &events.Recorder{Store: s}}
		watched := h.Events.Watched(s)
		var streams []*written
		var work sync.WaitGroup
		follow := func(p *auth.Principal, query string) {
			w := &written{header: make(http.Header)}
			streams = append(streams, w)
			r := httptest.NewRequestWithContext(auth.WithPrincipal(t.Context(), p), "GET", "http://127.0.0.1/api/v1/counts/events"+query, nil)
			work.Go(func() { h.ServeHTTP(w, r) })
		}
		for range 25 {
			follow(boss, "?scope=all")
			follow(clerk, "")
		}
		synctest.Wait()
		const seconds = 10
		for i := range 100 * seconds {
			tasktest.Append(t, watched, tasktest.NewHead(task.Owner("clerk"), a2a.TaskID(fmt.Sprint("t", i))), tasktest.Created(tasktest.At(0), "x"))
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want := fmt.Sprintf(`{"counts":{"TASK_STATE_SUBMITTED":%d},"total":%d}`, 100*seconds, 100*seconds)
		for i, w := range streams {
			if got, n := w.last(); got != want || n > seconds+3 {
				t.Errorf("stream %d has %s as the last of %d events, want %s", i, got, n, want)
			}
		}
		const states, selections = 8, 2
		if n := s.n.Load(); n > states*selections*(seconds+3) {
			t.Errorf("50 streams have read %d lists in %d s, want %d a second", n, seconds, states*selections)
		}
		h.Events.EndReaders()
		work.Wait() // the streams end with the hub
	})
}

// TestCountStreamsOfOthers checks who may follow which counts, and how many streams there may be.
func TestCountStreamsOfOthers(t *testing.T) {
	t.Parallel()
	s := new(memstore.Store)
	h := &adminapi.Handler{Hub: newHub(), Tasks: s, Events: &events.Recorder{Store: s}}
	for query, want := range map[string]int{"?scope=all": 403, "?scope=all&owner=anna": 403, "?owner=anna": 400, "?scope=mine": 400} {
		if got := as(t, h, clerk, "GET /api/v1/counts/events"+query, ""); got.code != want {
			t.Errorf("%s = %d %s, want %d", query, got.code, got.body, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var work sync.WaitGroup
		for range 256 {
			r := httptest.NewRequestWithContext(auth.WithPrincipal(t.Context(), clerk), "GET", "http://127.0.0.1/api/v1/counts/events", nil)
			work.Go(func() { h.ServeHTTP(&written{header: make(http.Header)}, r) })
		}
		synctest.Wait()
		if got := as(t, h, clerk, "GET /api/v1/counts/events", ""); got.code != 503 || got.header.Get("Retry-After") == "" {
			t.Errorf("stream 257 = %d %s, want 503", got.code, got.body)
		}
		h.Events.EndReaders()
		work.Wait()
	})
}
