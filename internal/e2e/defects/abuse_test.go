package defects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/task"
)

const (
	crowdSize = 200
	crowdTime = 4 * time.Second
)

// crowd is many callers of two users, which use their own and each other's tasks at random.
type crowd struct {
	h *hub

	mu   sync.Mutex // guards the fields below
	ids  map[string][]string
	done map[string]int // counts by operation and outcome
}

var users = []string{"ann", "bob"}

func other(user string) string {
	if user == users[0] {
		return users[1]
	}
	return users[0]
}

// saw records a task of a user.
func (c *crowd) saw(user, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids[user] = append(c.ids[user], id)
}

// some returns a random task of a user, most often a recent one. Before the first it returns
// one that does not exist.
func (c *crowd) some(user string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := c.ids[user]
	if len(ids) == 0 {
		return "none-yet"
	}
	if recent := ids[max(0, len(ids)-50):]; rand.IntN(4) > 0 {
		ids = recent
	}
	return ids[rand.IntN(len(ids))]
}

// count counts an outcome.
func (c *crowd) count(what string, code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[fmt.Sprintf("%s %d", what, code)]++
}

// deed is one operation of a caller.
type deed struct {
	name string
	// codes are the allowed statuses.
	codes []int
	call  func(c *crowd, user string) call
	// endless is set if it may last until another request ends it.
	endless bool
}

func at(format string, id string) string { return "/v1/a2a/tasks/" + fmt.Sprintf(format, id) }

// deeds are chosen at random. An operation on a foreign task must return not found.
var deeds = []deed{
	{"send", []int{200}, func(c *crowd, user string) call {
		agent := []string{"echo", "ask", "nap", "late", "greet", "leaky", "slowcancel", "bomb"}[rand.IntN(8)]
		return call{user, "POST", "/v1/a2a/" + agent + "/message:send", paramsNow(fmt.Sprint(rand.IntN(200))), nil}
	}, false},
	{"send and wait", []int{200}, func(c *crowd, user string) call {
		agent := []string{"echo", "ask", "nap", "artifact"}[rand.IntN(4)]
		return call{user, "POST", "/v1/a2a/" + agent + "/message:send", sendParams(fmt.Sprint(rand.IntN(50))), nil}
	}, false},
	{"follow up", []int{200, 400, 404}, func(c *crowd, user string) call {
		return call{user, "POST", "/a2a", envelope("SendMessage", strings.TrimSuffix(sendParams("7", `"taskId":"`+c.some(user)+`"`), "}")+`,"configuration":{"returnImmediately":true}}`), nil}
	}, false},
	{"stream", []int{200}, func(c *crowd, user string) call {
		return call{user, "POST", "/v1/a2a/nap/message:stream", sendParams("20"), nil}
	}, false},
	{"subscribe", []int{200, 400, 404}, func(c *crowd, user string) call {
		return call{user, "GET", at("%s:subscribe", c.some(user)), "", nil}
	}, true},
	{"resume", []int{200, 204, 400, 404}, func(c *crowd, user string) call {
		return call{user, "GET", at("%s:subscribe", c.some(user)), "", []string{fmt.Sprintf("Last-Event-ID: %d", 1+rand.IntN(4))}}
	}, true},
	{"cancel", []int{200, 404, 409}, func(c *crowd, user string) call {
		return call{user, "POST", at("%s:cancel", c.some(user)), "", nil}
	}, false},
	{"get", []int{200, 404}, func(c *crowd, user string) call {
		return call{user, "GET", at("%s", c.some(user)), "", nil}
	}, false},
	{"list", []int{200}, func(c *crowd, user string) call {
		return call{user, "GET", "/v1/a2a/tasks?pageSize=10&includeArtifacts=" + fmt.Sprint(rand.IntN(2) == 0), "", nil}
	}, false},
	{"foreign get", []int{404}, func(c *crowd, user string) call {
		return call{user, "GET", at("%s", c.some(other(user))), "", nil}
	}, false},
	{"foreign cancel", []int{404}, func(c *crowd, user string) call {
		return call{user, "POST", at("%s:cancel", c.some(other(user))), "", nil}
	}, false},
	{"foreign subscribe", []int{404}, func(c *crowd, user string) call {
		return call{user, "GET", at("%s:subscribe", c.some(other(user))), "", []string{"Last-Event-ID: 1"}}
	}, false},
	{"rubbish", []int{400}, func(_ *crowd, user string) call {
		return call{user, "POST", "/v1/a2a/message:send", `{"message":{}}`, nil}
	}, false},
}

// act performs random operations until ctx ends. It completes those that have begun, except
// that some callers disconnect in the middle.
func (c *crowd) act(ctx context.Context, user string) {
	for ctx.Err() == nil {
		if rand.IntN(12) == 0 {
			c.overGRPC(user)
			continue
		}
		d := &deeds[rand.IntN(len(deeds))]
		whole := !d.endless && rand.IntN(5) > 0
		limit := patience
		if !whole {
			limit = time.Duration(rand.IntN(400)) * time.Millisecond
		}
		c.perform(d, user, limit, whole)
	}
}

func (c *crowd) perform(d *deed, user string, limit time.Duration, whole bool) {
	ctx, leave := context.WithTimeout(c.h.t.Context(), limit)
	defer leave()
	a, err := c.h.try(ctx, d.call(c, user))
	if id := firstID(a.body); id != "" && !strings.HasPrefix(d.name, "foreign") {
		c.saw(user, id)
	}
	switch {
	case err != nil && (!whole && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) || bystander(ctx, err)):
		c.count(d.name+", left", 0)
		return
	case err != nil:
		c.h.t.Errorf("%s: %v", d.name, err)
		return
	}
	c.count(d.name, a.code)
	for _, code := range d.codes {
		if a.code == code {
			return
		}
	}
	c.h.t.Errorf("%s: %d %.300s, want one of %v", d.name, a.code, a.body, d.codes)
}

// bystander reports whether err is the end of another request. Package http may give a
// connection to the next request a moment before the previous request's deadline closes it.
func bystander(ctx context.Context, err error) bool {
	end, _ := ctx.Deadline()
	return ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && time.Until(end) > patience/2
}

// firstID returns the id of the task at the beginning of an answer or a stream.
func firstID(body string) string {
	_, rest, ok := strings.Cut(body, `"task":{"id":"`)
	id, _, whole := strings.Cut(rest, `"`)
	if !ok || !whole {
		return ""
	}
	return id
}

// overGRPC performs operations over the other binding.
func (c *crowd) overGRPC(user string) {
	ctx, cancel := c.h.as(user)
	defer cancel()
	r, err := c.h.grpc.SendMessage(ctx, pbTo("nap", "5"))
	if err != nil {
		c.h.t.Errorf("gRPC send: %v", err)
		return
	}
	c.saw(user, r.GetTask().GetId())
	_, err = c.h.grpc.GetTask(ctx, &pb.GetTaskRequest{Id: c.some(other(user))})
	if code := grpcstatus.Code(err); code != codes.NotFound {
		c.h.t.Errorf("gRPC get of a foreign task: %v", err)
	}
	c.count("gRPC", 0)
}

// Two hundred callers perform all operations concurrently, on their own tasks and on foreign
// ones. Afterwards every task that a caller has seen has ended or waits for its caller, its log
// has no gap, and the totals equal a recount.
func TestAbuse(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		c := &crowd{h: h, ids: map[string][]string{}, done: map[string]int{}}
		ctx, cancel := context.WithTimeout(t.Context(), crowdTime)
		defer cancel()
		var wg sync.WaitGroup
		for i := range crowdSize {
			wg.Go(func() { c.act(ctx, users[i%2]) })
		}
		wg.Wait()
		for _, user := range users {
			h.settled(t, user)
			h.recount(t, user, c.ids[user])
		}
		h.gaplessLogs(t)
		b, err := json.Marshal(c.done)
		t.Logf("%d tasks of ann, %d of bob; %s, %v", h.total("ann"), h.total("bob"), b, err)
		h.alive("ann")
	})
}

// settled waits until no task of a user is working, by following the working ones. It cancels
// tasks of agents that work until they are canceled.
func (h *hub) settled(t *testing.T, user string) {
	t.Helper()
	for _, state := range []string{"SUBMITTED", "WORKING"} {
		for {
			open := h.list(user, "pageSize=100&status="+state).Tasks
			if len(open) == 0 {
				break
			}
			var wg sync.WaitGroup
			for _, w := range open {
				wg.Go(func() { h.finish(user, w.ID) })
			}
			wg.Wait()
			if t.Failed() {
				return
			}
		}
	}
}

func (h *hub) finish(user, id string) {
	a, err := h.try(h.t.Context(), call{user, "POST", at("%s:cancel", id), "", nil})
	if err != nil || a.code != http.StatusOK && a.code != http.StatusConflict {
		h.t.Errorf("cancel what works: %d %s %v", a.code, a.body, err)
	}
}

// recount compares the totals of a user with the listed pages, and looks for the seen tasks.
func (h *hub) recount(t *testing.T, user string, seen []string) {
	t.Helper()
	states := map[string]int{}
	listed := map[string]bool{}
	for query := "pageSize=100"; ; {
		page := h.list(user, query)
		for _, w := range page.Tasks {
			states[strings.TrimPrefix(w.Status.State, "TASK_STATE_")]++
			if listed[w.ID] {
				t.Errorf("%s is listed twice", w.ID)
			}
			listed[w.ID] = true
		}
		if page.NextPageToken == "" {
			break
		}
		query = "pageSize=100&pageToken=" + page.NextPageToken
	}
	if total := h.total(user); total != len(listed) {
		t.Errorf("%s has %d tasks by the total, %d by the pages", user, total, len(listed))
	}
	for state, n := range states {
		if total := *h.list(user, "pageSize=1&status="+state).TotalSize; total != n {
			t.Errorf("%s has %d tasks in %s by the total, %d by the pages", user, total, state, n)
		}
		if state == "SUBMITTED" || state == "WORKING" || state == "UNSPECIFIED" {
			t.Errorf("%d tasks of %s are still %s", n, user, state)
		}
	}
	for _, id := range seen {
		if !listed[id] {
			t.Errorf("%s saw task %s, which is not listed", user, id)
		}
	}
}

// gaplessLogs reads the logs of all tasks of both users from the store.
func (h *hub) gaplessLogs(t *testing.T) {
	t.Helper()
	for _, user := range users {
		q := &task.Query{Owner: task.Owner(user), Limit: 100}
		for {
			page, err := h.store.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Heads {
				if err := h.checkLog(t.Context(), &page.Heads[i]); err != nil {
					t.Errorf("task %s: %v", page.Heads[i].ID, err)
				}
			}
			if !page.More {
				break
			}
			last := &page.Heads[len(page.Heads)-1]
			q.After = task.Cursor{At: last.StatusAt, Key: last.Key}
		}
	}
}

// checkLog reads a log to its end: versions are consecutive, no event follows the end of the
// task, and the last status is that of the head.
func (h *hub) checkLog(ctx context.Context, head *task.Head) error {
	var version int64
	state := task.Unspecified
	for version < head.Version {
		page, err := h.store.Read(ctx, head.Key, version)
		if err == nil && len(page) == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("read after %d: %w", version, err)
		}
		for i := range page {
			e := &page[i]
			if version++; e.Version != version {
				return fmt.Errorf("entry %d stands where %d should", e.Version, version)
			}
			if state.Terminal() {
				return fmt.Errorf("entry %d follows the end", e.Version)
			}
			if e.Kind == task.Created || e.Kind == task.Status {
				state = e.State
			}
		}
	}
	if version != head.Version || state != head.State {
		return fmt.Errorf("log ends at %d in %v, the head says %d and %v", version, state, head.Version, head.State)
	}
	return nil
}

// A cancellation that arrives while the agent completes must not harm the hub: one of the two
// wins, and all readers get the same result.
func TestCancelAsItEnds(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 40 {
					h.cancelAsItEnds()
				}
			})
		}
		wg.Wait()
		h.alive("ann")
	})
}

func (h *hub) cancelAsItEnds() {
	sent, err := h.try(h.t.Context(), call{"ann", "POST", "/v1/a2a/nap/message:send", paramsNow("1"), nil})
	id := firstID(sent.body)
	if err != nil || id == "" {
		h.t.Errorf("send: %d %s %v", sent.code, sent.body, err)
		return
	}
	a, err := h.try(h.t.Context(), call{"ann", "POST", at("%s:cancel", id), "", nil})
	got, gotErr := h.try(h.t.Context(), call{"ann", "GET", at("%s", id), "", nil})
	want := map[int]string{http.StatusOK: `"TASK_STATE_CANCELED"`, http.StatusConflict: `"TASK_STATE_COMPLETED"`}[a.code]
	if err != nil || gotErr != nil || want == "" || !strings.Contains(got.body, want) {
		h.t.Errorf("cancel: %d %s %v; then get: %s %v", a.code, a.body, err, got.body, gotErr)
	}
}
