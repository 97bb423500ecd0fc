package hubclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/llm/agenttools"
)

// Notes returns what reads the caller's working memory, Writer what changes it.
func (h *Hub) Notes() agenttools.NoteReader { return notes{h} }

// Writer returns what changes the caller's working memory.
func (h *Hub) Writer() agenttools.NoteWriter { return notes{h} }

type notes struct{ hub *Hub }

// note is a note as the hub's own interface tells it.
type note struct {
	Key       string    `json:"key"`
	Value     string    `json:"value"`
	Preview   string    `json:"preview"`
	Size      int64     `json:"size"`
	Category  string    `json:"category"`
	Tags      []string  `json:"tags"`
	UpdatedAt time.Time `json:"updatedAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	Score     float64   `json:"score"`
}

func (n *note) known() agenttools.Note {
	return agenttools.Note{
		Key: n.Key, Value: cmp.Or(n.Value, n.Preview), Category: n.Category, Tags: n.Tags, Size: n.Size,
		UpdatedAt: n.UpdatedAt, ExpiresAt: n.ExpiresAt, Score: n.Score,
	}
}

// one asks for something about the note with a key, which is the answer.
func (m notes) one(ctx context.Context, method, key string, in any) (*agenttools.Note, error) {
	var n note
	r := &request{method: method, path: "/memory/note", query: url.Values{"key": {key}}, in: in, out: &n, again: true}
	if err := m.hub.ask(ctx, r); err != nil {
		return nil, err
	}
	known := n.known()
	return &known, nil
}

// settling is how long the note of a result may come after the end of its task.
const settling = 2 * time.Second

// Note implements agenttools.NoteReader. Who has heard of the end of a task may ask for its
// result a moment before that is written down.
func (m notes) Note(ctx context.Context, key string) (*agenttools.Note, error) {
	n, err := m.one(ctx, http.MethodGet, key, nil)
	id := agenttools.TaskOfKey(key)
	if !errors.Is(err, agenttools.ErrNotFound) || id == "" {
		return n, err
	}
	if info, failed := m.hub.task(ctx, id); failed != nil || !info.State.Terminal() || time.Since(info.ChangedAt) > time.Minute {
		return n, err
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	there := func(data string) bool {
		var told note
		return json.Unmarshal([]byte(data), &told) == nil && told.Key == key
	}
	// It tells of notes that are there already, too.
	if m.hub.listen(ctx, &request{method: http.MethodGet, path: "/memory/events", query: url.Values{"prefix": {key}}}, there) != nil {
		return n, err
	}
	return m.one(ctx, http.MethodGet, key, nil)
}

// Save implements agenttools.NoteWriter.
func (m notes) Save(ctx context.Context, n *agenttools.Note, ttl time.Duration) (*agenttools.Note, error) {
	in := struct {
		Value    string   `json:"value"`
		Category string   `json:"category,omitempty"`
		Tags     []string `json:"tags,omitempty"`
		TTL      string   `json:"ttl,omitempty"`
	}{n.Value, n.Category, n.Tags, ""}
	if ttl > 0 {
		in.TTL = ttl.String()
	}
	saved, err := m.one(ctx, http.MethodPut, n.Key, &in)
	if err != nil {
		return nil, err
	}
	saved.Value = ""
	return saved, nil
}

// Delete implements agenttools.NoteWriter.
func (m notes) Delete(ctx context.Context, key string) error {
	return m.hub.ask(ctx, &request{method: http.MethodDelete, path: "/memory/note", query: url.Values{"key": {key}}})
}

// Search implements agenttools.NoteReader.
func (m notes) Search(ctx context.Context, q *agenttools.NoteQuery) ([]agenttools.Note, error) {
	values := url.Values{"tag": q.Tags}
	for name, v := range map[string]string{"q": q.Words, "category": q.Category, "namespace": q.Namespace} {
		if v != "" {
			values.Set(name, v)
		}
	}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	var answer struct {
		Notes []note `json:"notes"`
	}
	if err := m.hub.ask(ctx, &request{method: http.MethodGet, path: "/memory/search", query: values, out: &answer, again: true}); err != nil {
		return nil, err
	}
	var found []agenttools.Note
	for i := range answer.Notes {
		found = append(found, answer.Notes[i].known())
	}
	return found, nil
}
