package dialect

import (
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// rewriter appends v, the value of the member name, in another dialect.
type rewriter func(dst []byte, name string, v []byte) []byte

// rewriteObject appends obj with the values of its members rewritten. Names and their order are
// unchanged.
func rewriteObject(dst, obj []byte, value rewriter) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(obj) {
		dst = value(appendName(dst, name), name, v)
	}
	return append(dst, '}')
}

// members maps names of members to functions that append their values in another dialect.
type members map[string]func(dst, v []byte) []byte

func (m members) value(dst []byte, name string, v []byte) []byte {
	if f := m[name]; f != nil {
		return f(dst, v)
	}
	return append(dst, v...)
}

// append is rewriteObject; other members do not change.
func (m members) append(dst, obj []byte) []byte { return rewriteObject(dst, obj, m.value) }

// only is append without the other members.
func (m members) only(dst, obj []byte) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(obj) {
		if value := m[name]; value != nil {
			dst = value(appendName(dst, name), v)
		}
	}
	return append(dst, '}')
}

// keep appends a value unchanged.
func keep(dst, v []byte) []byte { return append(dst, v...) }

// listOf returns a function that appends a list with its elements rewritten.
func listOf(element func(dst, v []byte) []byte) func(dst, v []byte) []byte {
	return func(dst, v []byte) []byte { return rewriteList(dst, v, element) }
}

// stateName returns a function that appends the name of a v1.0 state in a dialect.
func stateName(state func(v []byte) string) func(dst, v []byte) []byte {
	return func(dst, v []byte) []byte { return rawjson.AppendString(dst, state(v)) }
}

// rewriteList appends arr with its elements rewritten.
func rewriteList(dst, arr []byte, element func(dst, v []byte) []byte) []byte {
	dst = append(dst, '[')
	first := true
	for v := range rawjson.Elements(arr) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = element(dst, v)
	}
	return append(dst, ']')
}

// member returns the value of a member of obj, or nil. Of repeated members the first one
// counts.
func member(obj []byte, name string) []byte { return rawjson.Member(obj, name) }

// without returns obj without a member.
func without(obj []byte, name string) []byte {
	out := []byte{'{'}
	for n, v := range rawjson.Fields(obj) {
		if n != name {
			out = append(appendName(out, n), v...)
		}
	}
	return append(out, '}')
}

// arm returns the name and the value of the first member of obj, the only one of a
// StreamResponse and a SendMessageResponse.
func arm(obj []byte) (string, []byte) {
	for name, v := range rawjson.Fields(obj) {
		return name, v
	}
	return "", nil
}

// onlyArm returns a StreamResponse without the members beside its event.
func onlyArm(obj []byte) []byte {
	name, v := arm(obj)
	if len(name)+len(v)+len(`{"":}`) == len(obj) {
		return obj
	}
	return append(append(append(rawjson.AppendString([]byte{'{'}, name), ':'), v...), '}')
}

// userOnly refuses roles that a caller must not use, in dialects with the roles user and agent.
// It accepts an absent role.
func userOnly(role []byte) error {
	if role == nil || isText(role, "user") || rawjson.KindOf(role) == rawjson.Null {
		return nil
	}
	return a2ajson.Under("message", a2ajson.Under("role", a2ajson.Invalid(`must be "user" in this dialect`)))
}
