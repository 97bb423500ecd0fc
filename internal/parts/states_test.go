package parts_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/parts/promptkit"
	"github.com/parley-a2a/parley/internal/parts/rockbot/gateway"
)

// No reader gets a state that it does not know: RockBot's reads an unknown one as completed,
// PromptKit's fails.
func TestStatesOfEveryDialect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		v1, v03, promptKit, rockBot string
		job                         int
	}{
		{"SUBMITTED", "submitted", "submitted", "submitted", 0},
		{"WORKING", "working", "working", "working", 1},
		{"COMPLETED", "completed", "completed", "completed", 3},
		{"FAILED", "failed", "failed", "failed", 4},
		{"CANCELED", "canceled", "canceled", "canceled", 5},
		{"INPUT_REQUIRED", "input-required", "input_required", "inputRequired", 2},
		{"REJECTED", "rejected", "rejected", "rejected", 4},
		{"AUTH_REQUIRED", "auth-required", "auth_required", "authRequired", 2},
	}
	for _, tt := range tests {
		in := []byte(`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_` + tt.v1 + `"}}`)
		for got, want := range map[string]string{
			string(dialect.V03.AppendResult(nil, dialect.GetTask, in)):     tt.v03,
			string(promptkit.Shape.AppendResult(nil, dialect.GetTask, in)): tt.promptKit,
			string(gateway.Shape.AppendResult(nil, dialect.GetTask, in)):   tt.rockBot,
		} {
			if !strings.Contains(got, `"state":"`+want+`"`) {
				t.Errorf("%s is shown as %s, want %s", tt.v1, got, want)
			}
		}
		got, want := string(dialect.AppendJobResult(nil, "t", in)), `{"taskId":"t","contextId":"c","state":`+strconv.Itoa(tt.job)+`}`
		if got != want {
			t.Errorf("job: %s is shown as %s, want %s", tt.v1, got, want)
		}
	}
}
