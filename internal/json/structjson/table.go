package structjson

import (
	"strings"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// MaxDepth is the largest nesting depth of JSON to read, and of each raw value to write.
const MaxDepth = 200

// Table has the members of a struct type. P is the type of pointers to it: the compiler makes one
// function for all types of pointers, and one more for each type of structs. Use Of.
type Table[P any] struct{ members []Member[P] }

// Of returns the table with the given members, at most 64.
func Of[P any](members ...Member[P]) *Table[P] {
	if len(members) > 64 {
		panic("structjson: a table of more than 64 members")
	}
	return &Table[P]{members}
}

// Member is one member of the struct that P points to.
type Member[P any] struct {
	name string
	// quoted is the name in quotes, with the colon.
	quoted string
	always bool
	// empty reports whether the member is omitted, unless it is always written. write appends
	// the value. read sets the value and reports whether v is valid.
	empty func(p P) bool
	write func(w *writer, p P)
	read  func(p P, v []byte) bool
}

// Always returns m as a member that is written even if it is empty.
func (m Member[P]) Always() Member[P] {
	m.always = true
	return m
}

// Append appends p as a JSON object. It returns false if p has an unusual value that
// encoding/json must write; the bytes are then invalid.
func (b *Table[P]) Append(dst []byte, p P) ([]byte, bool) {
	w := writer{out: dst}
	b.write(&w, p)
	return w.out, !w.odd
}

func (b *Table[P]) write(w *writer, p P) {
	w.out = append(w.out, '{')
	first := true
	for i := range b.members {
		m := &b.members[i]
		if !m.always && m.empty(p) {
			continue
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.out = append(w.out, m.quoted...)
		m.write(w, p)
	}
	w.out = append(w.out, '}')
}

// Read sets the members of p, which must be zero, from obj. Members that the table does not
// have are ignored. It returns false if obj is unusual and encoding/json must read it; p is
// then partly set.
func (b *Table[P]) Read(obj []byte, p P) bool {
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
		if seen&(1<<i) != 0 || !b.members[i].read(p, v) {
			return false
		}
		seen |= 1 << i
		next = i + 1
	}
	return true
}

// find returns the index of the member with a name in quotes, or a negative number. The search
// begins at next, because members usually follow the order of the table. known is also set for
// a name that is not in the table but that encoding/json would match with one.
func (b *Table[P]) find(quoted []byte, next int) (i int, known bool) {
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
