package adminapi

import (
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/task"
)

// Memory holds the notes and conversations of the hub.
type Memory struct {
	// Notes, Turns and Sessions are required.
	Notes    *memory.Notes
	Turns    *memory.Turns
	Sessions *recorder.Recorder
}

// Deleted is the answer of a DELETE.
type Deleted struct {
	// Deleted is the number of deleted notes.
	Deleted int `json:"deleted"`
}

// Turn is one turn of a conversation.
type Turn struct {
	// Role is "caller", "agent" or "hub".
	Role string    `json:"role"`
	Name string    `json:"name,omitempty"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// TurnList is the answer of GET /api/v1/memory/conversation.
type TurnList struct {
	// Session is the name of the conversation, "a2a-inbound/" and the context.
	Session string `json:"session"`
	Turns   []Turn `json:"turns"`
}

// maxNoteBody is the largest request that sets a note. The notes have limits of their own.
const maxNoteBody = 8 << 20

var errNoNote = dialect.Report{
	Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "NOTE_NOT_FOUND"},
	Message: "no such note",
}

func ownerOf(r *http.Request) task.Owner { return auth.PrincipalFrom(r.Context()).Owner() }

func badNote(r *http.Request, err error) error {
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return named(errNoNote, r.URL.Query().Get("key"))
	case errors.Is(err, memory.ErrKey):
		return apierror.Field(a2a.ErrInvalidParams, "key", "%s", err.Error())
	case errors.Is(err, memory.ErrTooLarge):
		return apierror.New(apierror.ErrTooLarge, "%s", err.Error())
	case errors.Is(err, memory.ErrInvalid):
		return apierror.New(a2a.ErrInvalidParams, "%s", err.Error())
	}
	return err
}

func entryNote(e *memory.Entry) adminjson.Note {
	return adminjson.Note{
		Key: e.Key, Preview: e.Preview, Size: e.Size, Category: e.Category, Tags: e.Tags,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, ExpiresAt: e.ExpiresAt,
	}
}

// listNotes answers with the notes whose keys have the prefix.
func (h *Handler) listNotes(r *http.Request) (*adminjson.NoteList, error) {
	q := r.URL.Query()
	limit, err := numberOf(q, "limit", 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	found, more, err := h.Memory.Notes.List(r.Context(), &memory.List{
		Owner: ownerOf(r), Prefix: q.Get("prefix"), After: q.Get("after"), Category: q.Get("category"), Limit: limit,
	})
	if err != nil {
		return nil, badNote(r, err)
	}
	answer := adminjson.NoteList{Notes: []adminjson.Note{}}
	for i := range found {
		answer.Notes = append(answer.Notes, entryNote(&found[i]))
	}
	if more {
		answer.After = found[len(found)-1].Key
	}
	return &answer, nil
}

// searchNotes answers with the notes that match, the best first.
func (h *Handler) searchNotes(r *http.Request) (*adminjson.NoteList, error) {
	q := r.URL.Query()
	limit, err := numberOf(q, "limit", 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	hits, err := h.Memory.Notes.Search(r.Context(), &memory.Search{
		Owner: ownerOf(r), Text: q.Get("q"), Category: q.Get("category"), Tags: q["tag"],
		Namespace: q.Get("namespace"), Limit: limit,
	})
	if err != nil {
		return nil, badNote(r, err)
	}
	answer := adminjson.NoteList{Notes: []adminjson.Note{}}
	for i := range hits {
		n := entryNote(&hits[i].Entry)
		n.Score = hits[i].Score
		answer.Notes = append(answer.Notes, n)
	}
	return &answer, nil
}

// whole returns a note with its text.
func whole(n *memory.Note) *adminjson.Note {
	return &adminjson.Note{
		Key: n.Key, Value: &n.Value, Size: n.Size, Category: n.Category, Tags: n.Tags,
		CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt, ExpiresAt: n.ExpiresAt,
	}
}

func (h *Handler) note(r *http.Request) (*adminjson.Note, error) {
	n, err := h.Memory.Notes.Get(r.Context(), ownerOf(r), r.URL.Query().Get("key"))
	if err != nil {
		return nil, badNote(r, err)
	}
	return whole(&n), nil
}

func (h *Handler) setNote(r *http.Request, ask *adminjson.NewNote) (*adminjson.Note, error) {
	var ttl time.Duration
	if ask.TTL != "" {
		var err error
		if ttl, err = time.ParseDuration(ask.TTL); err != nil || ttl <= 0 {
			return nil, apierror.Field(a2a.ErrInvalidParams, "ttl", "is not a time like 5m")
		}
	}
	n, err := h.Memory.Notes.Set(r.Context(), &memory.Set{
		Owner: ownerOf(r), Key: r.URL.Query().Get("key"), Value: ask.Value, Category: ask.Category, Tags: ask.Tags, TTL: ttl,
	})
	if err != nil {
		return nil, badNote(r, err)
	}
	return whole(&n), nil
}

// deleteNote deletes a note, or all whose keys have the prefix.
func (h *Handler) deleteNote(r *http.Request) (*Deleted, error) {
	q, deleted := r.URL.Query(), 1
	var err error
	if prefix := q.Get("prefix"); prefix != "" && q.Get("key") == "" {
		deleted, err = h.Memory.Notes.DeleteAll(r.Context(), ownerOf(r), prefix)
	} else {
		err = h.Memory.Notes.Delete(r.Context(), ownerOf(r), q.Get("key"))
	}
	if err != nil {
		return nil, badNote(r, err)
	}
	return &Deleted{deleted}, nil
}

func (h *Handler) closeSession(r *http.Request) (*Deleted, error) {
	n, err := h.Memory.Sessions.CloseSession(r.Context(), ownerOf(r), r.URL.Query().Get("id"))
	if err != nil {
		return nil, badNote(r, err)
	}
	return &Deleted{n}, nil
}

func (h *Handler) conversation(r *http.Request) (*TurnList, error) {
	id := r.URL.Query().Get("context")
	turns, err := h.Memory.Turns.Continue(r.Context(), ownerOf(r), id)
	if err != nil {
		return nil, err
	}
	answer := TurnList{Session: memory.SessionOf(ownerOf(r), id, "").Name, Turns: []Turn{}}
	for _, t := range turns {
		answer.Turns = append(answer.Turns, Turn{Role: t.Role, Name: t.Name, Text: t.Text, At: t.At})
	}
	return &answer, nil
}
