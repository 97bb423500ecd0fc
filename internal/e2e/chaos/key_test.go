package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// keyed is a message with a key, and the task ids that were answered.
type keyed struct {
	key string
	ids []string
}

// send sends the message and notes the id that comes back.
func (k *keyed) send(ctx context.Context, url string) error {
	resp, err := post(ctx, url+"/v1/a2a/echo/message:send", message(k.key, k.key), "Idempotency-Key", k.key)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var f frame
	if err := json.Unmarshal(b, &f); err != nil || resp.StatusCode != http.StatusOK || f.Task == nil {
		return fmt.Errorf("send with key %s: status %d: %s", k.key, resp.StatusCode, b)
	}
	if k.ids = append(k.ids, f.Task.ID); !ended(f.Task.Status.State) {
		return fmt.Errorf("task %s is %s after a blocking call", f.Task.ID, f.Task.Status.State)
	}
	return nil
}

// keyLoad sends messages with keys until the hub dies; it returns all of them, answered
// or not.
func keyLoad(ctx context.Context, url string, serial, clients int) []*keyed {
	var mu sync.Mutex
	var all []*keyed
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				k := &keyed{key: fmt.Sprintf("k%d-c%d-%d", serial, c, i)}
				mu.Lock()
				all = append(all, k)
				mu.Unlock()
				if k.send(ctx, url) != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return all
}

// taskCount returns how many tasks the hub has.
func taskCount(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url + "/v1/a2a/tasks?pageSize=1") //nolint:noctx // the hub is up
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct {
		TotalSize int `json:"totalSize"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	return page.TotalSize
}

// TestKilledHubTakesAKeyOnce kills the hub at random moments while clients send messages
// with keys. Each comes back with its key, as a client does that has lost the answer:
// there is one task for each key, and it is the one that was answered before.
func TestKilledHubTakesAKeyOnce(t *testing.T) {
	n := max(kills(t)/2, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*15*time.Second)
	defer cancel()
	h := hubtest.Start(t, hubtest.Options{Config: "idempotency: {header: true}\n"})
	var all []*keyed
	unanswered := 0
	for k := range n {
		killed, done := context.WithCancel(ctx)
		time.AfterFunc(time.Duration(rand.IntN(200))*time.Millisecond, func() {
			h.Kill()
			done()
		})
		sent := keyLoad(killed, h.URL(), k, 8)
		<-killed.Done()
		http.DefaultClient.CloseIdleConnections()
		h.Restart()
		for _, s := range sent {
			if len(s.ids) == 0 {
				unanswered++
			}
			for range 2 {
				if err := s.send(ctx, h.URL()); err != nil {
					t.Errorf("kill %d: %v", k, err)
				}
			}
		}
		if all = append(all, sent...); t.Failed() {
			t.FailNow()
		}
	}
	oneTaskEach(t, all)
	if got := taskCount(t, h.URL()); got != len(all) {
		t.Errorf("the hub has %d tasks for %d keys", got, len(all))
	}
	t.Logf("%d kills: %d keys, %d of them unanswered at a kill, one task each", n, len(all), unanswered)
	if len(all) == 0 || unanswered == 0 {
		t.Error("the load was too small to prove anything")
	}
}

// oneTaskEach fails the test unless each key was answered with one task of its own.
func oneTaskEach(t *testing.T, all []*keyed) {
	t.Helper()
	keys := map[string]string{}
	for _, s := range all {
		for _, id := range s.ids {
			if id != s.ids[0] {
				t.Errorf("key %s has the tasks %v", s.key, s.ids)
			}
			if other, there := keys[id]; there && other != s.key {
				t.Errorf("task %s is that of %s and %s", id, other, s.key)
			}
			keys[id] = s.key
		}
	}
}
