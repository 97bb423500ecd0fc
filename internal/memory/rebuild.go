package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// Log is the task log from which conversations are rebuilt. A task.Store is one.
type Log interface {
	// List is task.Index.List, and Read is task.Log.Read.
	List(ctx context.Context, q *task.Query) (task.ListPage, error)
	Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error)
	// Sidecar is task.Sidecars.Sidecar: messages between agents on behalf of a task are not
	// turns of its caller.
	Sidecar(ctx context.Context, key task.Key, kind task.SidecarKind) ([]byte, error)
}

// maxRebuilt limits the number of tasks of a context that are read, newest first, including
// tasks begun by agents.
const maxRebuilt = 100

// rebuild builds the turns of a conversation from the tasks of a context in the log: the
// messages of the caller, the questions and final messages of the agent, and its results. It leaves out
// the tasks whose last version is a known turn.
func rebuild(ctx context.Context, log Log, q *task.Query, known map[string]bool) ([]Turn, error) {
	page, err := log.List(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("rebuild turns of %s: %w", q.ContextID, err)
	}
	var all []Turn
	for i := range page.Heads {
		h := &page.Heads[len(page.Heads)-1-i] // oldest first
		if known[TurnID(h.ID, h.Version)] {
			continue
		}
		child, err := delegated(ctx, log, h)
		if err == nil && child {
			continue
		}
		var turns []Turn
		if err == nil {
			turns, err = turnsOf(ctx, log, h)
		}
		if err != nil {
			return nil, fmt.Errorf("rebuild turns of %s: task %s: %w", q.ContextID, h.ID, err)
		}
		all = append(all, turns...)
	}
	slices.SortStableFunc(all, byTime)
	return all, nil
}

// delegated reports whether an agent began a task on behalf of another task.
func delegated(ctx context.Context, log Log, h *task.Head) (bool, error) {
	lineage, err := log.Sidecar(ctx, h.Key, task.SidecarLineage)
	return lineage != nil, err
}

func byTime(a, b Turn) int { return a.At.Compare(b.At) }

// TurnID returns the ID of the turn for a version of a task.
func TurnID(id a2a.TaskID, version int64) string {
	return string(id) + "/" + strconv.FormatInt(version, 10)
}

func turnsOf(ctx context.Context, log Log, h *task.Head) ([]Turn, error) {
	var turns []Turn
	var fold task.Fold
	for fold.Version < h.Version {
		entries, err := log.Read(ctx, h.Key, fold.Version)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			break
		}
		for i := range entries {
			e := &entries[i]
			if err := fold.Add(e); err != nil {
				return nil, err
			}
			if t, ok := turnOf(h, e, &fold); ok {
				turns = append(turns, t)
			}
		}
	}
	return turns, nil
}

// turnOf returns the turn of an entry; false if it is not a turn.
func turnOf(h *task.Head, e *task.Entry, fold *task.Fold) (Turn, bool) {
	t := Turn{ID: TurnID(h.ID, e.Version), At: e.At.Time()}
	switch {
	case e.Kind == task.Created || e.Kind == task.Message:
		t.Role, t.Name, t.Text = RoleCaller, CallerName(e.Call), task.TextOf(e.Body)
	case e.Kind == task.Status && e.State.Terminal():
		t.Role, t.Name, t.Text = RoleAgent, string(h.Agent), ReplyText(e, fold.ReplyText())
	case e.Kind == task.Status && (e.State.Interrupted() || asksHub(e)):
		t.Role, t.Name, t.Text = RoleAgent, string(h.Agent), task.TextOf(e.Body)
	}
	return t, t.Text != ""
}

// ReplyText returns the result of a task as text, from its last status and its delivered text.
// For a task that was not completed, the reason precedes the text.
func ReplyText(last *task.Entry, delivered string) string {
	reason := task.TextOf(last.Body)
	if last.State == task.Completed || reason == "" || reason == delivered {
		return delivered
	}
	return reason + "\n\nUntil then it said:\n" + delivered
}

// questionKey is the metadata key of a status in which an agent asks a question that the hub
// answers.
const questionKey = "parley.question"

// asksHub reports whether an entry is a question to the hub, and not the hub's own note about
// one.
func asksHub(e *task.Entry) bool {
	asked := rawjson.Member(e.Meta, questionKey)
	return asked != nil && rawjson.Member(asked, "note") == nil
}

// CallerName returns the caller's name from the call data of a message (task.Entry.Call).
func CallerName(call []byte) string {
	var c struct {
		Principal struct {
			ID          string
			DisplayName string
		} `json:"principal"`
	}
	if len(call) > 0 && json.Unmarshal(call, &c) != nil {
		return ""
	}
	switch p := c.Principal; {
	case p.DisplayName != "":
		return p.DisplayName
	case p.ID != "":
		return p.ID
	}
	return "local"
}
