package check

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// inRPC are the requirements of v0.3 that only apply to JSON-RPC.
var inRPC = map[string]bool{"v03.unknown-method": true, "v03.envelope": true}

// outcomes runs the checks of v0.3 and returns their results, by interface and id.
func outcomes(t *testing.T, o features) map[string]map[string]Result {
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
		full, little := outcomes(t, everything), outcomes(t, features{})
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
		{"v03.get-unknown", both, faults(wire.GetTask, a2a.ErrTaskNotFound, a2a.ErrPushNotificationNotSupported)},
		{"v03.cancel-unknown", both, faults(wire.CancelTask, a2a.ErrTaskNotFound, a2a.ErrPushNotificationNotSupported)},
		{"v03.cancel-ended", both, accepts(wire.CancelTask, a2a.ErrTaskNotCancelable)},
		{"v03.continues", both, results(wire.SendMessage, func(p, r object) { rename(p, r, "id") })},
		{"v03.stream", rest, bytesOf(`"statusUpdate"`, `"update"`)},
		{"v03.final", rest, bytesOf(`"final":true`, `"final":false`)},
		{"v03.final", both, lingers(wire.StreamMessage)},
		{"v03.resubscribe-unknown", both, faults(wire.SubscribeTask, a2a.ErrTaskNotFound, a2a.ErrPushNotificationNotSupported)},
		{"v03.push", both, noHooks()},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := everything
				o.defect = tt.defect
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
