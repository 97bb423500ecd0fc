package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// dispatches are the tasks that two calls of invoke_agent dispatch, over all processes of a hub.
// Each id of a call has one task, which ends with its agent.
type dispatches struct {
	mu sync.Mutex
	// takes is the duration of an agent's work, ends the final state of its task; the default
	// is completed.
	takes map[string]time.Duration
	ends  map[string]a2a.TaskState
	began map[a2a.TaskID]time.Time
	ids   map[string]a2a.TaskID
	// awaited counts the calls of Await, of which the first fail ones fail.
	awaited, fail int
}

// tools returns a model's tools for dispatches, and some that are hidden with them.
func (e *dispatches) tools() toolset {
	plain := func(name string) llm.Tool {
		return llm.Tool{Name: name, Call: func(context.Context, *llm.Call) (*llm.Result, error) { return textResult("done"), nil }}
	}
	invoke := llm.Tool{Name: "invoke_agent", Repeatable: true, Call: e.invoke}
	read := llm.Tool{Name: "get_from_working_memory", ReadOnly: true, Call: e.note}
	return toolset{invoke, read, plain("chat_with_agent"), plain("continue_task"), plain("a2a__north__rain"), plain("look")}
}

func (e *dispatches) invoke(_ context.Context, c *llm.Call) (*llm.Result, error) {
	var in struct {
		Agent string `json:"agent_name"`
	}
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return nil, err
	}
	if c.Dispatch == nil {
		return textResult("the result itself"), nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	id, ok := e.ids[c.ID]
	if !ok {
		id = a2a.TaskID(fmt.Sprintf("%s-%d", in.Agent, len(e.ids)))
		e.ids[c.ID], e.began[id] = id, time.Now()
	}
	r := textResult("dispatched; stop here")
	r.Pending = &llm.Pending{Agent: in.Agent, TaskID: id, Key: "session/s/a2a/" + in.Agent + "/" + string(id) + "/result", Wait: 5 * time.Minute}
	return r, nil
}

func (*dispatches) note(_ context.Context, c *llm.Call) (*llm.Result, error) {
	var in struct {
		Key string `json:"key"`
	}
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return nil, err
	}
	return textResult("rain in " + in.Key), nil
}

// Await implements model.Awaiter.
func (e *dispatches) Await(ctx context.Context, w *model.Wait) (a2a.TaskState, error) {
	id := w.Task
	name, _, _ := strings.Cut(string(id), "-")
	e.mu.Lock()
	e.awaited++
	left, state := time.Until(e.began[id].Add(e.takes[name])), e.ends[name]
	broken := e.awaited <= e.fail
	e.mu.Unlock()
	if broken {
		return "", io.ErrUnexpectedEOF
	}
	if name == "gone" {
		return "", nil
	}
	select {
	case <-time.After(left):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if state == "" {
		state = a2a.TaskStateCompleted
	}
	return state, nil
}

func newDispatches(takes map[string]time.Duration, ends map[string]a2a.TaskState) *dispatches {
	return &dispatches{takes: takes, ends: ends, began: make(map[a2a.TaskID]time.Time), ids: make(map[string]a2a.TaskID)}
}

// requests are the requests that a model has received.
type requests []*llm.Request

func (r requests) last() *llm.Request { return r[len(r)-1] }

// userTurns returns the user messages of a request after the first one.
func userTurns(r *llm.Request) []string {
	var text []string
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role == "user" {
			text = append(text, m.Content.Text())
		}
	}
	return text[1:]
}

func offered(r *llm.Request) []string {
	var names []string
	for i := range r.Tools {
		names = append(names, r.Tools[i].Name)
	}
	slices.Sort(names)
	return names
}

// dispatcher dispatches two calls, stops, and reads the first key that it receives.
const dispatcher = `
turns:
  - when: {role: user, last: '^go$'}
    calls:
      - {name: invoke_agent, arguments: {agent_name: north}}
      - {name: invoke_agent, arguments: {agent_name: south}}
  - when: {role: tool, tool: invoke_agent}
    text: I have asked both.
  - when: {role: user, last: 'exactly this key:\n(session/\S+)'}
    calls: [{name: get_from_working_memory, arguments: {key: $1}}]
  - when: {role: tool, tool: get_from_working_memory, last: 'rain in (\S+)'}
    text: I have read $1
  - when: {role: user}
    text: It came to nothing.
`

// awaiting returns an agent with dispatches, and the requests to its model.
func awaiting(t testing.TB, e *dispatches) (*model.Agent, *requests) {
	a := scriptedAgent(t, dispatcher)
	p := new(requests)
	a.Choices[0].Provider = recordingProvider{a.Choices[0].Provider, (*[]*llm.Request)(p)}
	a.Tools, a.Awaiter = e.tools(), e
	a.Delegates = []model.Delegate{{ID: "east"}}
	return a, p
}

func completed(name string, n int) string {
	return fmt.Sprintf("The agent %q has completed its task. The result is in working memory. "+
		"Read it with get_from_working_memory, under exactly this key:\nsession/s/a2a/%s/%s-%d/result", name, name, name, n)
}

func dispatchedTo(name string, n int, how string) string {
	return fmt.Sprintf("[The work dispatched to the agent %q, task %s-%d, %s]", name, name, n, how)
}

const (
	cameToNothing = "came to nothing: the task is failed. get_task says more."
	notInTime     = "is not done in time. It continues, but this answer no longer waits for it; get_task returns its state. Answer without it. Once it is done, get_from_working_memory returns its result for the key "
	asksBack      = "waits: the agent asks back. get_task shows the question, continue_task answers it."
)

// TestResultsAreAwaited checks a model that has dispatched calls. Before it answers, it
// receives a notice of each end, in the order of the ends. It cannot give work to agents then.
func TestResultsAreAwaited(t *testing.T) {
	t.Parallel()
	quiet := []string{"get_from_working_memory", "look"}
	loud := []string{"a2a__north__rain", "agent_run_east", "chat_with_agent", "continue_task", "get_from_working_memory", "invoke_agent", "look"}
	soon, late := time.Minute, 2*time.Minute
	for name, tt := range map[string]struct {
		north, south time.Duration
		ends         map[string]a2a.TaskState
		want         []string
		answer       string
		tools        []string
	}{
		"in order":         {soon, late, nil, []string{completed("north", 0), completed("south", 1)}, "I have read session/s/a2a/south/south-1/result", quiet},
		"in another order": {late, soon, nil, []string{completed("south", 1), completed("north", 0)}, "I have read session/s/a2a/north/north-0/result", quiet},
		"at once":          {0, soon, nil, []string{completed("north", 0), completed("south", 1)}, "I have read session/s/a2a/south/south-1/result", quiet},
		"one fails": {
			soon, late,
			map[string]a2a.TaskState{"north": a2a.TaskStateFailed},
			[]string{dispatchedTo("north", 0, cameToNothing), completed("south", 1)},
			"I have read session/s/a2a/south/south-1/result", quiet,
		},
		"one takes too long": {time.Hour, soon, nil, []string{completed("south", 1), dispatchedTo("north", 0, notInTime+"session/s/a2a/north/north-0/result")}, "It came to nothing.", quiet},
		"one asks back": {
			soon, late,
			map[string]a2a.TaskState{"south": a2a.TaskStateInputRequired},
			[]string{completed("north", 0), dispatchedTo("south", 1, asksBack)},
			"It came to nothing.", loud,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, p := awaiting(t, newDispatches(map[string]time.Duration{"north": tt.north, "south": tt.south}, tt.ends))
				h := start(t, new(memstore.Store), agents{"main": a})
				got := h.sendWithin(text("go"), time.Hour)
				wantAnswer(t, got, tt.answer)
				if diff := cmp.Diff(tt.want, userTurns(p.last())); diff != "" {
					t.Errorf("input of the model (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.tools, offered(p.last())); diff != "" {
					t.Errorf("the tools of the answer (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(loud, offered((*p)[0])); diff != "" {
					t.Errorf("the tools of the first request (-want +got):\n%s", diff)
				}
				h.stop()
			})
		})
	}
}

// TestHiddenToolsAreNotThere checks that a call of a hidden tool fails, and that the next
// message of the caller makes the tool available again.
func TestHiddenToolsAreNotThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newDispatches(map[string]time.Duration{"north": time.Minute}, nil)
		a := scriptedAgent(t, `
turns:
  - when: {role: user, last: '^go$'}
    calls: [{name: invoke_agent, arguments: {agent_name: north}}]
  - when: {role: tool, tool: invoke_agent, last: 'There is no tool "invoke_agent"'}
    text: There is none.
  - when: {role: tool, tool: invoke_agent}
    text: I wait.
  - when: {role: user}
    calls: [{name: invoke_agent, arguments: {agent_name: south}}]
`)
		a.Tools, a.Awaiter = e.tools(), e
		h := start(t, new(memstore.Store), agents{"main": a})
		wantAnswer(t, h.sendWithin(text("go"), time.Hour), "There is none.")
		if len(e.ids) != 1 {
			t.Errorf("%d calls were dispatched, want 1", len(e.ids))
		}
		h.stop()
	})
}

// TestNothingIsAwaitedThatCannotBeRead checks that the call itself waits if the model has no
// tool to read the result.
func TestNothingIsAwaitedThatCannotBeRead(t *testing.T) {
	t.Parallel()
	e := newDispatches(nil, nil)
	a, p := awaiting(t, e)
	a.Excluded = []string{"get_from_working_memory"}
	h := start(t, new(memstore.Store), agents{"main": a})
	wantAnswer(t, h.send(text("go")), "I have asked both.")
	if got := userTurns(p.last()); len(got) > 0 || len(e.ids) > 0 {
		t.Errorf("the model receives %q, and %d calls were dispatched", got, len(e.ids))
	}
}

// TestFollowedAgain checks that a failed wait is repeated as long as there is time, except for
// a task that does not exist.
func TestFollowedAgain(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*dispatches{
		completed("north", 0): {fail: 3},
		dispatchedTo("north", 0, notInTime+"session/s/a2a/north/north-0/result"): {fail: 1000},
		dispatchedTo("gone", 0, "is not there any more. Answer without it."):     {},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e.began, e.ids = make(map[a2a.TaskID]time.Time), make(map[string]a2a.TaskID)
				name := "north"
				if e.fail == 0 {
					name = "gone"
				}
				a := scriptedAgent(t, `
turns:
  - {when: {role: user, last: '^go$'}, calls: [{name: invoke_agent, arguments: {agent_name: `+name+`}}]}
  - {when: {role: tool}, text: I have asked.}
  - {when: {last: '([^$]+)'}, text: '$1'}
`)
				a.Tools, a.Awaiter = e.tools(), e
				h := start(t, new(memstore.Store), agents{"main": a})
				wantAnswer(t, h.sendWithin(text("go"), time.Hour), want)
				h.stop()
			})
		})
	}
}

// TestAwaitIsBounded checks that the time limit of a task also applies while it waits.
func TestAwaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := awaiting(t, newDispatches(map[string]time.Duration{"north": time.Hour, "south": time.Hour}, nil))
		a.Budget.Time = 90 * time.Second
		h := start(t, new(memstore.Store), agents{"main": a})
		if got, want := outcome(h.sendWithin(text("go"), 2*time.Minute)), "FAILED: the agent took longer than 1m30s"; got != want {
			t.Errorf("the task is %q, want %q", got, want)
		}
		h.stop()
	})
}

// TestKilledWhileAwaiting kills a hub before each change of a task that waits for two results.
// Each result must be reported once, and no work dispatched again.
func TestKilledWhileAwaiting(t *testing.T) {
	t.Parallel()
	kills := 0
	for cut := int64(1); cut < 100; cut++ {
		killed := false
		synctest.Test(t, func(t *testing.T) {
			e := newDispatches(map[string]time.Duration{"north": 3 * time.Second, "south": 9 * time.Second}, nil)
			a, p := awaiting(t, e)
			disk := new(memstore.Store)
			store := newKillableStore(disk, cut)
			h := start(t, store, agents{"main": a})
			id := h.begin(text("go"))
			live(h, id)
			known, awaited := false, e.awaited
			for _, r := range *p {
				known = known || len(userTurns(r)) == 2
			}
			select {
			case <-store.dead:
				killed = true
				h.stop()
				h = start(t, disk, agents{"main": a})
				live(h, id)
			default:
			}
			got := h.get(id)
			if status, _ := statusAndText(got); got.Status.State != a2a.TaskStateCompleted || !strings.HasPrefix(status, "I have read session/") {
				t.Errorf("after a kill before change %d the task is %s and says %q", cut+1, got.Status.State, status)
			}
			if known && e.awaited != awaited {
				t.Errorf("after a kill before change %d a known result was awaited again", cut+1)
			}
			for _, r := range *p {
				if n := len(userTurns(r)); n == 1 {
					t.Errorf("around a kill before change %d the model was asked when one of two results was there", cut+1)
				}
			}
			received := userTurns(p.last())
			slices.Sort(received) // both may have ended while no hub ran
			if diff := cmp.Diff([]string{completed("north", 0), completed("south", 1)}, received); diff != "" {
				t.Errorf("after a kill before change %d the model receives (-want +got):\n%s", cut+1, diff)
			}
			if len(e.ids) != 2 {
				t.Errorf("after a kill before change %d there were %d dispatches, want 2", cut+1, len(e.ids))
			}
			h.stop()
		})
		if !killed || t.Failed() {
			break
		}
		kills++
	}
	if kills < 7 {
		t.Errorf("%d kills, want one before each change", kills)
	}
}

// TestDrainWhileAwaiting checks that a draining hub does not wait for results, and that the
// next one does.
func TestDrainWhileAwaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newDispatches(map[string]time.Duration{"north": time.Minute, "south": 2 * time.Minute}, nil)
		a, p := awaiting(t, e)
		disk := new(memstore.Store)
		h := startWith(t, engine.Config{Store: disk, Limits: limits.Limits{DrainTimeout: time.Minute}}, agents{"main": a})
		id := h.begin(text("go"))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		begun := time.Now()
		h.stop()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the hub has ended after %v", took)
		}
		h = start(t, disk, agents{"main": a})
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		wantAnswer(t, h.get(id), "I have read session/s/a2a/south/south-1/result")
		if diff := cmp.Diff([]string{completed("north", 0), completed("south", 1)}, userTurns(p.last())); diff != "" {
			t.Errorf("input of the model (-want +got):\n%s", diff)
		}
		h.stop()
	})
}

// TestKeysStay checks that the model can read the keys of results in a request of any size.
func TestKeysStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, p := awaiting(t, newDispatches(nil, nil))
		a.Choices[0].Provider = recordingProvider{scriptedAgent(t, `
turns:
  - {when: {role: user, last: '^go$'}, calls: [{name: invoke_agent, arguments: {agent_name: north}}]}
  - {when: {role: tool, tool: invoke_agent}, text: I have asked.}
  - {times: 1, calls: [{name: look, arguments: {n: 0}}]}
  - {times: 1, calls: [{name: look, arguments: {n: 1}}]}
  - {times: 1, calls: [{name: look, arguments: {n: 2}}]}
  - {text: I have looked.}
`).Choices[0].Provider, (*[]*llm.Request)(p)}
		a.Budget.Context = 50
		h := start(t, new(memstore.Store), agents{"main": a})
		wantAnswer(t, h.sendWithin(text("go"), time.Hour), "I have looked.")
		output := userTurns(p.last())
		if want := completed("north", 0); !slices.Contains(output, want) || len(output) < 2 {
			t.Errorf("the model receives %q, want that the beginning was left out, and %q", output, want)
		}
		h.stop()
	})
}
