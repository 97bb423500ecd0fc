// Package tasktext finds the words of tasks, for searches in their texts.
//
// # Overview
//
// [Words] returns the words of a query. A [Text] collects those of the entries of a task: of the texts of
// messages and artifacts, the names of files, and the texts and numbers in data. Both are stems; see
// package bm25. A text of a script without spaces between words, such as Chinese, counts as its pairs of
// adjacent characters.
//
// # Guarantees
//
// A Text is bounded: it takes [MaxBytes] of text and [MaxWords] different words.
package tasktext

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bm25"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// MaxBytes is the size of the texts of a task that are looked at.
	MaxBytes = 256 << 10
	// MaxWords is the number of different words of a task.
	MaxWords = 8192
)

// Words returns the words of a text, each once: letters and digits in UTF-8.
func Words(text string) []string {
	var all []string
	seen := make(map[string]bool)
	add := func(w string) {
		if w = strings.ToValidUTF8(w, ""); w != "" && !seen[w] && len(all) < MaxWords { // a stem may end within a character
			seen[w] = true
			all = append(all, w)
		}
	}
	spaced := strings.Map(func(r rune) rune {
		if unspaced(r) {
			return ' '
		}
		return r
	}, text)
	for _, w := range bm25.Stems(spaced) {
		add(w)
	}
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unspaced(r) }) {
		for _, first := range run {
			size := utf8.RuneLen(first)
			_, second := utf8.DecodeRuneInString(run[size:])
			if pair := run[:size+second]; second > 0 || utf8.RuneCountInString(text) == 1 {
				add(pair)
			}
			run = run[size:]
		}
	}
	return all
}

// unspaced reports whether a character is of a script without spaces between words.
func unspaced(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Text collects the texts of a task. The zero Text is empty.
type Text struct {
	text strings.Builder
	// artifact is the one that the last entry belongs to. The text of its next chunk follows without a
	// space.
	artifact a2a.ArtifactID
}

// Full reports whether the Text takes no more.
func (t *Text) Full() bool { return t.text.Len() >= MaxBytes }

// Words returns the words of the texts.
func (t *Text) Words() []string { return Words(t.text.String()) }

// Add adds the texts of an entry.
func (t *Text) Add(e *task.Entry) {
	if e.Kind != task.Artifact || !e.Append || e.ArtifactID != t.artifact {
		t.text.WriteByte('\n')
	}
	t.artifact = e.ArtifactID
	t.Content(e.Body)
}

// Content adds the texts of a message or an artifact.
func (t *Text) Content(body []byte) {
	for part := range rawjson.Elements(rawjson.Member(body, "parts")) {
		if text, ok := rawjson.String(rawjson.Member(part, "text")); ok {
			t.add(text)
		}
		if name, ok := rawjson.String(rawjson.Member(part, "filename")); ok {
			t.add("\n" + name + "\n")
		}
		if data := rawjson.Member(part, "data"); data != nil {
			t.data(data)
		}
	}
}

// data adds the texts and numbers of JSON.
func (t *Text) data(raw []byte) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for !t.Full() {
		token, err := d.Token()
		if err != nil {
			return // its end
		}
		switch v := token.(type) {
		case string:
			t.add("\n" + v)
		case json.Number:
			t.add("\n" + v.String())
		}
	}
}

func (t *Text) add(text string) {
	t.text.WriteString(text[:min(len(text), max(MaxBytes-t.text.Len(), 0))])
}
