package a2ajson

import "github.com/parley-a2a/parley/internal/json/rawjson"

// Others collects the members of an object that the protocol does not define, to pass them on.
// The zero Others is empty.
//
// Of members with the same name the first counts, as for rawjson.Member: the resulting object
// has each name once.
type Others struct{ all *others }

// others is allocated only if there are members, which is rare.
type others struct {
	seen names
	b    []byte
}

// Add adds a member. The value is made compact; its digits are unchanged.
func (o *Others) Add(name string, v []byte) {
	if o.all == nil {
		o.all = &others{b: append(make([]byte, 0, len(name)+len(v)+8), '{')}
	}
	all := o.all
	if !all.seen.add(name) {
		return
	}
	if len(all.b) > 1 {
		all.b = append(all.b, ',')
	}
	all.b = append(rawjson.AppendString(all.b, name), ':')
	all.b = rawjson.AppendCompact(all.b, v)
}

// Object returns the members as an object on one line; nil if there are none.
func (o *Others) Object() []byte {
	if o.all == nil {
		return nil
	}
	b := o.all.b
	return append(b[:len(b):len(b)], '}')
}
