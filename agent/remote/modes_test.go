package remote_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestAcceptedOutputModesAreSentOn checks that a remote agent receives the media types that the
// caller accepts, with each message of its own, and none if the caller named none.
func TestAcceptedOutputModesAreSentOn(t *testing.T) {
	t.Parallel()
	for _, w := range fourWays {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			other := strings.NewReplacer("q1", "q2", "city", "street").Replace(which)
			s := &fakePeer{turns: []turn{asks("INPUT_REQUIRED", which, ""), asks("INPUT_REQUIRED", other, ""), asks("COMPLETED", "", "")}}
			h := startFakePeer(t, s, w, nil)
			first := newSend("begin")
			first.AcceptedOutputModes = []string{"text/plain", `image/*;a="b"`}
			id := h.send(first).Head.ID
			h.send(reply(id, "Paris"))
			last := reply(id, "Rome")
			last.AcceptedOutputModes = []string{"audio/wav"}
			h.send(last)
			var got [][]string
			for _, body := range s.asked {
				var r struct {
					Method string
					Params struct {
						Message       json.RawMessage
						Configuration struct{ AcceptedOutputModes []string }
					}
				}
				if err := json.Unmarshal([]byte(body), &r); err != nil {
					t.Fatal(err)
				}
				if r.Params.Message != nil {
					got = append(got, r.Params.Configuration.AcceptedOutputModes)
				}
			}
			want := [][]string{first.AcceptedOutputModes, nil, last.AcceptedOutputModes}
			if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
				t.Errorf("the peer has received %q, want %q", got, want)
			}
		})
	}
}
