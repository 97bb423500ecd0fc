package check

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/internal/check/checktest"
	"github.com/parley-a2a/parley/internal/check/wire"
)

// inRPC are the requirements of v0.3 that only apply to JSON-RPC.
var inRPC = map[string]bool{"v03.unknown-method": true, "v03.envelope": true}

// outcomes runs the checks of v0.3 and returns their results, by interface and id.
func outcomes(t *testing.T, o checktest.Options) map[string]map[string]Result {
	t.Helper()
	all := map[string]map[string]Result{}
	for _, r := range checked(t, o, "v03").Results {
		if all[r.Interface] == nil {
			all[r.Interface] = map[string]Result{}
		}
		all[r.Interface][r.ID] = r
	}
	return all
}

// All requirements of v0.3 are judged on each of its bindings, except those of JSON-RPC.
func TestEveryBindingOfV03IsJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full, little := outcomes(t, everything), outcomes(t, checktest.Options{Legacy: true})
		for _, q := range catalogue().legacy {
			for _, target := range []string{"jsonrpc 0.3", "rest 0.3", "grpc 0.3"} {
				passed := full[target][q.ID].Outcome == Pass || little[target][q.ID].Outcome == Pass
				if want := target == "jsonrpc 0.3" || !inRPC[q.ID]; passed != want {
					t.Errorf("%s on %s passes: %v, want %v; %+v", q.ID, target, passed, want, full[target][q.ID])
				}
			}
		}
	})
}

// A defect is found on the bindings that have it, with the bytes as evidence.
func TestDefectsOfV03AreFoundOnEachBinding(t *testing.T) {
	t.Parallel()
	const rest, both = "rest 0.3", "rest 0.3, grpc 0.3"
	for _, tt := range []struct {
		id, on string
		defect
	}{
		{"v03.send", rest, bytesOf(`{"task":`, `{"job":`)},
		{"v03.task", both, results(wire.SendMessage, func(_, r object) { delete(taskOf(r), "contextId") })},
		{"v03.states", rest, bytesOf("TASK_STATE_COMPLETED", "TASK_STATE_DONE")},
		{"v03.roles", rest, bytesOf("ROLE_AGENT", "ROLE_BOT")},
		{"v03.parts", rest, bytesOf(`"parts":[{"text"`, `"parts":[{"words"`)},
		{"v03.get", both, results(wire.GetTask, func(_, r object) { r["id"] = "other" })},
		{"v03.get-unknown", both, faults(wire.GetTask, wire.TaskNotFound, wire.PushNotSupported)},
		{"v03.cancel-unknown", both, faults(wire.CancelTask, wire.TaskNotFound, wire.PushNotSupported)},
		{"v03.cancel-ended", both, accepts(wire.CancelTask, wire.TaskNotCancelable)},
		{"v03.continues", both, results(wire.SendMessage, func(p, r object) { rename(p, r, "id") })},
		{"v03.stream", rest, bytesOf(`"statusUpdate"`, `"update"`)},
		{"v03.final", rest, bytesOf(`"final":true`, `"final":false`)},
		{"v03.final", both, lingers(wire.StreamMessage)},
		{"v03.resubscribe-unknown", both, faults(wire.SubscribeTask, wire.TaskNotFound, wire.PushNotSupported)},
		{"v03.push", both, results(wire.ListPush, func(_, r object) { r["configs"] = []any{} })},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := everything
				o.Defect = tt.defect
				found := outcomes(t, o)
				for target := range strings.SplitSeq(tt.on, ", ") {
					if got := found[target][tt.id]; got.Outcome != Fail || len(got.Evidence) == 0 {
						t.Errorf("%s on %s = %+v, want a failure with evidence", tt.id, target, got)
					}
				}
			})
		})
	}
}
