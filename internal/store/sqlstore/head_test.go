package sqlstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

// fullHead returns a head with a value in each field that has no column.
func fullHead() task.Head {
	return task.Head{
		Dialect: 3, StatusMessage: []byte(`{"messageId":"m"}`), CreatedAt: 1_700_000_000_000,
		LastMessage: 4, Consumed: 3, CancelAt: 1_700_000_000_003,
		Run:    task.Run{Epoch: 7, Seq: 8, Holder: "hub-1", Dispatch: task.Claimed, Attempt: 2, Disclosed: true},
		Sealed: []a2a.ArtifactID{"a", "", "ö", a2a.ArtifactID(strings.Repeat("x", 300))},
	}
}

func FuzzDecodeHead(f *testing.F) {
	full := fullHead()
	all := AppendHead(nil, &full)
	f.Add(all)
	f.Add(all[:len(all)-3])
	f.Add(AppendHead(nil, &task.Head{}))
	f.Add(AppendHead(nil, &task.Head{Assigned: "other"}))
	f.Add([]byte(nil))
	f.Add([]byte{2})
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05a"))
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again task.Head
		if err := DecodeHead(b, &h); err != nil {
			if !errors.Is(err, task.ErrCorrupt) {
				t.Errorf("decodeRest(%x) = %v, want ErrCorrupt", b, err)
			}
			return
		}
		err := DecodeHead(AppendHead(nil, &h), &again)
		if diff := cmp.Diff(h, again); diff != "" || err != nil {
			t.Errorf("round trip of %x: %v, mismatch:\n%s", b, err, diff)
		}
	})
}
