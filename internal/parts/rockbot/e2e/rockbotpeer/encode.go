package rockbotpeer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf16"
)

// Encode writes a record like JsonSerializer with RockBot's options: every member, null for
// missing ones, enums as numbers, and the escapes of the default encoder.
func Encode(rec any) []byte { return appendValue(nil, reflect.ValueOf(rec)) }

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, "null"...)
		}
		return appendValue(b, v.Elem())
	case reflect.String:
		return appendText(b, v.String())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int32:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Slice:
		return appendList(b, v)
	case reflect.Map:
		return appendMap(b, v)
	case reflect.Struct:
		b = append(b, '{')
		for i := range v.NumField() {
			key, _ := tagOf(v.Type().Field(i))
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(append(appendText(b, key), ':'), v.Field(i))
		}
		return append(b, '}')
	}
	panic("rockbotpeer: no record has a member of type " + v.Type().String())
}

func appendList(b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, v.Index(i))
	}
	return append(b, ']')
}

func appendMap(b []byte, v reflect.Value) []byte {
	m, _ := v.Interface().(map[string]string)
	if m == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(appendText(b, key), ':'), m[key])
	}
	return append(b, '}')
}

// appendText appends a string with the escapes of JavaScriptEncoder.Default.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\\':
			b = append(b, `\\`...)
		case c < 0x20, c >= 0x7f, c == '"', c == '\'', c == '<', c == '>', c == '&', c == '+', c == '`':
			for _, u := range utf16.Encode([]rune{c}) {
				b = fmt.Appendf(b, `\u%04X`, u)
			}
		default:
			b = append(b, byte(c))
		}
	}
	return append(b, '"')
}
