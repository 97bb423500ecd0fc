package structjson

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// member returns a member whose functions apply those of k to the field returned by at.
func member[P, V any](name string, at func(P) *V, k kind[V]) Member[P] {
	return Member[P]{
		name: name, quoted: `"` + name + `":`,
		empty: func(p P) bool { return k.empty(at(p)) },
		write: func(w *writer, p P) { k.write(w, at(p)) },
		read:  func(p P, v []byte) bool { return k.read(at(p), v) },
	}
}

// kind has the functions for values of type V.
type kind[V any] struct {
	empty func(*V) bool
	write func(*writer, *V)
	read  func(*V, []byte) bool
}

// Text is a string.
func Text[P any, S ~string](name string, at func(P) *S) Member[P] {
	return member(name, at, kind[S]{
		empty: func(s *S) bool { return *s == "" },
		write: func(w *writer, s *S) { w.text(string(*s)) },
		read: func(s *S, v []byte) bool {
			text, ok := rawjson.String(v)
			*s = S(text)
			return ok
		},
	})
}

// Int is an integer.
func Int[P any, N ~int | ~int64](name string, at func(P) *N) Member[P] {
	return member(name, at, kind[N]{
		empty: func(n *N) bool { return *n == 0 },
		write: func(w *writer, n *N) { w.out = strconv.AppendInt(w.out, int64(*n), 10) },
		read: func(n *N, v []byte) bool {
			i, err := strconv.ParseInt(string(v), 10, 64)
			*n = N(i)
			return err == nil && int64(*n) == i
		},
	})
}

// Bool is true or false.
func Bool[P any](name string, at func(P) *bool) Member[P] {
	return member(name, at, kind[bool]{
		empty: func(b *bool) bool { return !*b },
		write: func(w *writer, b *bool) { w.out = strconv.AppendBool(w.out, *b) },
		read: func(b *bool, v []byte) bool {
			*b = v[0] == 't'
			return rawjson.KindOf(v) == rawjson.Bool
		},
	})
}

// Raw is any JSON. An absent value is empty.
func Raw[P any](name string, at func(P) *json.RawMessage) Member[P] {
	return member(name, at, kind[json.RawMessage]{
		empty: func(r *json.RawMessage) bool { return len(*r) == 0 },
		write: func(w *writer, r *json.RawMessage) { w.raw(*r) },
		read: func(r *json.RawMessage, v []byte) bool {
			*r = v
			return true
		},
	})
}

// Raws is a list of any JSON.
func Raws[P any](name string, at func(P) *[]json.RawMessage) Member[P] {
	return list(name, at, func(w *writer, r *json.RawMessage) { w.raw(*r) }, func(r *json.RawMessage, v []byte) bool {
		*r = v
		return true
	})
}

// Texts is a list of strings.
func Texts[P any](name string, at func(P) *[]string) Member[P] {
	return list(name, at, func(w *writer, s *string) { w.text(*s) }, readText)
}

func readText(s *string, v []byte) (ok bool) {
	*s, ok = rawjson.String(v)
	return ok
}

// Structs is a list of structs.
func Structs[P, U any](name string, of *Table[*U], at func(P) *[]U) Member[P] {
	return list(name, at, of.write, func(u *U, v []byte) bool { return of.Read(v, u) })
}

func list[P, E any](name string, at func(P) *[]E, write func(*writer, *E), read func(*E, []byte) bool) Member[P] {
	return member(name, at, kind[[]E]{
		empty: func(l *[]E) bool { return len(*l) == 0 },
		write: func(w *writer, l *[]E) {
			if *l == nil {
				w.null()
				return
			}
			w.out = append(w.out, '[')
			for i := range *l {
				if i > 0 {
					w.out = append(w.out, ',')
				}
				write(w, &(*l)[i])
			}
			w.out = append(w.out, ']')
		},
		read: func(l *[]E, v []byte) bool { return readList(l, v, read) },
	})
}

func readList[E any](l *[]E, v []byte, read func(*E, []byte) bool) bool {
	if v[0] != '[' {
		return false
	}
	*l = []E{}
	for item := range rawjson.Elements(v) {
		*l = append(*l, *new(E))
		if !read(&(*l)[len(*l)-1], item) {
			return false
		}
	}
	return true
}

// Map is an object whose members are strings.
func Map[P any](name string, at func(P) *map[string]string) Member[P] {
	return member(name, at, kind[map[string]string]{
		empty: func(m *map[string]string) bool { return len(*m) == 0 },
		write: func(w *writer, m *map[string]string) { w.pairs(*m) },
		read:  readMap,
	})
}

func readMap(m *map[string]string, v []byte) bool {
	if v[0] != '{' {
		return false
	}
	*m = map[string]string{}
	for name, value := range rawjson.Fields(v) {
		text, ok := rawjson.String(value)
		if !ok {
			return false
		}
		(*m)[name] = text
	}
	return true
}

// Bytes is a string with bytes in base64.
func Bytes[P any](name string, at func(P) *[]byte) Member[P] {
	return member(name, at, kind[[]byte]{
		empty: func(b *[]byte) bool { return len(*b) == 0 },
		write: func(w *writer, b *[]byte) {
			if *b == nil {
				w.null()
				return
			}
			w.out = append(base64.StdEncoding.AppendEncode(append(w.out, '"'), *b), '"')
		},
		read: func(b *[]byte, v []byte) bool {
			text, ok := rawjson.String(v)
			if !ok {
				return false
			}
			var err error
			*b, err = base64.StdEncoding.DecodeString(text)
			return err == nil
		},
	})
}

// Struct is a struct with a table of its own. A nil pointer is empty.
func Struct[P, U any](name string, of *Table[*U], at func(P) **U) Member[P] {
	return member(name, at, kind[*U]{
		empty: func(u **U) bool { return *u == nil },
		write: func(w *writer, u **U) {
			if *u == nil {
				w.null()
				return
			}
			of.write(w, *u)
		},
		read: func(u **U, v []byte) bool {
			*u = new(U)
			return of.Read(v, *u)
		},
	})
}
