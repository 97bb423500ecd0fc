package dialect_test

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/dialect"
)

// No reader meets a state that it does not know: RockBot's takes an unknown one for
// completed, PromptKit's fails.
func TestStatesOfEveryDialect(t *testing.T) {
	t.Parallel()
	tests := []struct{ v1, v03, promptKit, rockBot, job string }{
		{"SUBMITTED", "submitted", "submitted", "submitted", "Submitted"},
		{"WORKING", "working", "working", "working", "Working"},
		{"COMPLETED", "completed", "completed", "completed", "Completed"},
		{"FAILED", "failed", "failed", "failed", "Failed"},
		{"CANCELED", "canceled", "canceled", "canceled", "Canceled"},
		{"INPUT_REQUIRED", "input-required", "input_required", "inputRequired", "InputRequired"},
		{"REJECTED", "rejected", "rejected", "rejected", "Failed"},
		{"AUTH_REQUIRED", "auth-required", "auth_required", "authRequired", "InputRequired"},
	}
	for _, tt := range tests {
		in := []byte(`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_` + tt.v1 + `"}}`)
		for got, want := range map[string]string{
			string(dialect.V03.AppendResult(nil, dialect.GetTask, in)):       tt.v03,
			string(dialect.PromptKit.AppendResult(nil, dialect.GetTask, in)): tt.promptKit,
			string(dialect.RockBot.AppendResult(nil, dialect.GetTask, in)):   tt.rockBot,
			string(dialect.AppendJobResult(nil, "t", in)):                    tt.job,
		} {
			if !strings.Contains(got, `"state":"`+want+`"`) {
				t.Errorf("%s is shown as %s, want %s", tt.v1, got, want)
			}
		}
	}
}
