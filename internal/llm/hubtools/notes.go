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
	"github.com/parley-a2a/parley/internal/llm/args"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

const (
	maxKey       = 512
	maxNoteHours = 30 * 24
	// maxHits is the largest number of notes that a search returns.
	maxHits = 20
	// maxNote is the largest number of characters of a note in one answer.
	maxNote = 64 << 10
	// maxOffset is the largest offset, in characters, of a piece of a text.
	maxOffset = 1 << 30
)

var offsetField = args.Field{
	Name: "offset", Kind: args.Whole, Max: maxOffset, Default: 0,
	Description: "The character to read from. Leave it out to read from the beginning; to read on, pass the offset that the last piece names.",
}

func (b *Toolbox) notes() []tool {
	key := args.Field{Name: "key", Required: true, Max: maxKey, Description: "The key of the note. A key without a slash is one of your own notes; one with slashes is a whole key, such as a working_memory_key."}
	own := key
	own.Description = "The key of one of your own notes, such as \"plan\"."
	search := args.Fields{
		{Name: "query", Max: 1000, Description: "Words to search for. Without them the newest notes come first."},
		{Name: "category", Max: 64, Description: "How the category begins, such as \"a2a-result\"."},
		{Name: "tags", Kind: args.Texts, Max: 64, Description: "Tags that must all be there."},
		{Name: "namespace", Max: maxKey, Description: "How keys begin, such as \"session/main\". Leave it out to search everything, results of agents included."},
	}
	save := args.Fields{
		own,
		{Name: "data", Required: true, Description: "The text to remember. Write structured data as JSON text."},
		{Name: "ttl_minutes", Kind: args.Number, Min: 0.1, Max: maxNoteHours * 60, Description: "How long to remember it. Notes are forgotten after a few minutes unless you say more."},
		{Name: "category", Max: 64, Description: "A kind of notes, such as \"plan\"."},
		{Name: "tags", Kind: args.Texts, Max: 64, Description: "Words to find it by."},
	}
	read := args.Fields{
		key, offsetField,
		{Name: "length", Kind: args.Whole, Min: 1, Max: maxNote, Default: maxNote, Description: "The number of characters to read at most."},
	}
	return []tool{
		{fields: read, run: b.getNote, Tool: llm.Tool{
			Name: "get_from_working_memory", Title: "Read a note", Output: schemaOf(readOutput), ReadOnly: true,
			Description: "Reads a note, or the result of an agent under its working_memory_key. A result is there once its task has ended. " +
				"A long text is read in pieces: while next_offset is there, call it again with the same key and that offset.",
		}},
		{fields: search, run: b.searchNotes, Tool: llm.Tool{
			Name: "search_working_memory", Title: "Search notes", Output: schemaOf(notesOutput), ReadOnly: true,
			Description: "Finds notes, and results of agents. It shows their beginnings: get_from_working_memory reads them.",
		}},
		{fields: save, run: b.saveNote, Tool: llm.Tool{
			Name: "save_to_working_memory", Title: "Write a note", Output: schemaOf(noteMembers), Idempotent: true,
			Description: "Remembers a text for a while. It replaces the note with the same key.",
		}},
		{fields: args.Fields{own}, run: b.deleteNote, Tool: llm.Tool{
			Name: "delete_from_working_memory", Title: "Delete a note", Output: schemaOf(deletedOutput), Idempotent: true, Destructive: true,
			Description: "Deletes one of your own notes before it expires.",
		}},
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
	About   string     `json:"about,omitempty"`
	Updated *time.Time `json:"updated,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	Score   float64    `json:"relevance_score,omitempty"`
}

// outline returns a note without its text. The words of callers and agents in its key, category
// and tags are labelled unless they are plain (guard.IsName).
func (b *Toolbox) outline(n *adminjson.Note) listedNote {
	l := listedNote{Key: b.shownKey(n.Key), Size: n.Size, Category: n.Category, Tags: filter(n.Tags), Score: n.Score}
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
	if !n.UpdatedAt.IsZero() {
		l.Updated = &n.UpdatedAt
	}
	if !n.ExpiresAt.IsZero() {
		l.Expires = &n.ExpiresAt
	}
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

// readNoteAnswer is the answer of get_from_working_memory.
type readNoteAnswer struct {
	listedNote
	Offset int `json:"offset,omitempty"`
	// NextOffset is the offset of the rest; nil at the end.
	NextOffset *int   `json:"next_offset,omitempty"`
	Next       string `json:"next,omitempty"`
}

func (b *Toolbox) getNote(ctx context.Context, c *call) (*llm.Result, error) {
	n, err := b.readNote(ctx, c.args.Text("key"))
	if err != nil {
		return nil, err
	}
	offset := int(c.args.Number("offset", 0))
	p := pieceOf(n.Text(), offset, int(c.args.Number("length", maxNote)), c.room(1))
	if p.from == p.to && offset > 0 {
		return problem("The note has %d characters, so that nothing is left at offset %d.", utf8.RuneCountInString(n.Text()), offset), nil
	}
	a := readNoteAnswer{listedNote: b.outline(n), Offset: offset}
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

func (b *Toolbox) searchNotes(ctx context.Context, c *call) (*llm.Result, error) {
	found, err := b.Hub.SearchNotes(ctx, &hubclient.NoteQuery{
		Words: c.args.Text("query"), Category: c.args.Text("category"), Tags: c.args.Texts("tags"),
		Namespace: strings.Trim(c.args.Text("namespace"), "/"), Limit: maxHits,
	})
	if err != nil {
		return nil, err
	}
	answer := struct {
		Notes []listedNote `json:"notes"`
		Note  string       `json:"note,omitempty"`
	}{Notes: []listedNote{}}
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

func (b *Toolbox) saveNote(ctx context.Context, c *call) (*llm.Result, error) {
	key, err := b.ownKey(c.args.Text("key"))
	if err != nil {
		return nil, err
	}
	note := &adminjson.NewNote{Value: c.args.Text("data"), Category: c.args.Text("category"), Tags: c.args.Texts("tags")}
	if ttl := time.Duration(c.args.Number("ttl_minutes", 0) * float64(time.Minute)); ttl > 0 {
		note.TTL = ttl.String()
	}
	n, err := b.Hub.SaveNote(ctx, key, note)
	if err != nil {
		return nil, err
	}
	l := b.outline(n)
	return structured(&l)
}

func (b *Toolbox) deleteNote(ctx context.Context, c *call) (*llm.Result, error) {
	key, err := b.ownKey(c.args.Text("key"))
	if err != nil {
		return nil, err
	}
	if err := b.Hub.DeleteNote(ctx, key); err != nil {
		return nil, err
	}
	return structured(&struct {
		Deleted string `json:"deleted"`
	}{cmp.Or(b.shownKey(key), c.args.Text("key"))})
}
