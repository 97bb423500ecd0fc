package remote_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/op"
)

// TestReferences checks that a task that a message refers to has the peer's id at the peer, also
// after a restart, if it belongs to the same caller. Any other id stays unchanged.
func TestReferences(t *testing.T) {
	t.Parallel()
	for _, w := range fourWays {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := &fakePeer{turns: []turn{asks("COMPLETED", "", artifacts(artifact("a", "here")))}}
			h := startFakePeer(t, s, w, nil)
			id := h.send(newSend("first")).Head.ID
			bob := *alice.Principal
			bob.ID = "bob"
			refer := func(c *op.Caller, ids ...a2a.TaskID) {
				t.Helper()
				list, err := json.Marshal(ids)
				if err != nil {
					t.Fatal(err)
				}
				r := newSend(fmt.Sprint("about ", len(s.asked)))
				r.Message.Body = append(bytes.TrimSuffix(r.Message.Body, []byte("}")), fmt.Sprintf(`,"referenceTaskIds":%s}`, list)...)
				if _, err := h.Send(t.Context(), c, r); err != nil {
					t.Fatal(err)
				}
			}
			refer(alice, id, "somewhere")
			h.restart()
			refer(alice, id)
			refer(&op.Caller{Principal: &bob}, id)
			var got [][]string
			for _, body := range s.asked {
				var sent struct {
					Params struct {
						Message struct{ ReferenceTaskIds []string }
					}
				}
				if err := json.Unmarshal([]byte(body), &sent); err != nil {
					t.Fatal(err)
				}
				got = append(got, sent.Params.Message.ReferenceTaskIds)
			}
			want := [][]string{nil, {"there", "somewhere"}, {"there"}, {string(id)}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("references at the peer mismatch (-want +got):\n%s", diff)
			}
		})
	}
}
