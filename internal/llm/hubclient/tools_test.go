package hubclient_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// goodAndBad are calls of every tool. want is a text in the result or, after "!", in the error
// for the model.
var goodAndBad = []struct{ tool, args, want string }{
	{"invoke_agent", `{"agent_name":"echo","skill":"echo","message":"hello world"}`, `from=\"agent/echo\">\nhello world\n</quoted`},
	{"invoke_agent", `{"agent_name":"Echo","skill":"ECHO","message":"x"}`, `"agent":"echo"`},
	{"invoke_agent", `{"agent_name":"echo","skill":"echo","message":"x","data":{"a":[1,"two"]},"metadata":{"n":1,"b":true,"s":"x"}}`, `from=\"agent/echo\">\n{\"a\":[1,\"two\"]}\n<`},
	{"invoke_agent", `{"agent_name":"clock","skill":"clock","message":"now"}`, `/result.data"`},
	{"invoke_agent", `{"agent_name":"slow","skill":"slow","message":"600","timeout_minutes":0}`, `"working_memory_key":"session/table/a2a/slow/`},
	{"invoke_agent", `{"agent_name":"interview","skill":"interview","message":"ask 1"}`, `call continue_task with task_id`},
	{"invoke_agent", `{"agent_name":"eco","skill":"echo","message":"x"}`, `!no agent "eco". The nearest names are: echo, `},
	{"invoke_agent", `{"agent_name":"echo","skill":"ehco","message":"x"}`, `!no skill "ehco". Its skills are: echo. get_agent_details`},
	{"invoke_agent", `{"agent_name":"echo","skill":"echo"}`, `!"message" is missing. The arguments are agent_name (string, required)`},
	{"invoke_agent", `{"agentName":"echo","skill":"echo","message":"x"}`, `!"agent_name" is missing; there is no argument "agentName" (did you mean "agent_name"?)`},
	{"invoke_agent", `{"agent_name":"echo","skill":"echo","message":"x","data":"{\"a\":1}"}`, `!"data" must be a JSON object, not a string that holds JSON: leave out the quotes`},
	{"invoke_agent", `{"agent_name":"echo","skill":"echo","message":"x","metadata":{"skill":"other"}}`, `!"metadata" must not have the key "skill"`},
	{"invoke_agent", `{"agent_name":"echo","skill":"echo","message":"x","timeout_minutes":-1}`, `!"timeout_minutes" must be between 0 and 1440, not -1`},
	{"chat_with_agent", `{"agent":"echo","message":"hi"}`, `\nhi\n</quoted`},
	{"chat_with_agent", `{"agent":"interview","message":"ask 1"}`, `What is your name?`},
	{"chat_with_agent", `{"agent":"echo","message":" "}`, `!"message" must not be empty`},
	{"chat_with_agent", `{"agent":"echo","message":"x","taskId":"nope"}`, `!no such task; list_tasks shows`},
	{"chat_with_agent", `{"agent":"the one that knows","message":"x"}`, `!There is no agent "the one that knows"`},
	{"continue_task", `{"task_id":"nope","message":"x"}`, `!no such task`},
	{"continue_task", `{"message":"x"}`, `!"task_id" is missing`},
	{"get_task", `{"task_id":"nope"}`, `!no such task`},
	{"get_task", `{"task_id":7}`, `!"task_id" must be a string, not a number`},
	{"cancel_task", `{"task_id":"nope"}`, `!no such task`},
	{"list_tasks", `{"agent_name":"echo","state":"completed","limit":1}`, `"next_page_token":`},
	{"list_tasks", `{}`, `"state":"completed"`},
	{"list_tasks", `{"state":"complete"}`, `!"state" must be one of submitted, working,`},
	{"list_tasks", `{"page_token":"junk"}`, `!oken`},
	{"list_known_agents", `{}`, `"name":"clock"`},
	{"list_known_agents", `null`, `"name":"clock"`},
	{"list_known_agents", `{"skill":"echo"}`, `"id":"echo"`},
	{"list_known_agents", `{"skill":"clok"}`, `Skills with a similar name: clock, `},
	{"list_known_agents", `{"agent":"x"}`, `!there is no argument "agent"`},
	{"get_agent_details", `{"agent_name":"report"}`, `\"examples\":`},
	{"get_agent_details", `{"agent_name":"reporter"}`, `!The nearest names are: report, `},
	{"get_agent_details", `{}`, `!"agent_name" is missing`},
	{"search_known_services", `{"query":"what time is it"}`, `"id":"clock","relevance_score":1`},
	{"search_known_services", `{"query":"find issues"}`, `"top_tools":["search_issues"],"type":"mcp"`},
	{"search_known_services", `{"query":"xyzzy"}`, `Nothing fits these words`},
	{"search_known_services", `{"query":""}`, `!"query" must not be empty`},
	{"save_to_working_memory", `{"key":"plan","data":"buy tulips","ttl_minutes":60,"category":"plan","tags":["garden"]}`, `"key":"session/table/plan"`},
	{"save_to_working_memory", `{"key":"session/other/plan","data":"x"}`, `!You can change only your own notes`},
	{"save_to_working_memory", `{"key":"a//b","data":"x"}`, `!empty segment`},
	{"save_to_working_memory", `{"key":"plan","data":{"a":1}}`, `!"data" must be a string, not an object`},
	{"save_to_working_memory", `{"key":"plan","data":"x","ttl_minutes":0}`, `!"ttl_minutes" must be between 0.1 and 43200`},
	{"get_from_working_memory", `{"key":"plan"}`, `from=\"note/table\">\nbuy tulips\n</quoted`},
	{"get_from_working_memory", `{"key":"session/table/plan"}`, `from=\"note/table\">\nbuy tulips\n</quoted`},
	{"get_from_working_memory", `{"key":"plans"}`, `!There is no note "plans"`},
	{"search_working_memory", `{"query":"tulips"}`, `from=\"note/table\">\nbuy tulips\n</quoted`},
	{"search_working_memory", `{"tags":["garden"],"category":"pl"}`, `from=\"note/table\">\nbuy tulips\n</quoted`},
	{"search_working_memory", `{"tags":"garden"}`, `!"tags" must be an array of strings, not a string`},
	{"search_working_memory", `{"namespace":"session/nobody"}`, `There are no such notes`},
	{"delete_from_working_memory", `{"key":"plan"}`, `"deleted":"session/table/plan"`},
	{"delete_from_working_memory", `{"key":"plan"}`, `!No such note`},
	{"delete_from_working_memory", `{"key":"session/other/plan"}`, `!belongs to another session`},
	{"register_agent", `{"agent_name":"far","url":"http://127.0.0.1:1","skills":["translate"],"auth_header_name":"X-Api-Key","auth_header_value_base64":"c2VjcmV0"}`, `"skills":[{"id":"translate"}]`},
	{"register_agent", `{"agent_name":"far","url":"not a url"}`, `!url`},
	{"register_agent", `{"agent_name":"echo","url":"http://127.0.0.1:1"}`, `!configured`},
	{"register_agent", `{"agent_name":"far","url":"http://127.0.0.1:1","auth_header_name":"X"}`, `!go together`},
	{"refresh_agent_card", `{"agent_name":"far"}`, `not refreshed: the agent did not answer`},
	{"refresh_agent_card", `{"agent_name":"echo"}`, `"status":"refreshed: no changes"`},
	{"refresh_agent_card", `{"agent_name":"fra"}`, `!There is no agent "fra". The nearest names are: far`},
	{"unregister_agent", `{"agent_name":"far"}`, `"unregistered":"far"`},
	{"unregister_agent", `{"agent_name":"echo"}`, `!configured`},
	{"unregister_agent", `{"agent_name":"far"}`, `!There is no agent "far"`},
	{"ask_human", `{"question":"why?","timeout_minutes":0.01}`, `"answered":false`},
	{"ask_human", `{"question":""}`, `!"question" must not be empty`},
	{"send_update", `{"text":"half way"}`, `"sent":false`},
	{"send_update", `{"txt":"x"}`, `!there is no argument "txt" (did you mean "text"?)`},
}

func TestEveryTool(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: `
directory: {allow: [loopback]}
mcp_services:
  - id: github
    summary: Repositories, issues and pull requests.
    tools: [{name: search_issues, description: Finds issues by their words.}]
`})
	k := open(t, h, "table")
	untested := map[string]bool{}
	for name := range k.tools {
		untested[name], untested[name+"!"] = true, true
	}
	for _, tt := range goodAndBad {
		r := k.call(tt.tool, tt.args)
		want, wantError := strings.CutPrefix(tt.want, "!")
		got := text(r)
		if r.Error != wantError || !strings.Contains(got, want) {
			t.Errorf("%s(%s): error is %v, result\n\t%s\nwant error %v and\n\t%s", tt.tool, tt.args, r.Error, got, wantError, want)
		}
		if !wantError {
			fits(t, k, tt.tool, tt.args)
			delete(untested, tt.tool)
		} else {
			delete(untested, tt.tool+"!")
		}
	}
	for _, fine := range []string{"get_task", "cancel_task", "continue_task"} { // they need a task, see below
		delete(untested, fine)
	}
	if len(untested) > 0 {
		t.Errorf("not called, well or badly (!): %v", untested)
	}
}

// fits validates accepted arguments against the schema of their tool.
func fits(t *testing.T, k *toolkit, tool, args string) {
	t.Helper()
	if args == "null" {
		return
	}
	if err := valid(t, compiled(t, k.tools[tool].Input), json.RawMessage(args)); err != nil {
		t.Errorf("%s(%s) was taken, and does not fit the schema: %v", tool, args, err)
	}
}
