package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/memory"
)

type memoryCmd struct {
	List   memoryListCmd   `cmd:"" help:"List notes by the prefix of their keys."`
	Get    memoryGetCmd    `cmd:"" help:"Print a note."`
	Set    memorySetCmd    `cmd:"" help:"Save a note."`
	Delete memoryDeleteCmd `cmd:"" help:"Delete a note, several notes, or a session."`
	Search memorySearchCmd `cmd:"" help:"Search notes by words, category and tags."`
	Watch  memoryWatchCmd  `cmd:"" help:"Print notes when they are set."`
}

const memoryPath = adminapi.Root + "/memory"

type memoryListCmd struct {
	hubFlags
	Prefix   string `arg:"" optional:"" help:"A prefix of the keys." placeholder:"PREFIX"`
	Category string `help:"A prefix of the categories." placeholder:"TEXT"`
	format
}

func (c *memoryListCmd) Run(in interrupts, o *OS) error {
	q := url.Values{"prefix": {c.Prefix}, "category": {c.Category}}
	return noteTable(o, c.format).print(o, pages(in.soft, &c.hubFlags, memoryPath+"?"+q.Encode(), func(p *adminjson.NoteList) ([]adminjson.Note, string) {
		return p.Notes, nextPage("after", p.After)
	}))
}

func noteTable(o *OS, f format) *table[*adminjson.Note] {
	return &table[*adminjson.Note]{
		heads: "KEY\tCATEGORY\tENDS IN\tTEXT", none: "No notes.", format: f,
		row: func(n *adminjson.Note) []any {
			end := n.ExpiresAt.Format(time.RFC3339)
			if o.Terminal && !f.wide() {
				end = time.Until(n.ExpiresAt).Round(time.Second).String()
			}
			return []any{n.Key, n.Category, end, n.Preview}
		},
	}
}

type memoryGetCmd struct {
	hubFlags
	Key string `arg:"" help:"The key of the note." placeholder:"KEY"`
	format
}

func (c *memoryGetCmd) Run(in interrupts, o *OS) error {
	if err := checkLength(c.Key); err != nil {
		return err
	}
	var n adminjson.Note
	if err := c.ask(in.soft, "GET "+noteAt(c.Key), nil, &n); err != nil {
		return err
	}
	return c.printNote(o.Stdout, &n)
}

// checkLength refuses a key that is too long for a request. A hub would refuse it, too.
func checkLength(key string) error {
	if len(key) <= memory.MaxKey {
		return nil
	}
	return usagef("%w", memory.CheckPrefix(key))
}

func noteAt(key string) string {
	return memoryPath + "/note?" + url.Values{"key": {key}}.Encode()
}

func (c *memoryGetCmd) printNote(w io.Writer, n *adminjson.Note) error {
	if c.data() {
		return c.encode(w, n)
	}
	text := ""
	if n.Value != nil {
		text = *n.Value
	}
	_, err := fmt.Fprintln(w, strings.TrimSuffix(text, "\n"))
	return err
}

type memorySetCmd struct {
	hubFlags
	Key      string   `arg:"" help:"The key of the note: segments between slashes." placeholder:"KEY"`
	Text     *string  `arg:"" optional:"" help:"The text; without it, standard input, which must not be empty." placeholder:"TEXT"`
	TTL      string   `name:"ttl" help:"How long to keep it, such as 2h. The default is set by the hub, usually 5m." placeholder:"TIME"`
	Category string   `help:"The kind of the note." placeholder:"TEXT"`
	Tag      []string `help:"A tag to find it by. May be repeated." placeholder:"WORD"`
	format
}

func (c *memorySetCmd) Run(in interrupts, o *OS) error {
	if err := checkLength(c.Key); err != nil {
		return err
	}
	text, err := c.text(o.Stdin)
	if err != nil {
		return err
	}
	var n adminjson.Note
	ask := &adminjson.NewNote{Value: text, Category: c.Category, Tags: c.Tag, TTL: c.TTL}
	if err := c.ask(in.soft, "PUT "+noteAt(c.Key), ask, &n); err != nil {
		return err
	}
	if c.data() {
		return c.encode(o.Stdout, &n)
	}
	_, err = fmt.Fprintf(o.Stdout, "%s until %s\n", n.Key, n.ExpiresAt.Format(time.RFC3339))
	return err
}

// text returns the text of the note. Empty standard input is an error: it is more often a
// mistake than an empty note.
func (c *memorySetCmd) text(stdin io.Reader) (string, error) {
	if c.Text != nil {
		return *c.Text, nil
	}
	b, err := io.ReadAll(io.LimitReader(stdin, maxAnswer))
	if err != nil {
		return "", err
	}
	if len(b) == 0 {
		return "", usagef("standard input is empty; for a note without text, give \"\" as the text")
	}
	return string(b), nil
}

type memoryDeleteCmd struct {
	hubFlags
	Key     string `arg:"" optional:"" help:"The key of the note." placeholder:"KEY"`
	Prefix  string `help:"Delete all notes whose keys have this prefix." placeholder:"PREFIX"`
	Session string `help:"End a session and delete its notes; later results become notifications." placeholder:"ID"`
	format
}

func (c *memoryDeleteCmd) Run(in interrupts, o *OS) error {
	path, chosen := noteAt(c.Key), 0
	for _, s := range []string{c.Key, c.Prefix, c.Session} {
		if s != "" {
			chosen++
		}
	}
	if err := errors.Join(checkLength(c.Key), checkLength(c.Prefix)); err != nil {
		return err
	}
	switch {
	case chosen != 1:
		return usagef("set one of a key, --prefix and --session")
	case c.Prefix != "":
		path = memoryPath + "/note?" + url.Values{"prefix": {c.Prefix}}.Encode()
	case c.Session != "":
		path = memoryPath + "/session?" + url.Values{"id": {c.Session}}.Encode()
	}
	var d adminapi.Deleted
	if err := c.ask(in.soft, "DELETE "+path, nil, &d); err != nil {
		return err
	}
	if c.data() {
		return c.encode(o.Stdout, &d)
	}
	_, err := fmt.Fprintf(o.Stdout, "deleted: %d\n", d.Deleted)
	return err
}

type memorySearchCmd struct {
	hubFlags
	Words     []string `arg:"" optional:"" help:"Words to search for; without them, the newest notes come first." placeholder:"WORD"`
	Category  string   `help:"A prefix of the categories." placeholder:"TEXT"`
	Tag       []string `help:"A tag that the notes must have. May be repeated." placeholder:"WORD"`
	Namespace string   `help:"The first segments of the keys." placeholder:"TEXT"`
	Limit     int      `help:"The maximum number of notes, up to 20." placeholder:"N"`
	format
}

func (c *memorySearchCmd) Run(in interrupts, o *OS) error {
	q := url.Values{"q": {strings.Join(c.Words, " ")}, "category": {c.Category}, "tag": c.Tag, "namespace": {c.Namespace}}
	if c.Limit != 0 {
		q.Set("limit", strconv.Itoa(c.Limit))
	}
	var found adminjson.NoteList
	if err := c.ask(in.soft, "GET "+memoryPath+"/search?"+q.Encode(), nil, &found); err != nil {
		return err
	}
	return noteTable(o, c.format).print(o, each(found.Notes))
}
