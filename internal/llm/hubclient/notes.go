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

// Notes returns what reads the caller's working memory, Writer what changes it.
func (h *Hub) Notes() agenttools.NoteReader { return notes{h} }

// Writer returns what changes the caller's working memory.
func (h *Hub) Writer() agenttools.NoteWriter { return notes{h} }

type notes struct{ hub *Hub }

// one asks for something about the note with a key, which is the answer.
func (m notes) one(ctx context.Context, method, key string, in any) (*adminjson.Note, error) {
	n := new(adminjson.Note)
	return n, m.hub.ask(ctx, &request{method: method, path: "/memory/note", query: url.Values{"key": {key}}, in: in, out: n, again: true})
}

// settling is how long the note of a result may come after the end of its task.
const settling = 2 * time.Second

// Note implements agenttools.NoteReader. Who has heard of the end of a task may ask for its
// result a moment before that is written down.
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
	// It tells of notes that are there already, too.
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
