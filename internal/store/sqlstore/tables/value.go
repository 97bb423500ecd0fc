package tables

import (
	"reflect"
	"time"
)

// bytesOf is a text that is stored as bytes.
type bytesOf struct{ text *string }

// ID is an id that callers or the hub have chosen. Its stored form depends on the database.
type ID struct {
	Value string
	// Text stores a UUID as text, too: it begins or ends a range of texts.
	Text bool
}

// Plain returns the stored form of a value, which is an int64, a string, a []byte or an ID.
func Plain(v any) any {
	switch v := v.(type) {
	case int64, string, []byte, ID:
		return v
	case bytesOf:
		return []byte(*v.text)
	case *time.Time:
		return Plain(*v)
	case time.Time:
		if v.IsZero() {
			return int64(0)
		}
		return v.UnixMilli()
	}
	switch r := reflect.Indirect(reflect.ValueOf(v)); r.Kind() {
	case reflect.String:
		return r.String()
	case reflect.Slice:
		return r.Bytes()
	default:
		return r.Int()
	}
}

// scan reads the next columns of a row.
func scan(row Row, to ...any) {
	for _, v := range to {
		switch v := v.(type) {
		case bytesOf:
			*v.text = string(row.Blob())
		case *time.Time:
			*v = time.Time{}
			if ms := row.Int(); ms != 0 {
				*v = time.UnixMilli(ms).UTC()
			}
		default:
			set(reflect.ValueOf(v).Elem(), row)
		}
	}
}

func set(v reflect.Value, row Row) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(row.Text())
	case reflect.Slice:
		v.SetBytes(row.Blob())
	default:
		v.SetInt(row.Int())
	}
}

// fields returns a function that scans rows into the given fields of a T.
func fields[T any](of func(*T) []any) func(Row, *T) error {
	return func(row Row, v *T) error {
		scan(row, of(v)...)
		return nil
	}
}

// scanInt reads a row of one number.
var scanInt = fields(func(n *int64) []any { return []any{n} })
