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

// Fold is a whole task, rebuilt from its entries: history, artifacts and metadata.
// The zero Fold is a task without entries. It keeps the bytes of the entries and
// decodes none of them, so that unknown fields and the digits of numbers survive;
// adding an entry costs what the entry is long, not what the task is.
type Fold struct {
	// Version is the version of the last entry added.
	Version int64

	// messages are those of the caller and of statuses, in order of their versions.
	messages []message
	// current is one more than the place of the message of the current status,
	// which is not part of the history; zero if that status has none.
	current int

	artifacts []artifact
	// places are those of many artifacts by their ids; nil while there are few.
	places map[a2a.ArtifactID]int

	// meta is the metadata of all status events; the later value of a name wins.
	meta members
	// others are the members of the task that the protocol does not have; the later value
	// of a name wins. status has those of the current status, an object or nil.
	others members
	status []byte
}

type message struct {
	version int64
	// caller is set for messages that came from the caller.
	caller bool
	body   []byte
}

// Add brings f to the version of e, which must follow the version of f; otherwise
// it returns an error wrapping ErrGap. It retains the slices of e.
//
// An artifact entry creates its artifact or replaces it; with Append it appends
// its parts, merges its metadata, and any other member that it has takes the place
// of the earlier one (specification §4.2.2).
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

// addOthers takes over the members that the task shows: those of its own, those of the
// events, which protocols to come may have in the task as well, and those of the status.
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

// addStatus lets the message of the earlier status become history. A message that
// is said again without change stays one message.
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
		i = f.place(e.ArtifactID)
	}
	a := &f.artifacts[i]
	if !e.Append {
		*a = artifact{id: e.ArtifactID}
	}
	a.add(e.Body)
}

// maxSought is the largest number of artifacts among which one is sought one by one.
const maxSought = 8

// find returns the place of an artifact. The last one is the likeliest.
func (f *Fold) find(id a2a.ArtifactID) (int, bool) {
	if f.places != nil {
		i, ok := f.places[id]
		return i, ok
	}
	for i := len(f.artifacts) - 1; i >= 0; i-- {
		if f.artifacts[i].id == id {
			return i, true
		}
	}
	return 0, false
}

// place makes room for a new artifact and returns its place.
func (f *Fold) place(id a2a.ArtifactID) int {
	f.artifacts = append(f.artifacts, artifact{id: id})
	last := len(f.artifacts) - 1
	switch {
	case f.places != nil:
		f.places[id] = last
	case len(f.artifacts) > maxSought:
		f.places = make(map[a2a.ArtifactID]int)
		for i := range f.artifacts {
			f.places[f.artifacts[i].id] = i
		}
	}
	return last
}

// Artifacts returns the number of artifacts.
func (f *Fold) Artifacts() int { return len(f.artifacts) }

// Said is a message of a task.
type Said struct {
	// Version is that of its entry.
	Version int64
	// Caller is set for messages that came from the caller, whatever role they have.
	Caller bool
	// Body is the message as v1.0 JSON.
	Body []byte
}

// Said yields the messages of the task in order, that of the current status included.
func (f *Fold) Said() iter.Seq[Said] {
	return func(yield func(Said) bool) {
		for i := range f.messages {
			if m := &f.messages[i]; !yield(Said{m.version, m.caller, m.body}) {
				return
			}
		}
	}
}

// Retire makes the message of the current status, if it has one, the last of the history.
func (f *Fold) Retire() { f.current, f.status = 0, nil }

// Messages returns the number of messages in the history.
func (f *Fold) Messages() int { return f.historyLen() }

func (f *Fold) historyLen() int {
	if f.current > 0 {
		return len(f.messages) - 1
	}
	return len(f.messages)
}

// ReplyText returns what the agent said in words: the text parts of each artifact
// joined, the artifacts separated by a line break; or, if no artifact has text,
// that of the message of the current status.
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

// TextOf returns the joined text parts of a message as v1.0 JSON.
func TextOf(body []byte) string {
	var b strings.Builder
	for name, value := range rawjson.Fields(body) {
		if name == "parts" {
			writeText(&b, inside(value))
		}
	}
	return b.String()
}

// writeText writes the texts of parts, the inside of an array.
func writeText(b *strings.Builder, parts []byte) {
	for part := range rawjson.Elements(slices.Concat([]byte{'['}, parts, []byte{']'})) {
		for name, value := range rawjson.Fields(part) {
			if name == "text" {
				s, _ := rawjson.String(value)
				b.WriteString(s)
			}
		}
	}
}

// inside returns what stands between the brackets of an array.
func inside(arr []byte) []byte {
	if len(arr) < 2 || arr[0] != '[' {
		return nil
	}
	return arr[1 : len(arr)-1]
}

// artifact is an artifact as its chunks left it.
type artifact struct {
	id a2a.ArtifactID
	// fields are all members but parts and metadata.
	fields members
	// parts are the insides of the chunks' arrays of parts; none is empty.
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

// appendParts appends the inside of the array of parts.
func (a *artifact) appendParts(dst []byte) []byte {
	for i, run := range a.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, run...)
	}
	return dst
}
