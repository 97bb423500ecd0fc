package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/rawjson"
)

// formPrefix keeps signatures of envelopes apart from whatever else a key may sign.
const formPrefix = "parley-bus-1\n"

// form returns what is signed: the members of e but for the signature, and for those that
// a bus adds to what it gives up, in the form that docs/wire.md defines. It does not
// depend on how the JSON is written: white space, order and escapes.
func (e *Envelope) form() ([]byte, error) {
	bare := *e
	bare.Signature, bare.Reason, bare.Queue = nil, "", ""
	text, err := json.Marshal(&bare)
	if err != nil {
		return nil, err
	}
	return appendRaw(append(make([]byte, 0, len(text)+len(text)/4+64), formPrefix...), text, maxWalk)
}

// maxWalk is how deep values are walked: each level is looked through once more for those
// below. What is deeper is decoded.
const maxWalk = 32

// appendRaw appends the form of a valid JSON value.
func appendRaw(b, v []byte, depth int) ([]byte, error) {
	switch rawjson.KindOf(v) {
	case rawjson.Null, rawjson.Bool:
		return append(b, v[0]), nil
	case rawjson.Number:
		b = append(append(b, '#'), v...)
		return append(b, ';'), nil
	case rawjson.Text:
		s, _ := rawjson.String(v)
		return appendText(b, s), nil
	}
	if depth == 0 {
		return appendDecoded(b, v)
	}
	if rawjson.KindOf(v) == rawjson.Object {
		return appendObject(b, v, depth)
	}
	var err error
	b = append(b, '[')
	for item := range rawjson.Elements(v) {
		if b, err = appendRaw(b, item, depth-1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// member is one of an object.
type member struct {
	name  string
	value []byte
}

func appendObject(b, v []byte, depth int) ([]byte, error) {
	var room [16]member
	all := room[:0]
	for name, value := range rawjson.Fields(v) {
		all = append(all, member{name, value})
	}
	slices.SortStableFunc(all, func(x, y member) int { return strings.Compare(x.name, y.name) })
	var err error
	b = append(b, '{')
	for i, m := range all {
		if i+1 < len(all) && all[i+1].name == m.name {
			continue // the last one counts
		}
		if b, err = appendRaw(appendText(b, m.name), m.value, depth-1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendDecoded is appendRaw for values of any depth.
func appendDecoded(b, v []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber() // 1.0 and 1 differ, and no digit is lost
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return appendForm(b, value), nil
}

// appendForm appends the form of a decoded JSON value.
func appendForm(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return append(b, strconv.FormatBool(v)[0])
	case json.Number:
		b = append(append(b, '#'), v...)
		return append(b, ';')
	case string:
		return appendText(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = appendForm(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b = appendForm(appendText(b, name), v[name])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("bus: a JSON value of type %T", v))
}

// appendText appends the length of s in bytes, a colon, and s.
func appendText(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	return append(append(b, ':'), s...)
}
