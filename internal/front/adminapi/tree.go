package adminapi

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/sse"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/tasktree"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Trees reads tasks with those that they have delegated. *engine.Engine implements it. Methods
// are called concurrently.
type Trees interface {
	// Tree returns a task of the caller and those below it, each after its parent.
	Tree(ctx context.Context, c *op.Caller, id a2a.TaskID) ([]engine.Node, error)
	// WatchTree returns the same, and then each of them again when its status has changed.
	WatchTree(ctx context.Context, c *op.Caller, id a2a.TaskID) iter.Seq2[engine.Node, error]
}

var _ Trees = (*engine.Engine)(nil)

// Unanswered is TreeTask.Below where the remote agent has not listed the tasks below its task.
const Unanswered = string(engine.Unanswered)

// TaskTree is the answer of GET /api/v1/tasks/{id}/tree.
type TaskTree struct {
	// Tasks lists each task directly before those that it has created.
	Tasks []TreeTask `json:"tasks"`
}

// TreeTask is a task in a tree of delegations.
type TreeTask struct {
	TaskID a2a.TaskID `json:"taskId"`
	// ParentID is the task that has created it; absent for the first one.
	ParentID  a2a.TaskID `json:"parentId,omitempty"`
	ContextID string     `json:"contextId"`
	// Depth is how many tasks are above it in the tree.
	Depth int        `json:"depth"`
	Agent task.Agent `json:"agent"`
	// Kind is the kind of the agent: "local", "command", "remote" and so on; absent if the
	// agent was removed.
	Kind  string `json:"kind,omitempty"`
	State string `json:"state"`
	// Text is the beginning of the agent's status message. If that has no text, and the task has ended
	// or waits, it is the beginning of the answer.
	Text      string    `json:"text,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	ChangedAt time.Time `json:"changedAt"`
	// AgeMs is the age of the task, or its duration if it has ended, in milliseconds, by the
	// clock of the hub.
	AgeMs int64 `json:"ageMs"`
	// CancelRequested is set once a cancellation was requested.
	CancelRequested bool `json:"cancelRequested,omitempty"`
	// InputTokens, OutputTokens and CostUSD are reported by the agent with its last status;
	// zero values are absent.
	InputTokens  int64   `json:"inputTokens,omitempty"`
	OutputTokens int64   `json:"outputTokens,omitempty"`
	CostUSD      float64 `json:"costUsd,omitempty"`
	// More is set if there are tasks below it that are not listed.
	More bool `json:"more,omitempty"`
	// Via is set for a task at another server: it is the remote agent whose server has listed the
	// task. The task and its agent have the ids of that server.
	Via task.Agent `json:"via,omitempty"`
	// Below is what is known of the tasks below the task of a remote agent: "asking", "not
	// answered", or "listed"; absent if its server does not list them.
	Below string `json:"below,omitempty"`
}

// maxTreeText is how many characters of the text of a task are shown.
const maxTreeText = 120

// treeTask converts a node to JSON.
func treeTask(n *engine.Node, now time.Time) *TreeTask {
	h, one := &n.Head, n.Far
	t := &TreeTask{
		TaskID: h.ID, ParentID: n.Parent, ContextID: h.ContextID, Depth: n.Depth, Agent: h.Agent, Kind: n.Kind,
		Text:            memory.Clip(n.Text, maxTreeText),
		CancelRequested: h.CancelAt != 0, More: n.More, Via: n.Via, Below: string(n.Below),
	}
	if one == nil {
		own := tasktree.Of(h, now)
		one = &own
	}
	t.State, t.CreatedAt, t.AgeMs = one.State, one.CreatedAt, int64(one.AgeMs)
	t.InputTokens, t.OutputTokens, t.CostUSD = int64(one.InputTokens), int64(one.OutputTokens), one.CostUSD
	switch {
	case n.Far != nil:
		t.ChangedAt = t.CreatedAt
		if one.Ended() {
			t.ChangedAt = t.CreatedAt.Add(one.Age())
		}
	case h.Visibility == task.Replied:
		t.ChangedAt = h.UpdatedAt.Time()
	default:
		t.ChangedAt = h.StatusAt.Time()
	}
	return t
}

// branches returns the tasks of a tree with each directly before those below it.
func branches(tasks []TreeTask) []TreeTask {
	below := make(map[a2a.TaskID][]int)
	for i := range tasks[1:] {
		below[tasks[i+1].ParentID] = append(below[tasks[i+1].ParentID], i+1)
	}
	ordered, done := make([]TreeTask, 0, len(tasks)), make([]bool, len(tasks))
	var add func(i int)
	add = func(i int) {
		if done[i] {
			return
		}
		ordered, done[i] = append(ordered, tasks[i]), true
		for _, j := range below[tasks[i].TaskID] {
			add(j)
		}
	}
	for i := range tasks { // a task below a hidden one has no parent here
		add(i)
	}
	return ordered
}

// callerOf returns the caller in the engine's form.
func callerOf(r *http.Request) *op.Caller {
	return &op.Caller{Principal: auth.PrincipalFrom(r.Context())}
}

// nodes returns the tree that a request names, of a task of the caller or of any owner.
func (h *Handler) nodes(r *http.Request) ([]engine.Node, error) {
	if !everyOwner(r) {
		return h.Trees.Tree(r.Context(), callerOf(r), a2a.TaskID(r.PathValue("id")))
	}
	if h.Control == nil {
		return nil, errNoPath
	}
	o := &Operation{Owner: task.Owner(r.URL.Query().Get("owner"))}
	nodes, err := h.Control.InspectTree(r.Context(), target(r, o))
	return nodes, h.operationError(r, o, err)
}

func (h *Handler) tree(r *http.Request) (*TaskTree, error) {
	nodes, err := h.nodes(r)
	if err != nil {
		return nil, err
	}
	now, answer := time.Now(), TaskTree{Tasks: []TreeTask{}}
	for i := range nodes {
		answer.Tasks = append(answer.Tasks, *treeTask(&nodes[i], now))
	}
	if len(answer.Tasks) > 0 {
		answer.Tasks = branches(answer.Tasks)
	}
	return &answer, nil
}

// treeEvents sends the tasks of a tree as they change. The event "end" marks a complete stream;
// a stream that ends without it may be requested again.
func (h *Handler) treeEvents(w http.ResponseWriter, r *http.Request) {
	id := a2a.TaskID(r.PathValue("id"))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var stream *eventStream
	for node, err := range h.Trees.WatchTree(ctx, callerOf(r), id) {
		switch {
		case err != nil && stream == nil:
			h.fail(w, r, err)
			return
		case err != nil:
			if !errors.Is(err, engine.ErrDraining) && ctx.Err() == nil {
				h.log().Error("a stream of a tree has ended", "task", id, "error", err)
			}
			return
		case stream == nil && r.Method == http.MethodHead:
			openEvents(w, r)
			return
		case stream == nil:
			stream = openEvents(w, r)
			defer stream.beating(cancel)()
		}
		if stream.sendJSON(treeTask(&node, time.Now())) != nil {
			return
		}
	}
	if stream != nil {
		stream.end()
	}
}

// end sends the event that marks a complete stream.
func (e *eventStream) end() {
	_ = e.send("event: end\ndata: {}\n\n") // an error means that the client has disconnected
}

func openEvents(w http.ResponseWriter, r *http.Request) *eventStream {
	stream := &eventStream{sse.NewWriter(w, r)}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	return stream
}

func (e *eventStream) sendJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.send("data: " + string(b) + "\n\n")
}
