package structjson

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// writer appends JSON. It becomes odd when a value occurs that encoding/json must write.
type writer struct {
	out []byte
	odd bool
}

func (w *writer) null() { w.out = append(w.out, "null"...) }

func (w *writer) text(s string) {
	w.odd = w.odd || !utf8.ValidString(s)
	w.out = rawjson.AppendString(w.out, s)
}

// raw appends valid JSON without white space. Nil is null.
func (w *writer) raw(v json.RawMessage) {
	switch {
	case v == nil:
		w.null()
	case rawjson.Check(v, MaxDepth) != nil:
		w.odd = true
	default:
		w.out = rawjson.AppendCompact(w.out, v)
	}
}

// pairs appends an object with its members in order.
func (w *writer) pairs(m map[string]string) {
	if m == nil {
		w.null()
		return
	}
	var room [8]string
	names := room[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	w.out = append(w.out, '{')
	for i, name := range names {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.text(name)
		w.out = append(w.out, ':')
		w.text(m[name])
	}
	w.out = append(w.out, '}')
}
