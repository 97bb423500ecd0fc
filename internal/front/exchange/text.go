package exchange

import (
	"bytes"
	"hash/maphash"
	"strings"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// artifact yields the events of an artifact or of a chunk of one.
func (t *Exchange) artifact(en *task.Entry, yield func(Event, error) bool) bool {
	var texts []string
	var parts [][]byte
	for part := range rawjson.Elements(rawjson.Member(en.Body, "parts")) {
		if s, ok := rawjson.String(rawjson.Member(part, "text")); ok && !Extension(part) {
			if s != "" {
				texts = append(texts, s)
			}
		} else {
			parts = append(parts, part)
			t.shown = t.shown || !Extension(part) || ExtensionOf(part, "tool-call-v1") != nil
		}
	}
	ev := Event{Kind: Text, Version: en.Version, Artifact: string(en.ArtifactID)}
	ev.Text, ev.Anew = t.texts.piece(en, texts)
	if ev.Text != "" {
		t.sent = true
		t.last.add(&ev)
		if !yield(ev, nil) {
			return false
		}
	}
	for _, part := range parts {
		if !yield(Event{Kind: Part, Version: en.Version, Artifact: string(en.ArtifactID), Part: part}, nil) {
			return false
		}
	}
	return true
}

// extensionMark is the prefix of the media types of parts that describe the work and are not
// for its reader, such as costs or tool calls.
const extensionMark = "application/vnd.protolabs."

// Extension reports whether a part as v1.0 JSON belongs to an extension.
func Extension(part []byte) bool {
	mt, _ := rawjson.String(rawjson.Member(rawjson.Member(part, "metadata"), "mimeType"))
	return strings.HasPrefix(mt, extensionMark)
}

// ExtensionOf returns the data of a part that belongs to the extension with the given
// name, such as "cost-v1", or nil.
func ExtensionOf(part []byte, name string) []byte {
	mt, _ := rawjson.String(rawjson.Member(rawjson.Member(part, "metadata"), "mimeType"))
	if mt != extensionMark+name+"+json" {
		return nil
	}
	return rawjson.Member(part, "data")
}

// texts tracks how much of each artifact was yielded, without storing the text.
type texts struct {
	seed maphash.Seed
	sent map[string]*maphash.Hash
	size map[string]int
}

// piece returns the new part of the texts of an entry, each of which is on lines of its own. An
// artifact that is sent again is compared with the yielded text, because it is often the same text
// with an addition. Its parts may be chunks that were yielded one after the other.
func (t *texts) piece(en *task.Entry, parts []string) (piece string, anew bool) {
	if t.sent == nil {
		t.seed, t.sent, t.size = maphash.MakeSeed(), map[string]*maphash.Hash{}, map[string]int{}
	}
	id := string(en.ArtifactID)
	h, text := t.sent[id], strings.Join(parts, "\n")
	switch {
	case h == nil:
		h = new(maphash.Hash)
		h.SetSeed(t.seed)
		t.sent[id] = h
	case !en.Append:
		n := t.size[id]
		begins := func(text string) bool { return n <= len(text) && maphash.String(t.seed, text[:n]) == h.Sum64() }
		if chunks := strings.Join(parts, ""); begins(text) {
			text = text[n:]
		} else if begins(chunks) {
			text = chunks[n:]
		} else {
			anew = true
			h.Reset()
			t.size[id] = 0
		}
	}
	_, _ = h.WriteString(text)
	t.size[id] += len(text)
	return text, anew
}

// maxLast is the maximum size of a text that is compared for repetition, in bytes.
const maxLast = 64 << 10

// lastText is the text of the most recent artifact.
type lastText struct {
	artifact string
	text     []byte
	long     bool
}

func (l *lastText) add(ev *Event) {
	if ev.Anew || ev.Artifact != l.artifact {
		*l = lastText{artifact: ev.Artifact, text: l.text[:0]}
	}
	if l.long = l.long || len(l.text)+len(ev.Text) > maxLast; !l.long {
		l.text = append(l.text, ev.Text...)
	}
}

// is reports whether text equals the last text, apart from surrounding white space.
func (l *lastText) is(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && !l.long && string(bytes.TrimSpace(l.text)) == text
}
