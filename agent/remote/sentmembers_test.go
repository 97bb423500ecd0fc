package remote_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
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

// noting works until it is canceled, and notes the metadata of the request.
type noting struct {
	agent.Func
	got chan map[string]any
}

func (n noting) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		n.got <- ec.Metadata
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// TestMetadataOfACancelRequestIsSentOn checks that a remote agent receives the metadata of a
// cancel request.
func TestMetadataOfACancelRequestIsSentOn(t *testing.T) {
	t.Parallel()
	for name, metadata := range map[string]string{"metadata": `{"why":"too late"}`, "none": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := noting{got: make(chan map[string]any, 1)}
			x.Func = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil), nil) {
					<-ctx.Done()
				}
			}
			p := startPair(t, x, nil)
			id := p.hub.send(now(newSend("begin"))).Head.ID
			p.hub.wait(id, task.Working)
			r := &op.Cancel{ID: id}
			if metadata != "" {
				r.Metadata = []byte(metadata)
			}
			a, err := p.hub.Cancel(t.Context(), alice, r)
			if err != nil || a.Head.State != task.Canceled {
				t.Fatalf("Cancel = %+v, %v", a, err)
			}
			got, _ := json.Marshal(<-x.got)
			if want := metadata; string(got) != want && (want != "" || string(got) != "null") {
				t.Errorf("the peer has received %s, want %q", got, want)
			}
		})
	}
}
