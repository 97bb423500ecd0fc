package hubclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/memory"
)

// SessionPrefix returns the prefix of the keys of a session.
func SessionPrefix(session string) string { return "session/" + memory.Segment(session) + "/" }

// ResultKey returns the key of the note with the result of a task in a session.
func ResultKey(session, agent string, id a2a.TaskID) string {
	return SessionPrefix(session) + "a2a/" + memory.Segment(agent) + "/" + memory.Segment(string(id)) + "/result"
}

// TaskOfKey returns the task whose result or data is stored in the note with the key. It is
// empty for other notes.
func TaskOfKey(key string) a2a.TaskID {
	s := strings.Split(strings.TrimPrefix(key, "/"), "/")
	if len(s) != 6 || s[0] != "session" || s[2] != "a2a" || strings.TrimSuffix(s[5], ".data") != "result" {
		return ""
	}
	return a2a.TaskID(s[4])
}

// note sends a request about the note with a key, and returns the note in the response.
func (h *Hub) note(ctx context.Context, method, key string, in any) (*adminjson.Note, error) {
	n := new(adminjson.Note)
	return n, h.ask(ctx, &request{method: method, path: apiRoot + "/memory/note", query: url.Values{"key": {key}}, in: in, out: n, again: true})
}

// settling is the time within which a result's note follows the end of its task.
const settling = 2 * time.Second

// Note returns a note with its whole text. key is its complete key. A client may learn of the
// end of a task shortly before the hub has stored the result; Note then waits for the note.
func (h *Hub) Note(ctx context.Context, key string) (*adminjson.Note, error) {
	n, err := h.note(ctx, http.MethodGet, key, nil)
	id := TaskOfKey(key)
	if !errors.Is(err, ErrNotFound) || id == "" {
		return n, err
	}
	if info, failed := h.taskInfo(ctx, id); failed != nil || !a2a.TaskState(info.State).Terminal() || time.Since(info.ChangedAt) > time.Minute {
		return n, err
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	stored := func(data string) bool {
		var n adminjson.Note
		return json.Unmarshal([]byte(data), &n) == nil && n.Key == key
	}
	// The stream also reports existing notes.
	if h.listen(ctx, &request{method: http.MethodGet, path: apiRoot + "/memory/events", query: url.Values{"prefix": {key}}}, stored) != nil {
		return n, err
	}
	return h.note(ctx, http.MethodGet, key, nil)
}

// SaveNote stores a note, and replaces the one with the same key.
func (h *Hub) SaveNote(ctx context.Context, key string, n *adminjson.NewNote) (*adminjson.Note, error) {
	return h.note(ctx, http.MethodPut, key, n)
}

// DeleteNote deletes a note.
func (h *Hub) DeleteNote(ctx context.Context, key string) error {
	return h.ask(ctx, &request{method: http.MethodDelete, path: apiRoot + "/memory/note", query: url.Values{"key": {key}}})
}

// NoteQuery selects notes. Zero fields do not restrict the selection.
type NoteQuery struct {
	Words, Category, Namespace string
	Tags                       []string
	Limit                      int
}

// SearchNotes returns the matching notes with the beginnings of their texts, the best match
// first. Without words it returns the newest notes.
func (h *Hub) SearchNotes(ctx context.Context, q *NoteQuery) ([]adminjson.Note, error) {
	values := parameters("q", q.Words, "category", q.Category, "namespace", q.Namespace, "limit", count(q.Limit))
	values["tag"] = q.Tags
	var found adminjson.NoteList
	err := h.ask(ctx, &request{method: http.MethodGet, path: apiRoot + "/memory/search", query: values, out: &found, again: true})
	return found.Notes, err
}
