package remote

import (
	"encoding/json"
	"testing"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// FuzzRelay feeds a relay arbitrary JSON of a peer, twice, and then the resulting task of the
// hub: only valid events may be passed on.
func FuzzRelay(f *testing.F) {
	for _, s := range []string{
		snapshot("WORKING", whole(`{"text":"one"},{"data":{"n":1}}`), `,"metadata":{"k":1}`),
		snapshot("COMPLETED", whole(`{"text":"ä"}`), ""), status("WORKING", `,"message":{"parts":[]}`),
		chunk(`{"text":"x"}`, `,"append":true,"lastChunk":true`), `{"message":{"parts":[]}}`,
	} {
		f.Add([]byte(s), []byte(snapshot("WORKING", whole(`{"text":"one"}`), "")))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var r relay
		for _, b := range [][]byte{first, first, second} {
			if rawjson.Check(b, 100) != nil {
				return // such JSON is refused when the peer is read
			}
			ev := peer.NewEvent(b)
			news, err := r.take(&ev, false)
			if err != nil {
				continue
			}
			for _, n := range news {
				if !json.Valid(n) || rawjson.KindOf(n) != rawjson.Object {
					t.Fatalf("take(%q) passes %q on", b, n)
				}
			}
		}
		var other relay
		other.restore(member(second, "task"), nil)
	})
}

// FuzzHandle decodes damaged checkpoints.
func FuzzHandle(f *testing.F) {
	f.Add((&handle{Key: "k/1", Task: "t", Context: "c", Event: "7", Deadline: 5}).encode())
	f.Add([]byte(`{"task":7}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHandle(b)
		if err != nil {
			return
		}
		again, err := decodeHandle(h.encode())
		if err != nil || again != h {
			t.Errorf("decode(encode(%+v)) = %+v, %v", h, again, err)
		}
	})
}
