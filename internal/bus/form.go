package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// formPrefix separates signatures of envelopes from other signatures with the same key.
const formPrefix = "parley-bus-1\n"

// form returns the signed bytes, in the form that docs/wire.md defines. They cover the members
// of e except the signature and those that a bus adds at Dead. They do not depend on the
// spelling of the JSON: white space, order and escapes.
func (e *Envelope) form() ([]byte, error) {
	bare := *e
	bare.Signature, bare.Reason, bare.Queue = nil, "", ""
	text, err := json.Marshal(&bare)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // 1.0 and 1 differ, and no digit is lost
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return appendForm(append(make([]byte, 0, len(text)+len(text)/4+64), formPrefix...), value), nil
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
