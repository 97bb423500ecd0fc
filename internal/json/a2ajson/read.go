package a2ajson

import (
	"math"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// MaxID is the largest length in bytes of the ids that callers choose: of
// messages, contexts, tasks and artifacts.
const MaxID = 512

// ReadString reads a string.
func ReadString(v []byte) (string, error) {
	s, ok := rawjson.String(v)
	if !ok {
		return "", Invalid("must be a string")
	}
	return s, nil
}

// ReadID reads a string of at most MaxID bytes.
func ReadID(v []byte) (string, error) {
	s, err := ReadString(v)
	if err != nil {
		return "", err
	}
	if len(s) > MaxID {
		return "", Invalid("is longer than %d bytes", MaxID)
	}
	return s, nil
}

// ReadBool reads true or false.
func ReadBool(v []byte) (bool, error) {
	switch string(v) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, Invalid("must be true or false")
}

// ReadInt reads an integer of 32 bits: a number without a fraction, or a string
// with such a number (specification §5.5 adopts ProtoJSON).
func ReadInt(v []byte) (int, error) {
	switch rawjson.KindOf(v) {
	case rawjson.Number:
		return ParseInt(string(v))
	case rawjson.Text:
		s, _ := rawjson.String(v)
		return ParseInt(s)
	}
	return 0, Invalid("must be an integer")
}

// ParseInt reads an integer of 32 bits from text: digits, or a number such as 1e2
// that has no fraction.
func ParseInt(s string) (int, error) {
	n, ok := rawjson.Int([]byte(s))
	if !ok || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, Invalid("must be an integer of 32 bits")
	}
	return int(n), nil
}

// ReadObject returns a copy of an object on one line.
func ReadObject(v []byte) ([]byte, error) {
	if err := checkMetadata(v); err != nil {
		return nil, err
	}
	return rawjson.AppendCompact(make([]byte, 0, len(v)), v), nil
}

// checkMetadata refuses a value that is not an object, and names that occur twice.
func checkMetadata(v []byte) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return Invalid("must be an object")
	}
	var seen names
	for name := range rawjson.Fields(v) {
		if !seen.add(name) {
			return Under(clip.Bytes(name, maxQuoted), Invalid("appears twice"))
		}
	}
	return nil
}

// ReadStrings reads a list of strings. An empty list is nil.
func ReadStrings(v []byte) ([]string, error) {
	var all []string
	err := eachString(v, func(s []byte) {
		text, _ := rawjson.String(s)
		all = append(all, text)
	})
	return all, err
}

// eachString calls visit for the raw strings of a list.
func eachString(v []byte, visit func(s []byte)) error {
	if rawjson.KindOf(v) != rawjson.Array {
		return Invalid("must be a list of strings")
	}
	i := 0
	for s := range rawjson.Elements(v) {
		if rawjson.KindOf(s) != rawjson.Text {
			return Under(index(i), Invalid("must be a string"))
		}
		visit(s)
		i++
	}
	return nil
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// ReadRole reads a role by its name or its number. It also accepts "user" and "agent", as in
// v0.3 and other dialects.
func ReadRole(v []byte) (a2a.MessageRole, error) {
	switch string(v) {
	case `"ROLE_USER"`:
		return a2a.MessageRoleUser, nil
	case `"ROLE_AGENT"`:
		return a2a.MessageRoleAgent, nil
	}
	if n, ok := rawjson.Int(v); ok && 1 <= n && n <= 2 {
		return [...]a2a.MessageRole{a2a.MessageRoleUser, a2a.MessageRoleAgent}[n-1], nil
	}
	switch s, _ := rawjson.String(v); s {
	case "user", string(a2a.MessageRoleUser):
		return a2a.MessageRoleUser, nil
	case "agent", string(a2a.MessageRoleAgent):
		return a2a.MessageRoleAgent, nil
	}
	return "", Invalid("must be %s or %s", a2a.MessageRoleUser, a2a.MessageRoleAgent)
}
