package hubclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm/agenttools"
)

// Notes returns a reader of the caller's working memory.
func (h *Hub) Notes() agenttools.NoteReader { return notes{h} }

// Writer returns a writer of the caller's working memory.
func (h *Hub) Writer() agenttools.NoteWriter { return notes{h} }

type notes struct{ hub *Hub }

// one sends a request about the note with a key, and returns the note in the response.
func (m notes) one(ctx context.Context, method, key string, in any) (*adminjson.Note, error) {
	n := new(adminjson.Note)
	return n, m.hub.ask(ctx, &request{method: method, path: "/memory/note", query: url.Values{"key": {key}}, in: in, out: n, again: true})
}

// settling is the time within which a result's note follows the end of its task.
const settling = 2 * time.Second

// Note implements agenttools.NoteReader. A client may learn of the end of a task shortly before
// the hub has stored the result; Note then waits for the note.
func (m notes) Note(ctx context.Context, key string) (*adminjson.Note, error) {
	n, err := m.one(ctx, http.MethodGet, key, nil)
	id := agenttools.TaskOfKey(key)
	if !errors.Is(err, agenttools.ErrNotFound) || id == "" {
		return n, err
	}
	if info, failed := m.hub.task(ctx, id); failed != nil || !a2a.TaskState(info.State).Terminal() || time.Since(info.ChangedAt) > time.Minute {
		return n, err
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	there := func(data string) bool {
		var told adminjson.Note
		return json.Unmarshal([]byte(data), &told) == nil && told.Key == key
	}
	// The stream also reports existing notes.
	if m.hub.listen(ctx, &request{method: http.MethodGet, path: "/memory/events", query: url.Values{"prefix": {key}}}, there) != nil {
		return n, err
	}
	return m.one(ctx, http.MethodGet, key, nil)
}

// Save implements agenttools.NoteWriter.
func (m notes) Save(ctx context.Context, key string, n *adminjson.NewNote) (*adminjson.Note, error) {
	return m.one(ctx, http.MethodPut, key, n)
}

// Delete implements agenttools.NoteWriter.
func (m notes) Delete(ctx context.Context, key string) error {
	return m.hub.ask(ctx, &request{method: http.MethodDelete, path: "/memory/note", query: url.Values{"key": {key}}})
}

// Search implements agenttools.NoteReader.
func (m notes) Search(ctx context.Context, q *agenttools.NoteQuery) ([]adminjson.Note, error) {
	values := url.Values{"tag": q.Tags}
	for name, v := range map[string]string{"q": q.Words, "category": q.Category, "namespace": q.Namespace} {
		if v != "" {
			values.Set(name, v)
		}
	}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	var found adminjson.NoteList
	err := m.hub.ask(ctx, &request{method: http.MethodGet, path: "/memory/search", query: values, out: &found, again: true})
	return found.Notes, err
}
