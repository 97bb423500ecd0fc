package mock

import (
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/dialecttest"
)

// An older call is answered in the only older dialect that the agent serves, or else in the
// dialect that the version, the method, the message or its task indicates.
func TestOlderDialects(t *testing.T) {
	t.Parallel()
	const kinds = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}`
	const bare = `{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}`
	const v03, derived = `"kind":"task"`, `"result":{"artifacts":`
	for _, tt := range []struct{ serve, header, method, params, want string }{
		{"[v0.3, " + dialecttest.Derived + "]", "", "message/send", kinds, v03},
		{"[v0.3, " + dialecttest.Derived + "]", "", "message/send", bare, derived},
		{"[v0.3, " + dialecttest.Derived + "]", "A2A-Version: 0.3", "message/send", bare, v03},
		{"[v0.3, " + dialecttest.Derived + "]", "A2A-Version: 0.3.0", "message/send", bare, v03},
		{"[v0.3, " + dialecttest.Derived + "]", "", "message/sendStream", bare, `"taskId":"mock-task-1"}}`},
		{"[v0.3, " + dialecttest.Derived + "]", "", "tasks/get", `{"id":"none"}`, "-32001"},
		{"[" + dialecttest.Derived + "]", "", "message/send", kinds, derived},
		{"[" + dialecttest.Derived + "]", "A2A-Version: 0.3", "message/send", kinds, derived},
		{"[v0.3]", "", "message/send", bare, v03},
		{"[v0.3]", "", "tasks/list", "{}", `"totalSize":0`},
		{"[jsonrpc]", "", "message/send", kinds, "the agent does not speak v0.3 here"},
	} {
		s := served(t, "a2a_agents: [{name: a, serve: "+tt.serve+", responses: [{response: ok}]}]")
		got := exchange(s, fmt.Sprintf("POST /a2a\n%s\n\n", tt.header)+fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params))
		mustContain(t, got, tt.want)
	}
}

// A task is returned in the dialect in which it began, and listed in each dialect.
func TestOlderDialectOfATask(t *testing.T) {
	t.Parallel()
	s := served(t, "a2a_agents: [{name: a, responses: [{response: ok}]}, {name: old, serve: [v0.3], responses: [{response: ok}]}]")
	call := func(path, method, params string) string {
		return exchange(s, "POST "+path+"\n\n"+fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	}
	mustContain(t, call("/a2a", "message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}`), "mock-task-1")
	mustContain(t, call("/a2a", "tasks/get", `{"id":"mock-task-1"}`), `"kind":"task"`)
	mustContain(t, call("/a2a", "tasks/list", "{}"), `"tasks":[{"contextId":`, `"state":"completed"`)
	mustContain(t, call("/a2a\nA2A-Version: 0.3", "tasks/list", "{}"), `"id":"mock-task-1","status"`) // v0.3 has a kind between them
	mustContain(t, call("/a2a/old", "message/send", `{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}`), "mock-task-2")
	mustContain(t, call("/a2a/old", "tasks/list", "{}"), `"kind":"task"`, `"state":"completed"`)
}
