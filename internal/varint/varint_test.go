package varint_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/parley-a2a/parley/internal/varint"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	b := append([]byte{7}, binary.AppendVarint(binary.AppendUvarint(nil, math.MaxUint64), math.MinInt64)...)
	b = varint.AppendBytes(varint.AppendBytes(varint.AppendBytes(b, "text"), []byte{}), []byte{1, 2})
	r := varint.Reader{Left: b}
	if got := r.Byte(); got != 7 {
		t.Errorf("Byte = %d", got)
	}
	if got := r.Uint(); got != math.MaxUint64 {
		t.Errorf("Uint = %d", got)
	}
	if got := r.Int(); got != math.MinInt64 {
		t.Errorf("Int = %d", got)
	}
	if text, none, last := r.Bytes(), r.Bytes(), r.Bytes(); string(text) != "text" || none != nil || !bytes.Equal(last, []byte{1, 2}) {
		t.Errorf("Bytes = %q, %q, %q", text, none, last)
	} else if cap(text) != len(text) {
		t.Errorf("an append to the bytes writes into the input")
	}
	if !r.Done() {
		t.Error("Done = false at the end of the input")
	}
}

// TestReaderMalformed reads input that ends too early or names more than can follow: all
// values after the mistake are zero.
func TestReaderMalformed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		b    []byte
		read func(*varint.Reader) bool // reports whether the value is zero
	}{
		"byte":     {nil, func(r *varint.Reader) bool { return r.Byte() == 0 }},
		"uint":     {[]byte{0x80}, func(r *varint.Reader) bool { return r.Uint() == 0 }},
		"overflow": {bytes.Repeat([]byte{0xff}, 11), func(r *varint.Reader) bool { return r.Int() == 0 }},
		"count":    {[]byte{2, 0, 0, 0}, func(r *varint.Reader) bool { return r.Count(2) == 0 }},
		"bytes":    {[]byte{4, 1, 2, 3}, func(r *varint.Reader) bool { return r.Bytes() == nil }},
	} {
		r := varint.Reader{Left: tt.b}
		if !tt.read(&r) || !r.Bad {
			t.Errorf("%s: Bad is %v, or the value is not zero", name, r.Bad)
		}
		if r.Byte() != 0 || r.Uint() != 0 || r.Int() != 0 || r.Bytes() != nil || r.Done() {
			t.Errorf("%s: values after a mistake are not zero", name)
		}
	}
	r := varint.Reader{Left: []byte{1}}
	if r.Done() {
		t.Error("Done = true before the end of the input")
	}
}
