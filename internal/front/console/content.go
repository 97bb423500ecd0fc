package console

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/dialect"
)

const (
	// maxText is how many bytes of one text a page shows, and maxPage of all texts of a page.
	maxText = 32 << 10
	maxPage = 192 << 10
)

// maxRefs is the number of tasks to which a message refers that a page shows.
const maxRefs = 5

// wirePart is a part of a message or an artifact in the form of the protocol.
type wirePart struct {
	Text      *string
	Raw       *string
	URL       *string
	Data      json.RawMessage
	Filename  string
	MediaType string
	Metadata  struct {
		// Stored describes bytes that the hub keeps beside the log. Agents may write anything here.
		Stored json.RawMessage `json:"parley.part"`
	}
}

// maxImage is the maximum size of an image beside the log that a page shows, in bytes.
const maxImage = 4 << 20

// stored returns the path and the size of the bytes that the hub keeps for a part of a task; an
// empty path for a part whose content is elsewhere. The hub itself is asked for them, and only
// for this task, so that an agent gains nothing by the same metadata.
func (w *wirePart) stored(task string) (path string, size int) {
	var at struct {
		SHA256 string
		Size   int
	}
	if w.URL == nil || json.Unmarshal(w.Metadata.Stored, &at) != nil || len(at.SHA256) != 64 || strings.Trim(at.SHA256, "0123456789abcdef") != "" {
		return "", 0
	}
	if path = "/v1/parts/" + segment(task) + "/" + at.SHA256; !strings.HasSuffix(*w.URL, path) {
		return "", 0
	}
	return path, max(0, at.Size)
}

// content is a message or an artifact.
type content struct {
	Role        string
	MessageID   string
	ArtifactID  string
	Name        string
	Description string
	Parts       []wirePart
	// ReferenceTaskIDs are the tasks to which a message refers.
	ReferenceTaskIDs []string
	Metadata         json.RawMessage
}

// partView is a part on a page. Exactly one of Text, Data, File and Address describes it.
type partView struct {
	Text, Data string
	File       string // the name of a file whose bytes are in the log
	Address    string // where the content of a part is; shown as text
	Media      string
	Bytes      int
	Image      bool
	Audio      bool
	// Markdown is set for a text that is shown as Markdown, and Source for one that will be, once all
	// of its chunks are there.
	Markdown, Source bool
	// Tree is Data as a tree; empty for short and for large values.
	Tree *jsonValue
	// Version and Index find the part in the log; Cut is set if only the beginning is shown.
	Version int64
	Index   int
	Cut     bool
}

// entryView is an entry of a log on a page, or several chunks of one artifact.
type entryView struct {
	adminjson.LogEntry
	// Author is the author of the entry: "caller", "hub", or the agent.
	Author string
	// Role is a word for the style: caller, agent or hub.
	Role  string
	Title string
	Note  string
	// Artifact identifies the artifact for the script; empty for other entries.
	Key   string
	Parts []partView
	// Gap is the time since the entry before; Long is set for one that a reader should see.
	Gap  time.Duration
	Long bool
	// Last is the version of the last chunk, Chunks their number, and Until the time of the last.
	Last   int64
	Chunks int
	Until  time.Time
	Meta   string
	// Task and Owner are those of the log, for addresses.
	Task, Owner string
	// Refs are the first tasks to which the message refers.
	Refs []string
	// Begins is set for the first entry of a further attempt at the same message.
	Begins bool
	// Sources is set if a part is one: the script asks for it again.
	Sources bool
	// Before are notices of the hub since the entry before.
	Before []mark
	// Marks are remarks about deliveries to webhooks after the entry.
	Marks []mark
}

// mark is a remark between entries.
type mark struct {
	Tone, Text string
	At         *time.Time
	// ID is the id of the hub's event; empty for other remarks.
	ID string
}

// reader turns the entries of a log into those of a page.
type reader struct {
	task, owner, agent string
	before             time.Time
	room               int
	attempt            int64
	// as is the way to show texts: "text" unchanged, "markdown" as Markdown, or empty by their media types.
	as string
	// live is set if chunks come one by one.
	live bool
}

// view returns an entry without regard to the one before.
func (r *reader) view(e *adminjson.LogEntry) entryView {
	v := entryView{LogEntry: *e, Last: e.Version, Chunks: 1, Until: e.Time, Task: r.task, Owner: r.owner}
	if !r.before.IsZero() {
		v.Gap = e.Time.Sub(r.before)
		v.Long = v.Gap >= time.Second
	}
	r.before = e.Time
	v.Author, v.Role = "hub", "hub"
	if e.Attempt > 0 {
		v.Author, v.Role = r.agent, "agent"
		v.Begins = r.attempt != 0 && e.Attempt != r.attempt
		r.attempt = e.Attempt
	}
	operation, by := operationOf(e)
	if operation != "" {
		v.Author = cmp.Or(by, "operator")
	}
	var c content
	switch e.Kind {
	case "created", "message":
		v.Author, v.Role, v.Title = "caller", "caller", "message"
		r.attempt = 0                     // the run for a new message is not another attempt
		_ = json.Unmarshal(e.Message, &c) // the hub has checked it
		v.Refs = c.ReferenceTaskIDs[:min(len(c.ReferenceTaskIDs), maxRefs)]
	case "status":
		v.Title, v.Note = stateWord(e.State), operation
		_ = json.Unmarshal(e.Message, &c)
	case "artifact":
		_ = json.Unmarshal(e.Artifact, &c)
		v.Title, v.Note, v.Key = "artifact", c.Description, key(c.ArtifactID)
		if name := c.Name; name != "" {
			v.Note = strings.Trim(name+" – "+c.Description, " –")
		}
		if v.Note == "" {
			v.Note = c.ArtifactID
		}
	default:
		v.Title = "event"
		v.Parts = []partView{{Data: r.clip(pretty(e.Other)), Version: e.Version}}
	}
	for i := range c.Parts {
		v.Parts = append(v.Parts, r.part(&c.Parts[i], e.Version, i))
	}
	if r.live {
		v.unfinished()
	}
	v.Meta = metadata(e.Metadata, c.Metadata)
	return v
}

// operationOf returns the operation that has written an entry, and the operator, which is not known of an
// old one; both are empty for other entries.
func operationOf(e *adminjson.LogEntry) (operation, by string) {
	var meta struct {
		Operation string `json:"parley.operator"`
		By        string `json:"parley.by"`
	}
	if e.Kind == "status" && e.Attempt == 0 { // agents choose their own metadata
		_ = json.Unmarshal(e.Metadata, &meta) // without it there is no operation
	}
	return meta.Operation, meta.By
}

// unfinished shows an artifact whose last chunk may still come as written.
func (v *entryView) unfinished() {
	for i := range v.Parts {
		if p := &v.Parts[i]; p.Markdown && v.Key != "" && !v.LastChunk {
			p.Markdown, p.Source, v.Sources = false, true, true
		}
	}
}

// key returns a name for an id of others that is safe as an identifier.
func key(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// metadata returns the metadata of an entry and its content as text.
func metadata(all ...json.RawMessage) string {
	var b []string
	for _, m := range all {
		if s := pretty(m); s != "" && s != "{}" && s != "null" {
			b = append(b, s)
		}
	}
	return strings.Join(b, "\n")
}

func pretty(b []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil {
		return string(b)
	}
	return out.String()
}

// clip returns as much of a text as the page has room for.
func (r *reader) clip(s string) string {
	most := min(maxText, max(r.room, 0))
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	r.room -= len(s)
	return s
}

// part returns a part on a page.
func (r *reader) part(w *wirePart, version int64, index int) partView {
	v := partView{Media: w.MediaType, Version: version, Index: index}
	stored, size := w.stored(r.task)
	switch {
	case w.Text != nil:
		r.text(&v, *w.Text)
	case w.Raw != nil:
		v.File, v.Bytes = w.Filename, base64.StdEncoding.DecodedLen(len(*w.Raw))
		v.Image, v.Audio = imageType(w.MediaType) != "", audioType(w.MediaType) != ""
		if v.File == "" {
			v.File = "file without a name"
		}
	case stored != "":
		v.File, v.Bytes = w.Filename, size
		v.Image, v.Audio = imageType(w.MediaType) != "" && v.Bytes <= maxImage, audioType(w.MediaType) != ""
		if v.File == "" {
			v.File = "file without a name"
		}
	case w.URL != nil:
		v.Address = r.clip(*w.URL)
	case w.Data != nil:
		r.data(&v, w.Data)
	default:
		v.Data = "a part without content"
	}
	return v
}

// text sets the text of a part.
func (r *reader) text(v *partView, s string) {
	if mediaType(v.Media) == "application/json" && r.as == "" {
		if tree, size := folded([]byte(s)); tree != nil && size < r.room {
			r.room -= size
			v.Data, v.Tree, v.Bytes = "JSON", tree, len(s)
			return
		}
	}
	v.Text, v.Bytes = r.clip(s), len(s)
	v.Cut = len(v.Text) < v.Bytes
	switch mediaType(v.Media) {
	case "text/markdown", "text/x-markdown":
		v.Markdown = r.as != "text"
	case "":
		v.Markdown = r.as == "markdown"
	}
}

// data sets the JSON of a part.
func (r *reader) data(v *partView, b []byte) {
	s := pretty(b)
	if tree, size := folded(b); tree != nil && size < r.room && r.as != "text" {
		r.room -= size
		v.Data, v.Tree, v.Bytes = "JSON", tree, len(s)
		return
	}
	v.Data, v.Bytes = r.clip(s), len(s)
	v.Cut = len(v.Data) < v.Bytes
}

// mediaType returns a media type without its parameters; empty for none.
func mediaType(s string) string {
	kind, _, err := mime.ParseMediaType(s)
	if err != nil {
		return ""
	}
	return kind
}

// audioType returns the media type of a sound that a page may play, or an empty string.
func audioType(media string) string {
	switch kind := mediaType(media); kind {
	case "audio/mpeg", "audio/wav", "audio/ogg", "audio/webm", "audio/flac", "audio/mp4", "audio/aac":
		return kind
	case "audio/x-wav", "audio/wave":
		return "audio/wav"
	case "audio/mp3":
		return "audio/mpeg"
	}
	return ""
}

// imageType returns the media type of an image that a page may show, or an empty string. SVG is
// a document with scripts, and none of them.
func imageType(media string) string {
	switch kind := mediaType(media); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

// views returns the entries of a page, with the chunks of an artifact that follow each other as one.
func (r *reader) views(entries []adminjson.LogEntry) []entryView {
	var all []entryView
	for i := range entries {
		v := r.view(&entries[i])
		if n := len(all); n > 0 && v.Append && v.Key != "" && all[n-1].Key == v.Key && !v.Begins {
			all[n-1].join(&v)
			continue
		}
		all = append(all, v)
	}
	return all
}

// join adds a further chunk.
func (v *entryView) join(next *entryView) {
	v.Last, v.Until, v.Chunks, v.LastChunk = next.Version, next.Time, v.Chunks+1, next.LastChunk
	for _, p := range next.Parts {
		if n := len(v.Parts); n > 0 && p.Text != "" && v.Parts[n-1].Text != "" {
			v.Parts[n-1].Text += p.Text
			v.Parts[n-1].Bytes += p.Bytes
			v.Parts[n-1].Cut = v.Parts[n-1].Cut || p.Cut
			continue
		}
		v.Parts = append(v.Parts, p)
	}
}

// logPath returns the path of a log in /api/v1.
func (p *page) logPath(rest string, pairs ...any) string {
	id, owner := p.r.FormValue("id"), p.r.FormValue("owner")
	if owner != "" {
		pairs = append(pairs, "scope", "all", "owner", owner)
	}
	return "/api/v1/tasks/" + segment(id) + "/log" + rest + "?" + query(pairs...)
}

// entryOf reads the entry that a request names.
func (p *page) entryOf() (*adminjson.LogEntry, error) {
	v, err := strconv.ParseInt(p.r.FormValue("v"), 10, 64)
	if err != nil || v < 1 {
		return nil, &refusal{Code: http.StatusNotFound, Message: "The log has no such entry."}
	}
	var l adminjson.TaskLog
	if err := p.get(p.logPath("", "after", v-1, "limit", 1, "frames", p.r.FormValue("as")), &l); err != nil {
		return nil, err
	}
	if len(l.Entries) == 0 {
		return nil, &refusal{Code: http.StatusNotFound, Message: "The log has no such entry."}
	}
	return &l.Entries[0], nil
}

// showItem answers with the piece of a page for some entries that follow each other: chunks that the
// page has received one by one.
func showItem(p *page) error {
	from, to := number(p.r.FormValue("from")), number(p.r.FormValue("to"))
	if from < 1 || to < from || to-from >= firstEntries {
		return &refusal{Code: http.StatusBadRequest, Message: "The versions are wrong."}
	}
	var l adminjson.TaskLog
	if err := p.get(p.logPath("", "after", from-1, "limit", to-from+1), &l); err != nil {
		return err
	}
	r := p.readerOf(&l)
	all := r.views(l.Entries)
	if len(all) == 0 {
		return &refusal{Code: http.StatusNotFound, Message: "The log has no such entry."}
	}
	b, err := p.piece("entry", all[0])
	if err != nil {
		return err
	}
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = p.w.Write(b) // an error means that the browser has disconnected
	return nil
}

// dialects returns the names of the dialects in which a page shows an entry.
func dialects() []string { return slices.Insert(dialect.Names(), 2, dialect.V03Proto.String()) }

// entryPage is an entry in one dialect, or in its stored form.
type entryPage struct {
	Task, Owner, As string
	Version         int64
	Dialects        []string
	Frames          []string
	Cut             bool
}

func (v entryPage) title() string { return fmt.Sprintf("#%d of %s", v.Version, short(v.Task)) }

// showEntry answers with the bytes of an entry on a page.
func showEntry(p *page) error {
	e, err := p.entryOf()
	if err != nil {
		return err
	}
	v := entryPage{Task: p.r.FormValue("id"), Owner: p.r.FormValue("owner"), As: p.r.FormValue("as"), Version: e.Version, Dialects: dialects()}
	frames := e.Frames
	if v.As == "" {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		frames = []json.RawMessage{b}
	}
	r := &reader{room: maxPage}
	for _, f := range frames {
		text := pretty(f)
		shown := r.clip(text)
		v.Frames, v.Cut = append(v.Frames, shown), v.Cut || len(shown) < len(text)
	}
	p.show(http.StatusOK, "entry-page", v)
	return nil
}

// entry answers with an entry of a log as JSON.
func entry(p *page) error {
	e, err := p.entryOf()
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	p.w.Header().Set("Content-Type", "application/json")
	_, _ = p.w.Write(b) // an error means that the browser has disconnected
	return nil
}

// part answers with the bytes of a part: an image, or a file to save.
func part(p *page) error {
	e, err := p.entryOf()
	if err != nil {
		return err
	}
	var c content
	_ = json.Unmarshal(firstOf(e.Artifact, e.Message), &c) // without parts there is none
	i, err := strconv.Atoi(p.r.FormValue("part"))
	if err != nil || i < 0 || i >= len(c.Parts) {
		return &refusal{Code: http.StatusNotFound, Message: "The entry has no such part."}
	}
	return p.serve(&c.Parts[i], fileName(c.Parts[i].Filename, e.Version, i))
}

// serve answers with the bytes of a part.
func (p *page) serve(w *wirePart, name string) error {
	kind, how := cmp.Or(imageType(w.MediaType), audioType(w.MediaType)), "inline"
	if kind == "" || p.r.FormValue("save") != "" {
		kind, how = "application/octet-stream", "attachment"
	}
	header := p.w.Header()
	headers := func() {
		header.Set("Content-Type", kind)
		header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		header.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": name}))
	}
	b := []byte(w.Data)
	switch path, _ := w.stored(p.r.FormValue("id")); {
	case path != "":
		return p.serveStored(path, headers)
	case w.Raw != nil:
		raw, err := base64.StdEncoding.DecodeString(*w.Raw)
		if err != nil {
			return &refusal{Code: http.StatusUnprocessableEntity, Message: "The bytes of this part are not base64."}
		}
		b = raw
	case w.Text != nil:
		b = []byte(*w.Text)
	}
	headers()
	http.ServeContent(p.w, p.r, "", time.Time{}, bytes.NewReader(b))
	return nil
}

// serveStored answers with bytes that the hub keeps beside the log, or with the range of them that
// a browser asks for.
func (p *page) serveStored(path string, headers func()) error {
	r, err := p.request(p.r.Context(), http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if of := p.r.Header.Get("Range"); of != "" {
		r.Header.Set("Range", of)
	}
	resp, err := p.roundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	headers()
	for _, name := range []string{"Content-Range", "Content-Length", "Accept-Ranges"} {
		if v := resp.Header.Get(name); v != "" {
			p.w.Header().Set(name, v)
		}
	}
	p.w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(p.w, resp.Body) // an error means that the browser has disconnected
	return nil
}

func firstOf(all ...json.RawMessage) json.RawMessage {
	for _, b := range all {
		if len(b) > 0 {
			return b
		}
	}
	return nil
}

// fileName returns a name for a file to save, without folders and unusual characters.
func fileName(name string, version int64, index int) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unseen(r) || strings.ContainsRune(`<>:"|?*`+"\n\t", r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, name)
	if name = strings.Trim(name, ". "); name == "" || len(name) > 200 {
		return fmt.Sprintf("part-%d-%d", version, index)
	}
	return name
}
