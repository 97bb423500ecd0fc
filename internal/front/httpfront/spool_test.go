package httpfront_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/membudget"
)

// sized is a front with a memory budget and a folder for large bodies.
func sized(t *testing.T, b *membudget.Budget, l limits.Limits) (f *httpfront.Front, dir string) {
	t.Helper()
	dir = t.TempDir()
	return httpfront.New(httpfront.Config{
		Engine: startEngineWith(t, engine.Config{Memory: b}, everyone()...), Auth: byKey(), SpoolDir: dir, Limits: l,
	}), dir
}

// unsized hides the length of a body, as a chunked request does.
type unsized struct{ io.Reader }

// post sends a body, whose length the front knows unless it is an unsized one.
func post(f http.Handler, path string, body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.ServeHTTP(w, request(path, body))
	return w
}

func request(path string, body io.Reader) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, body)
	r.Header.Set("Authorization", "Bearer ann")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Content-Type", "application/json")
	return r
}

// wantFree fails the test if memory or files of large bodies are left.
func wantFree(t *testing.T, b *membudget.Budget, dir string) {
	t.Helper()
	if s := b.Stats(); s.Used != 0 || s.Waiting != 0 {
		t.Errorf("the budget has %d bytes in use and %d waiting operations, want none", s.Used, s.Waiting)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// Bodies of every size arrive whole, with and without a length, in memory and through a file, and
// leave nothing behind.
func TestLargeBodiesArriveWhole(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*membudget.Budget{
		"room": {Max: 64 << 20}, "no room in memory": {Max: 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, dir := sized(t, b, limits.Limits{})
			for _, size := range []int{1 << 10, membudget.Small - 200, membudget.Small, 100 << 10, 1<<20 - 1, 1 << 20, 3 << 20} {
				text := strings.Repeat("0123456789abcdef", size/16)
				for kind, body := range map[string]io.Reader{
					"known": strings.NewReader(message(text)), "chunked": unsized{strings.NewReader(message(text))},
				} {
					w := post(f, "/v1/a2a/message:send", body)
					if w.Code != http.StatusOK || strings.Count(w.Body.String(), text) < 2 {
						t.Errorf("%d bytes, %s: %d %.200s", size, kind, w.Code, w.Body)
					}
				}
			}
			synctestFree(t, b, dir)
		})
	}
}

// synctestFree is wantFree once the runs have released their memory.
func synctestFree(t *testing.T, b *membudget.Budget, dir string) {
	t.Helper()
	h, err := b.AcquireLong(t.Context(), membudget.Request, 1<<62) // the whole budget
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
	wantFree(t, b, dir)
}

// Without memory, a large request is refused after the wait, in the shape of its binding and with
// the time after which to retry; a small one passes.
func TestNoMemoryForLargeBodies(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		"/a2a": rpc("SendMessage", message(strings.Repeat("x", 2<<20))), "/v1/a2a/message:send": message(strings.Repeat("x", 100<<10)),
		"/v1/a2a/message:stream": message(strings.Repeat("x", 2<<20)),
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &membudget.Budget{Max: 1 << 20}
				f, dir := sized(t, b, limits.Limits{})
				all, err := b.Acquire(t.Context(), 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				w := post(f, path, strings.NewReader(body))
				if waited := time.Since(began); waited != 10*time.Second {
					t.Errorf("refused after %v, want 10s", waited)
				}
				refusedCall(t, w, path, "5")
				if w := post(f, "/v1/a2a/message:send", strings.NewReader(message("small"))); w.Code != http.StatusOK {
					t.Errorf("a small request beside it: %d %s", w.Code, w.Body)
				}
				all.Release()
				if w := post(f, path, strings.NewReader(body)); w.Code != http.StatusOK {
					t.Errorf("after the others: %d %.200s", w.Code, w.Body)
				}
				synctest.Wait()
				wantFree(t, b, dir)
			})
		})
	}
}

// A message that is stored needs no memory for its request while its caller waits.
func TestStoredMessagesReleaseTheirMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &membudget.Budget{Max: 10 << 20}
		f, dir := sized(t, b, limits.Limits{})
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			post(f, "/v1/a2a/hold/message:send", strings.NewReader(message(strings.Repeat("x", 1<<20))))
		}()
		synctest.Wait()
		// Only the run is left, with six times the message.
		if s := b.Stats(); s.Used < 6<<20 || s.Used > 6<<20+64<<10 {
			t.Errorf("%d bytes are used while the agent works, want those of its run", s.Used)
		}
		<-answered // after engine.Config.MaxWait
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%d files are left, %v", len(left), err)
		}
	})
}

// endless is a body without an end. It fails the test if more is read before the answer than the
// limit justifies, or after it than the hub reads for a client that sends first.
type endless struct {
	t      *testing.T
	answer *httptest.ResponseRecorder
	read   int
	most   int
}

func (e *endless) Read(b []byte) (int, error) {
	most := e.most
	if e.answer.Flushed {
		most += 65 << 20
	}
	if e.read += len(b); e.read > most {
		e.t.Errorf("%d bytes were read, want at most %d", e.read, e.most)
		return 0, errors.New("too much")
	}
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// A body above the limit occupies no memory, whether it names its length or not. The test runs
// alone, because it measures.
func TestRefusedBodiesNeedNoMemory(t *testing.T) {
	const limit = 10 << 20
	b := &membudget.Budget{Max: 64 << 20}
	f, dir := sized(t, b, limits.Limits{Body: limit})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := httptest.NewRecorder()
	r := request("/a2a", &endless{t: t, answer: w, most: limit + 128<<10})
	f.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("an endless body: %d %.200s", w.Code, w.Body)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated for a body that was refused", n)
	}
	w = httptest.NewRecorder()
	r = request("/a2a", &endless{t: t, answer: w})
	r.ContentLength = limit + 1
	if f.ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that names its length: %d %.200s", w.Code, w.Body)
	}
	wantFree(t, b, dir)
}

// The files of large bodies have a limit, too.
func TestSpoolIsBounded(t *testing.T) {
	t.Parallel()
	b := &membudget.Budget{Max: 64 << 20}
	f, dir := sized(t, b, limits.Limits{Spool: 2 << 20})
	w := post(f, "/v1/a2a/message:send", strings.NewReader(message(strings.Repeat("x", 3<<20))))
	refusedCall(t, w, "/v1/a2a/message:send", "5")
	wantFree(t, b, dir)
	if w := post(f, "/v1/a2a/message:send", strings.NewReader(message(strings.Repeat("x", 3<<19)))); w.Code != http.StatusOK {
		t.Errorf("a body within the limit: %d %.200s", w.Code, w.Body)
	}
}

// Without a folder for its file, a large body is refused for now, and a small one passes.
func TestNoFolderForLargeBodies(t *testing.T) {
	t.Parallel()
	f := httpfront.New(httpfront.Config{
		Engine: startEngine(t, everyone()...), Auth: byKey(), SpoolDir: filepath.Join(t.TempDir(), "missing"),
	})
	w := post(f, "/v1/a2a/message:send", strings.NewReader(message(strings.Repeat("x", 2<<20))))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a large body: %d %v %.200s", w.Code, w.Header(), w.Body)
	}
	if strings.Contains(w.Body.String(), "missing") {
		t.Errorf("the answer names a folder of the hub: %s", w.Body)
	}
	if w := post(f, "/v1/a2a/message:send", strings.NewReader(message("x"))); w.Code != http.StatusOK {
		t.Errorf("a small body: %d %.200s", w.Code, w.Body)
	}
}
