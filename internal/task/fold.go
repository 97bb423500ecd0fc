package task

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Fold is a whole task, rebuilt from its entries: history, artifacts and metadata. The zero
// Fold is a task without entries. It keeps the bytes of the entries and decodes none of them,
// so that unknown fields and the digits of numbers survive. The cost of adding an entry is
// proportional to its length, not to that of the task.
type Fold struct {
	// Version is the version of the last entry added.
	Version int64

	// messages are those of the caller and of statuses, in order of their versions.
	messages []message
	// current is the index of the current status's message plus one; zero if that status has
	// none. The message is not part of the history.
	current int

	artifacts []artifact
	// index maps artifact ids to indexes; nil while there are few artifacts.
	index map[a2a.ArtifactID]int

	// meta is the metadata of all status events; the later value of a name wins.
	meta members
	// others are the members of the task that the protocol does not define; the later value of
	// a name wins. status holds those of the current status, an object or nil.
	others members
	status []byte
}

type message struct {
	version int64
	// caller is set for messages that came from the caller.
	caller bool
	body   []byte
}

// Add advances f to the version of e, which must follow the version of f; otherwise it returns
// an error wrapping ErrGap. It retains the slices of e.
//
// An artifact entry creates its artifact or replaces it. With Append it appends its parts and
// merges its metadata, and its other members replace the earlier ones (specification §4.2.2).
func (f *Fold) Add(e *Entry) error {
	if e.Version != f.Version+1 {
		return fmt.Errorf("fold version %d after %d: %w", e.Version, f.Version, ErrGap)
	}
	f.Version = e.Version
	switch e.Kind {
	case Created, Message:
		f.messages = append(f.messages, message{e.Version, true, e.Body})
	case Status:
		f.addStatus(e)
	case Artifact:
		f.addArtifact(e)
	}
	if len(e.Others) > 0 {
		f.addOthers(e.Others)
	}
	return nil
}

// addOthers adds the unknown members that the task shows: its own, those of events, because
// later protocol versions may have them in the task as well, and those of the status.
func (f *Fold) addOthers(others []byte) {
	for level, obj := range rawjson.Fields(others) {
		switch level {
		case inStatus:
			f.status = obj
		case inEvent, inTask:
			for name, value := range rawjson.Fields(obj) {
				if !taskReserved.Has(name) {
					f.others.set(name, value)
				}
			}
		}
	}
}

// addStatus moves the message of the earlier status to the history. A repeated message stays
// one message.
func (f *Fold) addStatus(e *Entry) {
	if i := f.current - 1; i >= 0 && bytes.Equal(f.messages[i].body, e.Body) {
		f.messages = slices.Delete(f.messages, i, i+1)
	}
	f.current, f.status = 0, nil
	if len(e.Body) > 0 {
		f.messages = append(f.messages, message{e.Version, false, e.Body})
		f.current = len(f.messages)
	}
	f.meta.merge(e.Meta)
}

func (f *Fold) addArtifact(e *Entry) {
	i, ok := f.find(e.ArtifactID)
	if !ok {
		i = f.addArtifactID(e.ArtifactID)
	}
	a := &f.artifacts[i]
	if !e.Append {
		*a = artifact{id: e.ArtifactID}
	}
	a.version = e.Version
	a.add(e.Body)
}

// Size returns the number of bytes that the messages, artifacts and further members of the task need
// as JSON, approximately. It is less than the size of the log if that has changes which later ones
// replace, or which are not part of the task.
func (f *Fold) Size() int {
	n := f.meta.size() + f.others.size() + len(f.status)
	for i := range f.messages {
		n += len(f.messages[i].body) + 1
	}
	for i := range f.artifacts {
		a := &f.artifacts[i]
		n += len(`{"parts":[],"metadata":},`) + a.fields.size() + a.meta.size()
		for _, run := range a.parts {
			n += len(run) + 1
		}
	}
	return n
}

// maxLinear is the largest number of artifacts that are searched linearly.
const maxLinear = 8

// find returns the index of an artifact. It begins with the last one, which is the likeliest.
func (f *Fold) find(id a2a.ArtifactID) (int, bool) {
	if f.index != nil {
		i, ok := f.index[id]
		return i, ok
	}
	for i := len(f.artifacts) - 1; i >= 0; i-- {
		if f.artifacts[i].id == id {
			return i, true
		}
	}
	return 0, false
}

// addArtifactID adds a new artifact and returns its index.
func (f *Fold) addArtifactID(id a2a.ArtifactID) int {
	f.artifacts = append(f.artifacts, artifact{id: id})
	last := len(f.artifacts) - 1
	switch {
	case f.index != nil:
		f.index[id] = last
	case len(f.artifacts) > maxLinear:
		f.index = make(map[a2a.ArtifactID]int)
		for i := range f.artifacts {
			f.index[f.artifacts[i].id] = i
		}
	}
	return last
}

// Artifacts returns the number of artifacts.
func (f *Fold) Artifacts() int { return len(f.artifacts) }

// MessageEntry is a message of a task with its version.
type MessageEntry struct {
	// Version is the version of its entry.
	Version int64
	// Caller is set for messages that came from the caller, regardless of their role.
	Caller bool
	// Body is the message as v1.0 JSON.
	Body []byte
}

// EachMessage yields the messages of the task in order, including that of the current status.
func (f *Fold) EachMessage() iter.Seq[MessageEntry] {
	return func(yield func(MessageEntry) bool) {
		for i := range f.messages {
			if m := &f.messages[i]; !yield(MessageEntry{m.version, m.caller, m.body}) {
				return
			}
		}
	}
}

// asked returns the version of the last message of the caller.
func (f *Fold) asked() (version int64) {
	for i := range f.messages {
		if m := &f.messages[i]; m.caller {
			version = m.version
		}
	}
	return version
}

// Retire moves the message of the current status, if it has one, to the end of the history.
func (f *Fold) Retire() { f.current, f.status = 0, nil }

// Messages returns the number of messages in the history.
func (f *Fold) Messages() int { return f.historyLen() }

func (f *Fold) historyLen() int {
	if f.current > 0 {
		return len(f.messages) - 1
	}
	return len(f.messages)
}

// ReplyText returns the agent's answer as text: each text part of each artifact on lines of its
// own, except that a chunk continues the text before it. If no artifact has text, it returns the
// text of the current status's message.
func (f *Fold) ReplyText() string {
	var texts []string
	for i := range f.artifacts {
		var b strings.Builder
		for _, run := range f.artifacts[i].parts {
			writeText(&b, run)
		}
		if b.Len() > 0 {
			texts = append(texts, b.String())
		}
	}
	if len(texts) == 0 && f.current > 0 {
		return TextOf(f.messages[f.current-1].body)
	}
	return strings.Join(texts, "\n")
}

// TextOf returns the text parts of a message in v1.0 JSON, each on lines of its own.
func TextOf(body []byte) string {
	var b strings.Builder
	for name, value := range rawjson.Fields(body) {
		if name == "parts" {
			writeText(&b, inside(value))
		}
	}
	return b.String()
}

// writeText writes the texts of parts, the contents of an array without brackets, with a line end
// between two of them.
func writeText(b *strings.Builder, parts []byte) {
	some := false
	for part := range rawjson.Items(parts) {
		for name, value := range rawjson.Fields(part) {
			if name == "text" {
				s, _ := rawjson.String(value)
				if some && s != "" {
					b.WriteByte('\n')
				}
				some = some || s != ""
				b.WriteString(s)
			}
		}
	}
}

// inside returns the contents of an array without the brackets.
func inside(arr []byte) []byte {
	if len(arr) < 2 || arr[0] != '[' {
		return nil
	}
	return arr[1 : len(arr)-1]
}

// artifact is an artifact assembled from its chunks.
type artifact struct {
	id a2a.ArtifactID
	// version is that of the last change.
	version int64
	// fields are all members except parts and metadata.
	fields members
	// parts are the contents of the chunks' arrays of parts; none is empty.
	parts [][]byte
	meta  members
}

func (a *artifact) add(body []byte) {
	for name, value := range rawjson.Fields(body) {
		switch name {
		case "parts":
			if run := inside(value); len(run) > 0 {
				a.parts = append(a.parts, run)
			}
		case "metadata":
			a.meta.merge(value)
		default:
			a.fields.set(name, value)
		}
	}
}

func (a *artifact) append(dst []byte) []byte {
	dst = a.fields.appendList(append(dst, '{'))
	if a.fields.len() > 0 {
		dst = append(dst, ',')
	}
	dst = a.appendParts(append(dst, `"parts":[`...))
	dst = append(dst, ']')
	if a.meta.len() > 0 {
		dst = a.meta.append(append(dst, `,"metadata":`...))
	}
	return append(dst, '}')
}

// appendParts appends the contents of the array of parts. Text at the beginning of a chunk
// continues the text before it: a task shows it as one part, however the agent divided it.
func (a *artifact) appendParts(dst []byte) []byte {
	if len(a.parts) == 1 {
		return append(dst, a.parts[0]...)
	}
	w := partWriter{dst: dst}
	for _, run := range a.parts {
		first := true
		for part := range rawjson.Items(run) {
			w.add(part, first)
			first = false
		}
	}
	return w.dst
}

// partWriter writes the parts of an artifact that consists of several chunks.
type partWriter struct {
	dst   []byte
	begun bool
	// end follows the text of the last part. It is nil if no text can continue that part.
	end []byte
}

// add writes a part; first is set for the first one of a chunk.
func (w *partWriter) add(part []byte, first bool) {
	text, end := plainText(part)
	if first && end != nil && bytes.Equal(end, w.end) {
		w.dst = append(w.dst[:len(w.dst)-len(end)], text...)
		w.dst = append(w.dst, end...)
		return
	}
	if w.begun {
		w.dst = append(w.dst, ',')
	}
	w.begun, w.end = true, end
	if end == nil {
		w.dst = append(w.dst, part...)
		return
	}
	w.dst = append(append(append(w.dst, `{"text":"`...), text...), end...)
}

// endOfText ends a part that has a text and nothing else.
var endOfText = []byte(`"}`)

// plainText returns the text of a part as the inside of a JSON string, and what follows it in
// the part; nil if the part is not text, or has more than a text and a media type: such a part
// is whole.
func plainText(part []byte) (text, end []byte) {
	var mediaType []byte
	for name, v := range rawjson.Fields(part) {
		switch {
		case name == "text" && rawjson.KindOf(v) == rawjson.Text:
			text = v[1 : len(v)-1]
		case name == "mediaType":
			mediaType = v
		default:
			return nil, nil
		}
	}
	switch {
	case text == nil:
		return nil, nil
	case mediaType == nil:
		return text, endOfText
	}
	return text, slices.Concat([]byte(`","mediaType":`), mediaType, []byte{'}'})
}
