package structjson

import (
	"strings"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// MaxDepth is how deep what is read may be nested, and each raw value that is written.
const MaxDepth = 200

// Table has the members of a struct type. Use Of.
type Table[T any] struct{ members []Member[T] }

// Of returns the table with the given members, at most 64.
func Of[T any](members ...Member[T]) *Table[T] {
	if len(members) > 64 {
		panic("structjson: a table of more than 64 members")
	}
	return &Table[T]{members}
}

// Member is one member of a struct of type T.
type Member[T any] struct {
	name string
	// quoted is the name as it stands in JSON, with the colon.
	quoted string
	always bool
	// empty reports whether it is left out unless it is always there; write writes its
	// value, read sets it and reports whether v is one.
	empty func(t *T) bool
	write func(w *writer, t *T)
	read  func(t *T, v []byte) bool
}

// Always returns m as a member that is written even if it is empty.
func (m Member[T]) Always() Member[T] {
	m.always = true
	return m
}

// Append appends t as a JSON object. It reports false, and returns what is of no use, if
// something in t is unusual.
func (b *Table[T]) Append(dst []byte, t *T) ([]byte, bool) {
	w := writer{out: dst}
	b.write(&w, t)
	return w.out, !w.odd
}

func (b *Table[T]) write(w *writer, t *T) {
	w.out = append(w.out, '{')
	first := true
	for i := range b.members {
		m := &b.members[i]
		if !m.always && m.empty(t) {
			continue
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.out = append(w.out, m.quoted...)
		m.write(w, t)
	}
	w.out = append(w.out, '}')
}

// Read sets the members of t, which is zero, to those of obj, and reports whether there was
// nothing unusual. Members that the table does not have are ignored. If it reports false, t has
// some of them.
func (b *Table[T]) Read(obj []byte, t *T) bool {
	if rawjson.KindOf(obj) != rawjson.Object {
		return false
	}
	var seen uint64
	next := 0
	for name, v := range rawjson.RawFields(obj) {
		i, known := b.find(name, next)
		if i < 0 {
			if known {
				return false
			}
			continue
		}
		if seen&(1<<i) != 0 || !b.members[i].read(t, v) {
			return false
		}
		seen |= 1 << i
		next = i + 1
	}
	return true
}

// find returns the index of the member with a name in quotes, or a negative number. It begins
// at next: members mostly come in the order of the table. A name that encoding/json takes for
// one of the table, although it is none, is known.
func (b *Table[T]) find(quoted []byte, next int) (i int, known bool) {
	name := quoted[1 : len(quoted)-1]
	for n := range b.members {
		if i = next + n; i >= len(b.members) {
			i -= len(b.members)
		}
		if string(name) == b.members[i].name {
			return i, true
		}
	}
	text, _ := rawjson.String(quoted)
	for i := range b.members {
		if strings.EqualFold(text, b.members[i].name) {
			return -1, true
		}
	}
	return -1, false
}
