package recorder

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/task"
)

// Categories of notes.
const (
	CategoryResult       = "a2a-result"
	CategoryData         = "a2a-result-data"
	CategoryOutcome      = "a2a-outcome"
	CategoryNotification = "a2a-notification"
)

// maxInline is the largest length in bytes of a text that is stored in its note. A longer one
// stays in the log of the task.
const maxInline = 32 << 10

// ending is the result of a task.
type ending struct {
	recordRequest
	head *task.Head
	// asked is the caller's first message, text the agent's answer, and data the structured
	// parts of it as JSON; nil if there are none.
	asked, text string
	data        []byte
	// unfulfilled is set if the task is completed, but marked as not fulfilled.
	unfulfilled bool
}

// write writes the notes of an ended task.
func (r *Recorder) write(ctx context.Context, m *task.Sidecar) error {
	if !m.Head.State.Terminal() {
		return nil
	}
	e := ending{head: &m.Head}
	if err := json.Unmarshal(m.Data, &e.recordRequest); err != nil {
		return fmt.Errorf("record request of task %s: %w", m.Head.ID, err)
	}
	w, err := wholeOf(ctx, r.cfg.Store, e.head.Key)
	if err != nil {
		return fmt.Errorf("read task %s: %w", e.head.ID, err)
	}
	e.asked, e.text, e.data, e.unfulfilled = w.asked, w.text(), w.data(), w.unfulfilled()
	if e.Session != "" {
		if err := r.result(ctx, &e); err != nil {
			return err
		}
	}
	if e.Outcome && m.Head.State == task.Completed && !e.unfulfilled {
		return r.outcome(ctx, &e)
	}
	return nil
}

// whole is a task with its caller's first message.
type whole struct {
	fold task.Fold
	// last is the last status, or the first entry of the task.
	last  task.Entry
	asked string
}

func wholeOf(ctx context.Context, log task.Store, key task.Key) (*whole, error) {
	w := new(whole)
	for {
		entries, err := log.Read(ctx, key, w.fold.Version)
		if err != nil || len(entries) == 0 {
			return w, err
		}
		for i := range entries {
			e := &entries[i]
			switch e.Kind {
			case task.Created:
				w.asked, w.last = task.TextOf(e.Body), task.Entry{State: e.State}
			case task.Status:
				w.last = *e
			}
			if err := w.fold.Add(e); err != nil {
				return nil, err
			}
		}
	}
}

// word returns a state in lower case.
func word(s task.State) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_"))
}

// unfulfilled reports whether a task is completed but marked as not fulfilled, for example by a
// gate.
func (w *whole) unfulfilled() bool {
	unfulfilled := func(meta []byte) bool { return string(field(meta, "fulfilled")) == "false" }
	// Some agents have metadata only in the message.
	return w.last.State == task.Completed && (unfulfilled(w.last.Meta) || unfulfilled(field(w.last.Body, "metadata")))
}

// text returns the answer as text. It states whether the task was not fulfilled or not
// completed, so that readers do not mistake the text for a success.
func (w *whole) text() string {
	text := w.fold.ReplyText()
	switch {
	case w.unfulfilled():
		return strings.TrimSpace("The task was not fulfilled. " + text)
	case w.last.State != task.Completed:
		text = memory.ReplyText(&w.last, text)
		return strings.TrimSpace("The task was not completed; it ended as " + word(w.last.State) + ". " + text)
	case text == "":
		return "The task was completed. There is no text."
	}
	return text
}

// data returns the structured parts of the artifacts or, if they have none, of the last status's
// message: the single value, or an array of several. It returns nil if there are none.
func (w *whole) data() []byte {
	var parts [][]byte
	add := func(holder []byte) {
		for part := range rawjson.Elements(field(holder, "parts")) {
			if data := field(part, "data"); data != nil {
				parts = append(parts, data)
			}
		}
	}
	all := w.fold.AppendTask(nil, new(task.Head), task.TaskOptions{Artifacts: true})
	for artifact := range rawjson.Elements(field(all, "artifacts")) {
		add(artifact)
	}
	if len(parts) == 0 && w.last.Kind == task.Status {
		add(w.last.Body)
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']')
}

// result writes the result for the caller's session, or a notification if the session has
// ended.
func (r *Recorder) result(ctx context.Context, e *ending) error {
	agent, id := memory.Segment(string(e.head.Agent)), memory.Segment(string(e.head.ID))
	tags := []string{tag(string(e.head.Agent)), tag(string(e.head.ID)), word(e.head.State)}
	if e.unfulfilled {
		tags[2] = "unfulfilled"
	}
	gone, err := r.gone(ctx, e)
	if err != nil {
		return err
	}
	if gone {
		return r.put(ctx, e, "text", e.text, &memory.Set{
			Key:      memory.Segment(r.cfg.Primary) + "/notifications/a2a/" + agent + "/" + id,
			Category: CategoryNotification, Tags: tags, TTL: r.cfg.OutcomeTTL,
		})
	}
	all := "session/" + memory.Segment(e.Session) + "/a2a/" + agent + "/"
	set := memory.Set{Key: all + id + "/result", Category: CategoryResult, Tags: tags, TTL: r.cfg.ResultTTL}
	if e.data != nil {
		data := set
		data.Key, data.Category = set.Key+".data", CategoryData
		if err := r.put(ctx, e, "data", string(e.data), &data); err != nil {
			return err
		}
	}
	// The result is written last, so that its watchers also find the data.
	if err := r.put(ctx, e, "text", e.text, &set); err != nil {
		return err
	}
	return r.dropOlder(ctx, e, all, all+id+"/")
}

// put writes a note to the memory of the caller. A text that is too long stays in the log.
func (r *Recorder) put(ctx context.Context, e *ending, kind, text string, s *memory.Set) error {
	s.Owner, s.Value = e.head.Owner, text
	if most := min(maxInline, r.cfg.Notes.MaxValue()); len(text) > most {
		s.Ref, s.Size = kind+":"+strconv.FormatInt(int64(e.head.Key), 10), int64(len(text))
		s.Value = beginning(text, most)
	}
	_, err := r.cfg.Notes.Set(ctx, s)
	return err
}

// beginning returns the first bytes of a text, at most most, in whole runes.
func beginning(text string, most int) string {
	text = memory.Cut(text, memory.Indexed)
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// dropOlder deletes the results that were stored before the task was requested. Results of
// concurrent requests to an agent are kept.
func (r *Recorder) dropOlder(ctx context.Context, e *ending, all, but string) error {
	owner := e.head.Owner
	found, _, err := r.cfg.Notes.List(ctx, &memory.List{Owner: owner, Prefix: all})
	if err != nil {
		return err
	}
	for _, n := range found {
		if strings.HasPrefix(n.Key, but) || task.MillisOf(n.UpdatedAt) > e.At {
			continue
		}
		if err := r.cfg.Notes.Delete(ctx, owner, n.Key); err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
	}
	return nil
}

// gone reports whether the session of the task has ended.
func (r *Recorder) gone(ctx context.Context, e *ending) (bool, error) {
	if time.Since(e.At.Time()) >= r.cfg.SessionTTL {
		return true, nil
	}
	n, err := r.cfg.Notes.Get(ctx, e.head.Owner, closedKey(e.Session))
	if errors.Is(err, memory.ErrNotFound) {
		return false, nil
	}
	return err == nil && task.MillisOf(n.UpdatedAt) >= e.At, err
}

func closedKey(session string) string { return memory.ClosedSessions + "/" + memory.Segment(session) }

// CloseSession deletes the notes of a session of an owner, and returns their number. Later
// results of its tasks become notifications. A later message with the session opens it again.
func (r *Recorder) CloseSession(ctx context.Context, owner task.Owner, session string) (int, error) {
	if session == "" {
		return 0, fmt.Errorf("close session: %w: it has no name", memory.ErrInvalid)
	}
	_, err := r.cfg.Notes.Set(ctx, &memory.Set{Owner: owner, Key: closedKey(session), TTL: r.cfg.SessionTTL})
	if err != nil {
		return 0, fmt.Errorf("close session: %w", err)
	}
	return r.cfg.Notes.DeleteAll(ctx, owner, "session/"+memory.Segment(session)+"/")
}

// Limits of the texts in an outcome, in characters.
const (
	maxAsked  = 500
	maxAnswer = 4000
)

// outcome writes the outcome of a task for the hub itself.
func (r *Recorder) outcome(ctx context.Context, e *ending) error {
	skill := cmp.Or(e.Skill, string(e.head.Agent))
	place := cmp.Or(e.head.ContextID, string(e.head.ID))
	_, err := r.cfg.Notes.Set(ctx, &memory.Set{
		Owner: r.cfg.Owner,
		Key:   "session/" + memory.Segment(r.cfg.Primary) + "/a2a-outcomes/" + memory.Segment(skill) + "/" + memory.Segment(place),
		Value: beginning(fmt.Sprintf("On %s %s asked %s (%s): %s\nOutcome: %s",
			e.head.StatusAt.Time().Format("2006-01-02 15:04:05 UTC"), e.Caller, e.head.Agent, skill,
			memory.Clip(e.asked, maxAsked), memory.Cut(e.text, maxAnswer)), r.cfg.Notes.MaxValue()),
		Category: CategoryOutcome,
		Tags:     append([]string{tag(e.Caller)}, keywords(e.asked+"\n"+e.text, maxKeywords)...),
		TTL:      r.cfg.OutcomeTTL,
	})
	return err
}

// Fetch returns a function that reads the whole text of a note from the log of its task. It is
// for the field Fetch of memory.Notes.
func Fetch(log task.Store) func(context.Context, *memory.Note) (string, error) {
	return func(ctx context.Context, n *memory.Note) (string, error) {
		kind, number, _ := strings.Cut(n.Ref, ":")
		key, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return "", fmt.Errorf("reference %q: %w", n.Ref, memory.ErrNotFound)
		}
		w, err := wholeOf(ctx, log, task.Key(key))
		switch {
		case errors.Is(err, task.ErrNotFound):
			return "", fmt.Errorf("its task is gone: %w", memory.ErrNotFound)
		case err != nil:
			return "", err
		case kind == "data":
			return string(w.data()), nil
		}
		return w.text(), nil
	}
}
