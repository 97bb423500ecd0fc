package hubtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

const (
	// maxHits is the largest number of notes that a search returns.
	maxHits = 20
	// maxNote is the largest number of characters of a note in one answer.
	maxNote = 64 << 10
)

// offsetArgs select a piece of a text.
type offsetArgs struct {
	Offset whole `json:"offset,omitempty" min:"0" max:"1073741824" default:"0" jsonschema:"The character to read from. Leave it out to read from the beginning; to read on, pass the offset that the last piece names."`
}

type readNoteArgs struct {
	Key string `json:"key" max:"512" jsonschema:"The key of the note. A key without a slash is one of your own notes; one with slashes is a whole key, such as a working_memory_key."`
	offsetArgs

	Length whole `json:"length,omitempty" min:"1" max:"65536" default:"65536" jsonschema:"The number of characters to read at most."`
}

type searchNotesArgs struct {
	Query     string   `json:"query,omitempty" max:"1000" jsonschema:"Words to search for. Without them the newest notes come first."`
	Category  string   `json:"category,omitempty" max:"64" jsonschema:"How the category begins, such as \"a2a-result\"."`
	Tags      []string `json:"tags,omitempty" max:"64" jsonschema:"Tags that must all be there."`
	Namespace string   `json:"namespace,omitempty" max:"512" jsonschema:"How keys begin, such as \"session/main\". Leave it out to search everything, results of agents included."`
}

// ownNoteArgs name a note of the model itself.
type ownNoteArgs struct {
	Key string `json:"key" max:"512" jsonschema:"The key of one of your own notes, such as \"plan\"."`
}

type saveNoteArgs struct {
	ownNoteArgs

	Data     string   `json:"data" jsonschema:"The text to remember. Write structured data as JSON text."`
	Minutes  float64  `json:"ttl_minutes,omitempty" min:"0.1" max:"43200" jsonschema:"How long to remember it. Notes are forgotten after a few minutes unless you say more."`
	Category string   `json:"category,omitempty" max:"64" jsonschema:"A kind of notes, such as \"plan\"."`
	Tags     []string `json:"tags,omitempty" max:"64" jsonschema:"Words to find it by."`
}

func (b *Toolbox) notes() []llm.Tool {
	return []llm.Tool{
		offer(b, llm.Tool{
			Name: "get_from_working_memory", Title: "Read a note", Output: resultOf[notePiece](), ReadOnly: true,
			Description: "Reads a note, or the result of an agent under its working_memory_key. A result is there once its task has ended. " +
				"A long text is read in pieces: while next_offset is there, call it again with the same key and that offset.",
		}, b.getNote),
		offer(b, llm.Tool{
			Name: "search_working_memory", Title: "Search notes", Output: resultOf[noteList](), ReadOnly: true,
			Description: "Finds notes, and results of agents. It shows their beginnings: get_from_working_memory reads them.",
		}, b.searchNotes),
		offer(b, llm.Tool{
			Name: "save_to_working_memory", Title: "Write a note", Output: resultOf[listedNote](), Idempotent: true,
			Description: "Remembers a text for a while. It replaces the note with the same key.",
		}, b.saveNote),
		offer(b, llm.Tool{
			Name: "delete_from_working_memory", Title: "Delete a note", Output: resultOf[deleted](), Idempotent: true, Destructive: true,
			Description: "Deletes one of your own notes before it expires.",
		}, b.deleteNote),
	}
}

// listedNote is a note in the form for a model.
type listedNote struct {
	Key      string   `json:"key"`
	Value    string   `json:"value,omitempty"`
	Preview  string   `json:"preview,omitempty"`
	Size     int64    `json:"size"`
	Category string   `json:"category,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	// About holds the labelled values that are not plain: of key, category and tags.
	About   string    `json:"about,omitempty"`
	Updated time.Time `json:"updated,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Score   float64   `json:"relevance_score,omitempty"`
}

// outline returns a note without its text. The words of callers and agents in its key, category
// and tags are labelled unless they are plain (guard.IsName).
func (b *Toolbox) outline(n *adminjson.Note) listedNote {
	l := listedNote{
		Key: b.shownKey(n.Key), Size: n.Size, Category: n.Category, Tags: filter(n.Tags), Score: n.Score,
		Updated: n.UpdatedAt, Expires: n.ExpiresAt,
	}
	var about []string
	if l.Key == "" {
		about = append(about, "key: "+n.Key)
	}
	if n.Category != "" && !guard.IsName(n.Category) {
		l.Category, about = "", append(about, "category: "+n.Category)
	}
	if len(l.Tags) < len(n.Tags) {
		l.Tags, about = nil, append(about, "tags: "+strings.Join(n.Tags, ", "))
	}
	l.About = b.label(b.author(n), strings.Join(about, "\n"))
	return l
}

// shownKey returns a key that the model can read the note with: the whole key if it is plain, or
// else that of one of its own notes without the session, which a caller may have named. It is
// empty if neither may stand outside of a label.
func (b *Toolbox) shownKey(key string) string {
	if IsPlainKey(key) {
		return key
	}
	rest, own := strings.CutPrefix(key, hubclient.SessionPrefix(b.SessionID()))
	if own && (IsPlainKey(rest) || !strings.Contains(rest, "/")) {
		return rest
	}
	return ""
}

// IsPlainKey reports whether the key of a note consists of plain names that are no order together.
func IsPlainKey(key string) bool {
	segments := strings.Split(key, "/")
	return !slices.ContainsFunc(segments, func(s string) bool { return !guard.IsName(s) }) && !guard.IsOrder(segments)
}

// shown returns a piece of the text of a note in the form for a model. Every note is labelled, those
// of the session itself too: a model may have saved there the words of others that it has read.
func (b *Toolbox) shown(n *adminjson.Note, p piece) string {
	text := p.whole[p.from:p.to]
	author := b.author(n)
	if text == "" {
		return text
	}
	if author == guard.Caller {
		author = guard.Note(b.SessionID())
	}
	return b.Guard.QuotePiece(author, p.whole, p.from, p.to).Text
}

// author returns the author of a note: an agent, another session, or the caller of this one.
func (b *Toolbox) author(n *adminjson.Note) guard.Origin {
	if agent := NoteAuthor(n.Category, n.Key); agent != "" {
		return agent
	}
	if s := strings.Split(n.Key, "/"); len(s) > 2 && s[0] == "session" && !strings.HasPrefix(n.Key, hubclient.SessionPrefix(b.SessionID())) {
		return guard.Note(s[1])
	}
	return guard.Caller
}

// NoteAuthor returns the agent that has written the text of a note; empty if its owner has.
func NoteAuthor(category, key string) guard.Origin {
	if !strings.HasPrefix(category, "a2a-") {
		return ""
	}
	if s := strings.Split(key, "/"); len(s) > 3 && (s[2] == "a2a" || s[1] == "notifications") {
		return guard.Agent(s[3])
	}
	return guard.Agent("unknown")
}

// notePiece is the answer of get_from_working_memory.
type notePiece struct {
	listedNote

	Offset int `json:"offset,omitempty"`
	// NextOffset is the offset of the rest; nil at the end.
	NextOffset *int   `json:"next_offset,omitempty"`
	Next       string `json:"next,omitempty"`
}

func (b *Toolbox) getNote(ctx context.Context, c *call, args *readNoteArgs) (*llm.Result, error) {
	n, err := b.readNote(ctx, args.Key)
	if err != nil {
		return nil, err
	}
	offset := int(args.Offset)
	p := pieceOf(n.Text(), offset, int(args.Length), c.room(1))
	if p.from == p.to && offset > 0 {
		return problem("The note has %d characters, so that nothing is left at offset %d.", utf8.RuneCountInString(n.Text()), offset), nil
	}
	a := notePiece{listedNote: b.outline(n), Offset: offset}
	a.Value = b.shown(n, p)
	if p.left > 0 {
		a.NextOffset = &p.next
		key := "the same key"
		if a.Key != "" {
			key = fmt.Sprintf("key %q", a.Key)
		}
		a.Next = fmt.Sprintf("%d more characters. Call get_from_working_memory with %s and offset %d to read on.", p.left, key, p.next)
	}
	return structured(&a)
}

// readNote reads the note that the model named. A key with a slash is a complete key, or else
// one of the model's own notes.
func (b *Toolbox) readNote(ctx context.Context, key string) (*adminjson.Note, error) {
	whole, absolute := strings.CutPrefix(key, "/")
	if !strings.Contains(key, "/") {
		whole = hubclient.SessionPrefix(b.SessionID()) + key
	}
	n, err := b.Hub.Note(ctx, whole)
	if errors.Is(err, hubclient.ErrNotFound) && !absolute && strings.Contains(key, "/") {
		n, err = b.Hub.Note(ctx, hubclient.SessionPrefix(b.SessionID())+key)
	}
	if errors.Is(err, hubclient.ErrNotFound) {
		return nil, b.noteMissing(ctx, key)
	}
	return n, err
}

// noteMissing returns an error that explains why there may be no note with a key.
func (b *Toolbox) noteMissing(ctx context.Context, key string) error {
	id := cmp.Or(hubclient.TaskOfKey(key), hubclient.TaskOfKey(hubclient.SessionPrefix(b.SessionID())+key))
	if id != "" {
		if sent, err := b.Hub.Task(ctx, id); err == nil && sent.Task != nil && !sent.Task.Status.State.Terminal() {
			return hubclient.NotFoundf("the task has not ended: it is %s. Its result is there when it has; do something else meanwhile", client.StateName(sent.Task.Status.State))
		}
	}
	return hubclient.NotFoundf("there is no note %s. Results of agents are kept for an hour, and only the last one of each agent in a conversation: get_task has the others. search_working_memory shows what there is", quote(key))
}

type noteList struct {
	Notes []listedNote `json:"notes"`
	Note  string       `json:"note,omitempty"`
}

func (b *Toolbox) searchNotes(ctx context.Context, _ *call, args *searchNotesArgs) (*llm.Result, error) {
	found, err := b.Hub.SearchNotes(ctx, &hubclient.NoteQuery{
		Words: args.Query, Category: args.Category, Tags: args.Tags, Namespace: strings.Trim(args.Namespace, "/"), Limit: maxHits,
	})
	if err != nil {
		return nil, err
	}
	answer := noteList{Notes: []listedNote{}}
	for i := range found {
		l := b.outline(&found[i])
		l.Preview = b.shown(&found[i], pieceOf(found[i].Text(), 0, maxNote, guard.MaxText))
		answer.Notes = append(answer.Notes, l)
	}
	if len(found) == 0 {
		answer.Note = "There are no such notes. Use fewer words, or leave out category, tags and namespace."
	}
	return structured(&answer)
}

// ownKey returns the complete key of one of the model's own notes.
func (b *Toolbox) ownKey(key string) (string, error) {
	mine := hubclient.SessionPrefix(b.SessionID())
	rest, ok := strings.CutPrefix(strings.TrimPrefix(key, "/"), mine)
	if !ok && (key[0] == '/' || strings.HasPrefix(key, "session/")) {
		return "", hubclient.Refusef("the note %s belongs to another session. You can change only your own notes: take a key such as \"plan\", which is below %s", quote(key), mine)
	}
	return mine + rest, nil
}

func (b *Toolbox) saveNote(ctx context.Context, _ *call, args *saveNoteArgs) (*llm.Result, error) {
	key, err := b.ownKey(args.Key)
	if err != nil {
		return nil, err
	}
	note := &adminjson.NewNote{Value: args.Data, Category: args.Category, Tags: args.Tags}
	if ttl := time.Duration(args.Minutes * float64(time.Minute)); ttl > 0 {
		note.TTL = ttl.String()
	}
	n, err := b.Hub.SaveNote(ctx, key, note)
	if err != nil {
		return nil, err
	}
	l := b.outline(n)
	return structured(&l)
}

type deleted struct {
	Key string `json:"deleted"`
}

func (b *Toolbox) deleteNote(ctx context.Context, _ *call, args *ownNoteArgs) (*llm.Result, error) {
	key, err := b.ownKey(args.Key)
	if err != nil {
		return nil, err
	}
	if err := b.Hub.DeleteNote(ctx, key); err != nil {
		return nil, err
	}
	return structured(&deleted{cmp.Or(b.shownKey(key), args.Key)})
}
