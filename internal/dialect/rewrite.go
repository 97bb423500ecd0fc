package dialect

import (
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// keep appends a value unchanged.
func keep(dst, v []byte) []byte { return append(dst, v...) }

// stateName returns a function that appends the name of a v1.0 state in a dialect.
func stateName(state func(v []byte) string) func(dst, v []byte) []byte {
	return func(dst, v []byte) []byte { return rawjson.AppendString(dst, state(v)) }
}

// member returns the value of a member of obj, or nil. Of repeated members the first one
// counts.
func member(obj []byte, name string) []byte { return rawjson.Member(obj, name) }

// without returns obj without a member.
func without(obj []byte, name string) []byte {
	out := []byte{'{'}
	for n, v := range rawjson.Fields(obj) {
		if n != name {
			out = append(rawjson.AppendName(out, n), v...)
		}
	}
	return append(out, '}')
}

// onlyArm returns a StreamResponse without the members beside its event.
func onlyArm(obj []byte) []byte {
	name, v := rawjson.First(obj)
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
