package sqlstore

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

// TestEveryFlippedBitIsFound changes each bit of stored rows: none is read.
func TestEveryFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	es := []task.Entry{{Version: 1, Kind: task.Created, State: task.Submitted, At: 1, Body: []byte(`{"messageId":"m","parts":[{"text":"hello"}]}`)}}
	h := fullHead()
	for name, tt := range map[string]struct {
		stored []byte
		read   func([]byte) error
	}{
		"row of a log": {AppendEntries(nil, es), func(b []byte) error { _, err := DecodeEntries(b); return err }},
		"head":         {AppendHead(nil, &h), func(b []byte) error { return DecodeHead(b, new(task.Head)) }},
		"data":         {Checked([]byte("data")), func(b []byte) error { _, err := Content(b); return err }},
	} {
		if err := tt.read(tt.stored); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		first := 0
		if name == "data" {
			first = 1 // without its mark, it is data of an earlier version
		}
		for i := first; i < len(tt.stored); i++ {
			for bit := range 8 {
				b := bytes.Clone(tt.stored)
				b[i] ^= 1 << bit
				if err := tt.read(b); !errors.Is(err, task.ErrCorrupt) {
					t.Errorf("%s with bit %d of byte %d flipped = %v, want ErrCorrupt", name, bit, i, err)
				}
			}
		}
	}
}

// TestRowsWithoutChecksums reads rows of earlier versions.
func TestRowsWithoutChecksums(t *testing.T) {
	t.Parallel()
	want := []task.Entry{{Version: 1, Kind: task.Created, State: task.Submitted, At: 1, Body: []byte(`{}`)}}
	got, err := DecodeEntries(task.AppendEntries(nil, want))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("DecodeEntries = %v, mismatch (-want +got):\n%s", err, diff)
	}
	for _, data := range [][]byte{nil, {}, []byte("data")} {
		if got, err := Content(data); !bytes.Equal(got, data) || err != nil {
			t.Errorf("Content(%q) = %q, %v", data, got, err)
		}
		if got, err := Content(Checked(data)); !bytes.Equal(got, data) || err != nil || (got == nil) != (data == nil) {
			t.Errorf("Content of the checked %q = %q, %v", data, got, err)
		}
	}
	h := fullHead()
	var old task.Head
	if err := DecodeHead(AppendHead(nil, &h)[checkBytes:], &old); err != nil || old.StatusMessage == nil {
		t.Errorf("DecodeHead without a checksum = %v", err)
	}
}
