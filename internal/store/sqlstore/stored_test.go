package sqlstore

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/varint"
)

// TestStoredForms compares the binary forms with those on the disks of operators.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	h := fullHead()
	h.Sealed = h.Sealed[:3]
	assigned := task.Head{Assigned: "other"}
	var m Moments
	m.AddChange(300, 1, 200)
	m.AddNotice([]byte("note"))
	for name, tt := range map[string]struct {
		got  []byte
		want string
	}{
		"head":          {AppendHead(nil, &h), "cc0c4d0e9d010680a0abfef96208060e1006040286a0abfef962056875622d310301610002c3b6117b226d6573736167654964223a226d227d"},
		"assigned head": {AppendHead(nil, &assigned), "cc2eae417f020000000000000000000000056f7468657200"},
		"entries":       {AppendEntries(nil, []task.Entry{{Version: 1, Kind: task.Created, State: task.Submitted, At: 1, Body: []byte("{}")}}), "cc02b9de2801010101010102027b7d"},
		"moments":       {m.Data, "ac0201c80100046e6f7465"},
	} {
		if diff := cmp.Diff(tt.want, hex.EncodeToString(tt.got)); diff != "" {
			t.Errorf("stored %s mismatch (-want +got):\n%s", name, diff)
		}
	}
	r := varint.Reader{Left: m.Data}
	want := []task.Moment{{Key: 300, First: 1, Last: 200}, {Notice: []byte("note")}}
	got := []task.Moment{DecodeMoment(&r), DecodeMoment(&r)}
	if diff := cmp.Diff(want, got); diff != "" || !r.Done() || m.N != 2 {
		t.Errorf("moments: %d, mismatch (-want +got):\n%s", m.N, diff)
	}
}
