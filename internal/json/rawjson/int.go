package rawjson

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// maxExact is the largest integer up to which a double has every integer.
const maxExact = 1 << 53

// Int returns the value of a number without a fraction. Peers whose JSON passes through doubles,
// as in the Struct of protobuf, write 999 as 999.0 or 9.99e2.
func Int(v []byte) (int64, bool) {
	s := string(v)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, KindOf(v) == Number
	}
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false // a notation that only Go has
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxExact {
		return 0, false
	}
	return int64(f), true
}

// Unmarshal is json.Unmarshal, but reads numbers into integers as Int does.
func Unmarshal(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	if WantsInt(err) {
		err = json.Unmarshal(AppendInts(nil, b), v)
	}
	return err
}

// Readable returns an error of package json without the names of types: it names the member, and what
// that is. Other errors are returned unchanged.
func Readable(err error) error {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		return err
	}
	return fmt.Errorf("%s: wrong type: %s", cmp.Or(typed.Field, "document"), typed.Value)
}

// WantsInt reports whether err, of package json, is about a number that is not written as an
// integer. The decoder may accept the result of AppendInts.
func WantsInt(err error) bool {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) || !strings.HasPrefix(typed.Value, "number") {
		return false
	}
	kind := typed.Type.Kind()
	return reflect.Int <= kind && kind <= reflect.Uint64
}

// AppendInts appends valid JSON in which numbers without a fraction are written as integers.
// Everything else is unchanged.
func AppendInts(dst, b []byte) []byte {
	return appendNumbers(dst, b, func(dst, number []byte) ([]byte, bool) {
		n, ok := Int(number)
		if !ok {
			return dst, false
		}
		return strconv.AppendInt(dst, n, 10), true
	})
}
