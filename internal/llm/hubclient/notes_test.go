package hubclient_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

func TestTaskOfKey(t *testing.T) {
	t.Parallel()
	key := hubclient.ResultKey("a/b", "the agent", "t1")
	if want := "session/a%2Fb/a2a/the%20agent/t1/result"; key != want {
		t.Errorf("key %q, want %q", key, want)
	}
	for key, want := range map[string]a2a.TaskID{
		key: "t1", "/" + key: "t1", key + ".data": "t1", key + ".text": "", "session/s/plan": "", "": "", key + "/x": "",
	} {
		if got := hubclient.TaskOfKey(key); got != want {
			t.Errorf("TaskOfKey(%q) = %q, want %q", key, got, want)
		}
	}
}
