package tasktree

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// Bounds of a tree from another server.
const (
	MaxTasks = 200
	MaxDepth = 16
	// maxName bounds an id and the name of an agent, in bytes.
	maxName = 128
	// maxAge bounds the age of a task.
	maxAge = 100 * 365 * 24 * time.Hour
)

// Tree lists the tasks below a task, without that task itself.
type Tree struct {
	// Tasks are in the order in which each comes after its parent.
	Tasks []Task `json:"tasks"`
	// Pending is set if the server still asks other servers for tasks, and a later answer may have
	// more.
	Pending bool `json:"pending,omitempty"`
	// More is set if tasks directly below the first one are not listed.
	More bool `json:"more,omitempty"`
}

// Task is a task of a Tree.
type Task struct {
	ID a2a.TaskID `json:"id"`
	// ParentID is empty for a task directly below the one that the tree belongs to.
	ParentID  a2a.TaskID `json:"parentId,omitempty"`
	Agent     task.Agent `json:"agent"`
	State     string     `json:"state"`
	CreatedAt time.Time  `json:"createdAt"`
	// AgeMs is the age of the task, or its duration if it has ended, by the clock of its server.
	AgeMs float64 `json:"ageMs"`
	// InputTokens, OutputTokens and CostUSD are those of the task alone.
	InputTokens  float64 `json:"inputTokens,omitempty"`
	OutputTokens float64 `json:"outputTokens,omitempty"`
	CostUSD      float64 `json:"costUsd,omitempty"`
	// More is set if there are tasks below it that are not listed.
	More bool `json:"more,omitempty"`
	// Depth is the number of tasks between it and the one that the tree belongs to.
	Depth int `json:"-"`
}

// Ended reports whether the state is final.
func (t *Task) Ended() bool {
	s, _ := task.ParseState(t.State)
	return s.Terminal()
}

// Age returns AgeMs as a duration.
func (t *Task) Age() time.Duration { return time.Duration(t.AgeMs) * time.Millisecond }

// Of summarizes a task of this hub. A task that has ended with a bare message is completed.
func Of(h *task.Head, now time.Time) Task {
	t := Task{ID: h.ID, Agent: h.Agent, State: h.State.String(), CreatedAt: h.CreatedAt.Time()}
	end := now
	switch {
	case h.Visibility == task.Replied:
		t.State, end = task.Completed.String(), h.UpdatedAt.Time()
	case h.State.Terminal():
		end = h.StatusAt.Time()
	}
	t.AgeMs = float64(max(0, end.Sub(t.CreatedAt).Milliseconds()))
	spent := broker.SpentIn(h.StatusMessage)
	t.InputTokens, t.OutputTokens, t.CostUSD = float64(spent.Input), float64(spent.Output), spent.USD
	return t
}

// Append appends the tree as JSON.
func (t *Tree) Append(dst []byte) []byte {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and finite numbers can be encoded
	}
	return append(dst, b...)
}

// ErrEarly is returned for a task that no other server has accepted yet.
var ErrEarly = errors.New("no other server has accepted the task")

// ErrForm is returned for a value that is no tree.
var ErrForm = errors.New("the list of tasks has an unknown format")

// Parse reads a tree of another server. It drops tasks that it cannot read, that were listed
// before, whose parent is not listed before them, or that exceed the bounds.
func Parse(b []byte) (*Tree, error) {
	list := rawjson.Member(b, "tasks")
	if rawjson.KindOf(b) != rawjson.Object || rawjson.KindOf(list) != rawjson.Array {
		return nil, ErrForm
	}
	t, at := new(Tree), make(map[a2a.TaskID]int)
	t.Pending, t.More = isTrue(b, "pending"), isTrue(b, "more")
	for raw := range rawjson.Elements(list) {
		one, ok := parseTask(raw)
		parent, listed := at[one.ParentID]
		switch {
		case one.ParentID != "" && !listed:
			t.More = true
			continue
		case one.ParentID != "":
			one.Depth = t.Tasks[parent].Depth + 1
		}
		_, twice := at[one.ID]
		if !ok || twice || one.Depth >= MaxDepth || len(t.Tasks) >= MaxTasks {
			t.cut(one.ParentID, parent)
			if len(t.Tasks) >= MaxTasks {
				break
			}
			continue
		}
		at[one.ID] = len(t.Tasks)
		t.Tasks = append(t.Tasks, one)
	}
	return t, nil
}

// cut notes that a task below a parent is not listed.
func (t *Tree) cut(id a2a.TaskID, parent int) {
	if id == "" {
		t.More = true
		return
	}
	t.Tasks[parent].More = true
}

func isTrue(b []byte, name string) bool { return string(rawjson.Member(b, name)) == "true" }

// parseTask reads a task; it reports false if a value has a wrong type or form.
func parseTask(raw []byte) (Task, bool) {
	var t Task
	if len(raw) > 8*maxName || json.Unmarshal(raw, &t) != nil {
		return Task{}, false
	}
	if _, ok := task.ParseState(t.State); !ok || !named(string(t.ID)) || len(t.ParentID) > maxName {
		return Task{}, false
	}
	t.Agent = task.Agent(clip.FitBytes(strings.ToValidUTF8(string(t.Agent), ""), maxName))
	t.AgeMs = within(t.AgeMs, float64(maxAge.Milliseconds()))
	t.InputTokens, t.OutputTokens, t.CostUSD = within(t.InputTokens, 1e12), within(t.OutputTokens, 1e12), within(t.CostUSD, 1e9)
	if y := t.CreatedAt.Year(); y < 1970 || y > 9999 {
		return Task{}, false
	}
	return t, true
}

// named reports whether an id is usable.
func named(id string) bool {
	return id != "" && len(id) <= maxName && !strings.ContainsFunc(id, unicode.IsControl)
}

// within returns a number that is not negative, at most limit.
func within(n, limit float64) float64 {
	if math.IsNaN(n) {
		return 0
	}
	return min(max(n, 0), limit)
}
