package a2ajson

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// maxValueDepth is the largest nesting depth of a free value. Nested in a message, it stays
// within DefaultMaxDepth.
const maxValueDepth = DefaultMaxDepth - 10

// appendValue appends a Go value as JSON, the common types without reflection. depth is the
// remaining nesting depth, which also stops cycles.
func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return rawjson.AppendString(dst, v), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, broken("%v is not a JSON number", v)
		}
		return jsontext.AppendFloat(dst, v, 64), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case json.Number:
		return appendNumber(dst, v)
	case map[string]any:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return appendMap(dst, v, depth)
	case []any:
		return appendArray(dst, v, depth)
	}
	return appendOther(dst, v, depth)
}

func appendMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	if depth <= 0 {
		return dst, broken("is nested too deep")
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if !utf8.ValidString(k) {
			return dst, broken("has the name %q, which is not UTF-8", k)
		}
		dst = append(rawjson.AppendString(dst, k), ':')
		var err error
		if dst, err = appendValue(dst, m[k], depth-1); err != nil {
			return dst, Under(k, err)
		}
	}
	return append(dst, '}'), nil
}

func appendArray(dst []byte, list []any, depth int) ([]byte, error) {
	if list == nil {
		return append(dst, "null"...), nil
	}
	if depth <= 0 {
		return dst, broken("is nested too deep")
	}
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, v, depth-1); err != nil {
			return dst, Under(index(i), err)
		}
	}
	return append(dst, ']'), nil
}

// appendNumber keeps the digits. Like encoding/json, it writes the empty number as zero.
func appendNumber(dst []byte, n json.Number) ([]byte, error) {
	if n == "" {
		return append(dst, '0'), nil
	}
	if b := []byte(n); rawjson.KindOf(b) != rawjson.Number || rawjson.Check(b, 0) != nil {
		return dst, broken("%q is not a JSON number", string(n))
	}
	return append(dst, n...), nil
}

// appendOther writes the same JSON as the SDK's own encoder.
func appendOther(dst []byte, v any, depth int) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, broken("is not JSON: %v", err)
	}
	if err := rawjson.Check(buf.Bytes(), depth); err != nil {
		return dst, broken("is not JSON: %v", err)
	}
	return rawjson.AppendCompact(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}
