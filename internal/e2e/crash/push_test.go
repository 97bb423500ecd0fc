package crash

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// webhook is a receiver that hangs, then resets and fails, then recovers.
type webhook struct {
	t *testing.T

	mu sync.Mutex // guards the fields below
	// hangs makes requests hang; bad is the number of requests to reset or fail after that.
	hangs bool
	bad   int
	// hangsThen makes all requests hang again once the awaited notification was accepted.
	hangsThen bool
	// took holds the notifications that were answered with 200, by path, in order; tried holds
	// all of them.
	took, tried map[string][]string
	// wakes are closed when the number in after was accepted at a path.
	wakes map[string]chan struct{}
	after map[string]int
	// first is called by the first request.
	first func()
}

// ServeHTTP implements http.Handler.
func (w *webhook) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return // the hub was killed
	}
	w.mu.Lock()
	w.first()
	w.tried[r.URL.Path] = append(w.tried[r.URL.Path], string(b))
	hangs, bad := w.hangs, w.bad
	if !hangs && bad > 0 {
		w.bad--
	}
	if !hangs && bad == 0 {
		w.took[r.URL.Path] = append(w.took[r.URL.Path], string(b))
		w.wakeLocked(r.URL.Path)
	}
	w.mu.Unlock()
	switch {
	case hangs:
		<-r.Context().Done()
	case bad%2 == 1:
		panic(http.ErrAbortHandler) // resets the connection
	case bad > 0:
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (w *webhook) wakeLocked(path string) {
	if c := w.wakes[path]; c != nil && len(w.took[path]) >= w.after[path] {
		close(c)
		delete(w.wakes, path)
		w.hangs = w.hangsThen
	}
}

// taken returns a channel that is closed when n notifications were accepted at path.
func (w *webhook) taken(path string, n int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{})
	w.wakes[path], w.after[path] = c, n
	w.wakeLocked(path)
	return c
}

// recover ends the hanging. If hangsThen is set, requests hang again after the awaited
// notification was accepted. The next bad requests are still reset or refused.
func (w *webhook) recover(bad int, hangsThen bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hangs, w.bad, w.hangsThen = false, bad, hangsThen
}

// await waits for c.
func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
	}
}

// check compares the notifications at a path with the expected ones: all frames except the
// first. A notification may be repeated, but none may come too early.
func (w *webhook) check(path string, frames []string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	index := make(map[string]int)
	for i, f := range frames {
		index[f] = i
	}
	next := 0
	for n, body := range w.tried[path] {
		i, known := index[body]
		switch {
		case !known:
			w.t.Fatalf("%s: notification %d is none of the stream: %.200s", path, n, body)
		case i > next+1:
			w.t.Fatalf("%s: notification %d is number %d of the stream, after number %d", path, n, i, next)
		}
		next = max(next, i)
	}
	took := make(map[string]bool)
	for _, body := range w.took[path] {
		took[body] = true
	}
	for i := 1; i < len(frames); i++ {
		if !took[frames[i]] {
			w.t.Fatalf("%s: number %d of the stream was never taken: %.200s", path, i, frames[i])
		}
	}
}

// TestWebhooksSurviveKills: a receiver that hangs, resets, fails and recovers gets every
// transition, in order, through two kills of the hub. The stream of the task does not wait for
// the receiver.
func TestWebhooksSurviveKills(t *testing.T) {
	t.Parallel()
	const chunks = 1000
	tried := make(chan struct{})
	hook := &webhook{
		t: t, hangs: true, first: sync.OnceFunc(func() { close(tried) }),
		took: make(map[string][]string), tried: make(map[string][]string),
		wakes: make(map[string]chan struct{}), after: make(map[string]int),
	}
	srv := httptest.NewServer(hook)
	defer srv.Close()
	defer srv.CloseClientConnections()
	h := hubtest.Start(t, hubtest.Options{Flags: []string{"--push-allow", "loopback"}})
	frames := make(map[string][]string)
	for _, path := range []string{"/one", "/two"} {
		began := time.Now()
		frames[path] = streamWithHook(t, h, srv.URL+path, chunks)
		t.Logf("a stream of %d frames took %v while the webhook hung", len(frames[path]), time.Since(began))
	}
	await(t, "the first try", tried)
	hook.mu.Lock()
	if len(hook.took) != 0 {
		t.Errorf("%d webhooks took something while they hung", len(hook.took))
	}
	hook.mu.Unlock()
	h.Kill()

	hook.recover(3, true) // so that the next kill comes in the middle
	some := hook.taken("/one", chunks/3)
	h.Restart()
	await(t, "a third of the notifications", some)
	h.Kill()
	hook.recover(0, false)

	h.Restart()
	for path, all := range frames {
		awaitLast(t, hook, path, all[len(all)-1])
		hook.check(path, all)
	}
}

// awaitLast waits until a path has accepted the last notification.
func awaitLast(t *testing.T, w *webhook, path, last string) {
	t.Helper()
	for n := 1; ; n++ {
		await(t, "the last notification of "+path, w.taken(path, n))
		w.mu.Lock()
		took := w.took[path]
		w.mu.Unlock()
		if n = max(n, len(took)); took[len(took)-1] == last {
			return
		}
	}
}

// streamWithHook makes an agent stream chunks to the end, with a webhook at url in the message.
// It returns the frames.
func streamWithHook(t *testing.T, h *hubtest.Hub, url string, chunks int) []string {
	t.Helper()
	words := make([]string, chunks)
	for i := range words {
		words[i] = fmt.Sprint("w", i)
	}
	body := fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]},`+
		`"configuration":{"taskPushNotificationConfig":{"url":%q,"token":"t"}}}`, strings.Join(words, " "), url)
	r := reader{}
	err := r.read(t.Context(), hubtest.Request{
		URL: h.URL() + "/v1/a2a/echo/message:stream", Body: body, Header: []string{"A2A-Version", "1.0"},
	}, func() bool { return false })
	if err != io.EOF || r.state != "COMPLETED" {
		t.Fatalf("the stream ended after %d frames with %v", len(r.events), err)
	}
	var frames []string
	for _, ev := range r.events {
		frames = append(frames, ev.Data)
	}
	return frames
}
