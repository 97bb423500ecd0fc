package a2ajson

import (
	"strings"

	"github.com/parley-a2a/parley/internal/rawjson"
)

// Others collects the members of an object that the protocol does not have, to pass them
// on. The zero Others is empty.
//
// Of members with one name the first counts, as it does for rawjson.Member: the object
// that comes out has each name once.
type Others struct {
	seen names
	b    []byte
}

// Add adds a member. The value is made compact; its digits stay.
func (o *Others) Add(name string, v []byte) {
	if !o.seen.add(name) {
		return
	}
	if o.b == nil {
		o.b = make([]byte, 0, len(name)+len(v)+8)
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(rawjson.AppendString(o.b, name), ':')
	o.b = rawjson.AppendCompact(o.b, v)
}

// Object returns the members as an object on one line; nil if there are none.
func (o *Others) Object() []byte {
	if o.b == nil {
		return nil
	}
	return append(o.b[:len(o.b):len(o.b)], '}')
}

// Reserved are names that are not passed on, because readers would take them for members
// of the protocol.
type Reserved []string

// Has reports whether a reader may take name for one of the names: some decoders compare
// without case, and some read snake_case as camelCase.
func (r Reserved) Has(name string) bool {
	if strings.ContainsAny(name, "_-") {
		name = strings.NewReplacer("_", "", "-", "").Replace(name)
	}
	for _, known := range r {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}
