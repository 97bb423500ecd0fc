package rockbothttp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// gatewayConfig is the parley.yaml of a hub that replaces RockBot's gateway, with the keys of
// the document in the form of its appsettings.json.
const gatewayConfig = `
auth: {min_key_length: 6}
ApiKeys:
  my-key: {AgentId: bob, DisplayName: Bob}
  alice-calls-bob: {AgentId: alice, DisplayName: Alice}
  admin-key: {AgentId: boss, DisplayName: Boss, roles: [admin]}
push: {allow: [loopback]}
agents:
  - name: rockbot
    command: [sh, -c, 'printf "You said: "; cat']
    skills: [{id: general}, {id: extract-structured-data}]
    inputModes: [text/plain, application/json]
  - {name: notifier, command: [sh, -c, 'printf "Notified: "; cat'], skills: [{id: notify-user, name: Notify User}]}
  - {name: who, command: [sh, -c, 'echo "$PARLEY_CALLER"'], skills: [{id: who}]}
  - {name: asker, command: [sh, -c, 'if [ -n "$PARLEY_TASK_FILE" ]; then printf "at "; cat; else echo "when?"; exit 3; fi'], skills: [{id: ask}]}
  - {name: steady, idempotent: true, command: [sh, -c, 'while [ ! -e go ]; do sleep 0.05; done; echo gone'], skills: [{id: steady}]}
`

const bobs, alices, admins = "my-key", "alice-calls-bob", "admin-key"

func TestGateway(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: gatewayConfig})
	bob := at(h, "/", bobs)
	t.Run("C1", func(t *testing.T) { testAuthentication(t, h) })
	t.Run("C2", func(t *testing.T) { testCurl(t, bob) })
	t.Run("C3", func(t *testing.T) { testMethods(t, h) })
	t.Run("C4", func(t *testing.T) { testExtendedCard(t, bob) })
	t.Run("C5", func(t *testing.T) { testIdentity(t, h) })
	t.Run("C6", func(t *testing.T) { testStream(t, bob, "SendStreamingMessage") })
	t.Run("C7", func(t *testing.T) {
		testStream(t, bob, "message/sendStream")
		raw, err := bob.Call(within(t), "message/send", message("hi", "", ""))
		if err != nil {
			t.Fatal(err)
		}
		if e, err := rockbothttp.ReadEvent(raw); err != nil || e.Message.Text() != "You said: hi" {
			t.Errorf("message/send: %s, %v", raw, err)
		}
	})
	t.Run("C9", func(t *testing.T) { testSkills(t, h) })
	t.Run("C10", func(t *testing.T) { testLists(t, h) })
	t.Run("C12", func(t *testing.T) { testFollowUp(t, h) })
	t.Run("unknown skill", func(t *testing.T) { testUnknownSkill(t, h) })
	t.Run("hostile", func(t *testing.T) { testHostileCaller(t, h) })
}

func testAuthentication(t *testing.T, h *hubtest.Hub) {
	var card struct {
		Capabilities struct{ Streaming, PushNotifications bool }
		Schemes      map[string]json.RawMessage `json:"securitySchemes"`
	}
	if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/.well-known/agent-card.json"}, &card); err != nil {
		t.Fatal(err)
	}
	if !card.Capabilities.Streaming || !card.Capabilities.PushNotifications || len(card.Schemes) == 0 {
		t.Errorf("the card says %+v", card)
	}
	for _, key := range []string{"", "no-key", "my-ke", "my-keys"} {
		resp, err := at(h, "/", key).Post(within(t), `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		var answer struct{ Error rockbothttp.Error }
		if err := json.Unmarshal(body, &answer); resp.StatusCode != http.StatusUnauthorized || err != nil || answer.Error.Code != -32000 ||
			!strings.HasPrefix(answer.Error.Message, "Authentication required: provide X-Api-Key header") {
			t.Errorf("key %q: %d %s", key, resp.StatusCode, body)
		}
	}
}

// testCurl sends the document's example, byte for byte.
func testCurl(t *testing.T, bob *rockbothttp.Caller) {
	raw, err := bob.Raw(within(t), literal)
	if err != nil {
		t.Fatal(err)
	}
	e, err := rockbothttp.ReadEvent(raw)
	if err != nil || e.Message == nil || e.Message.Role != "agent" || e.Message.Text() != "Notified: What is the weather?" {
		t.Errorf("the answer is %s, %v", raw, err)
	}
}

// testMethods calls each of the eleven methods, the first of them with a new key.
func testMethods(t *testing.T, h *hubtest.Hub) {
	bob := at(h, "/", bobs)
	for _, method := range []string{"ListTasks", "GetExtendedAgentCard"} {
		if _, err := at(h, "/", alices).Call(within(t), method, `{}`); err != nil {
			t.Errorf("%s as the first call: %v", method, err)
		}
	}
	asked, err := bob.Send(within(t), message("meet", "ask", ""))
	if err != nil || asked.Task == nil || asked.Task.Status.State != "inputRequired" {
		t.Fatalf("SendMessage: %+v, %v", asked, err)
	}
	id := asked.Task.ID
	config := `{"taskId":"` + id + `","id":"c","url":"http://127.0.0.1:1/"}`
	ref := `{"taskId":"` + id + `","id":"c"}`
	for _, step := range []struct{ method, params, want string }{
		{"GetTask", `{"id":"` + id + `"}`, `"state":"inputRequired"`},
		{"ListTasks", `{}`, `"id":"` + id + `"`},
		{"CreateTaskPushNotificationConfig", config, `"id":"c"`},
		{"GetTaskPushNotificationConfig", ref, `"url":"http://127.0.0.1:1/"`},
		{"ListTaskPushNotificationConfig", `{"taskId":"` + id + `"}`, `"pushNotificationConfig":{"id":"c","url":"http://127.0.0.1:1/"}`},
		{"DeleteTaskPushNotificationConfig", ref, `{}`},
		// The shape of the .NET SDK behind the gateway.
		{"CreateTaskPushNotificationConfig", `{"taskId":"` + id + `","configId":"n","config":{"url":"http://127.0.0.1:1/","token":"t"}}`, `"id":"n"`},
		{"DeleteTaskPushNotificationConfig", `{"taskId":"` + id + `","id":"n"}`, `{}`},
	} {
		if got, err := bob.Call(within(t), step.method, step.params); err != nil || !strings.Contains(string(got), step.want) {
			t.Errorf("%s: %s, %v", step.method, got, err)
		}
	}
	for f, err := range bob.Stream(within(t), "SubscribeToTask", `{"id":"`+id+`"}`) {
		if err != nil || f.Event.Task == nil || f.Event.Task.Status.State != "inputRequired" {
			t.Errorf("SubscribeToTask: %s, %v", f.Raw, err)
		}
		break
	}
	if canceled, err := bob.Task(within(t), "CancelTask", `{"id":"`+id+`"}`); err != nil || canceled.Status.State != "canceled" {
		t.Errorf("CancelTask: %+v, %v", canceled, err)
	}
}

// cardOf contains the members of a card that the tests read.
type cardOf struct {
	Name         string
	Capabilities struct{ Streaming, PushNotifications, ExtendedAgentCard bool }
	Skills       []struct{ ID, Name string }
}

func (c *cardOf) has(skill string) bool {
	return slices.ContainsFunc(c.Skills, func(s struct{ ID, Name string }) bool { return s.ID == skill })
}

func testExtendedCard(t *testing.T, bob *rockbothttp.Caller) {
	raw, err := bob.Call(within(t), "GetExtendedAgentCard", `{}`)
	var c cardOf
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil || c.Name != "rockbot" || c.Capabilities != (struct{ Streaming, PushNotifications, ExtendedAgentCard bool }{true, true, true}) || !c.has("notify-user") {
		t.Errorf("the card is %s, %v", raw, err)
	}
}

func testIdentity(t *testing.T, h *hubtest.Hub) {
	for key, want := range map[string][2]string{bobs: {"bob", "Bob"}, alices: {"alice", "Alice"}} {
		e, err := at(h, "/", key).Send(within(t), message("hi", "who", ""))
		if err != nil {
			t.Fatal(err)
		}
		var who struct{ ID, Name string }
		if err := json.Unmarshal([]byte(e.Message.Text()), &who); err != nil || who.ID != want[0] || who.Name != want[1] {
			t.Errorf("the caller with %s is %s, %v", key, e.Message.Text(), err)
		}
	}
}

// testStream expects statuses, and then the answer as the message that ends the stream.
func testStream(t *testing.T, bob *rockbothttp.Caller, method string) {
	var got []string
	for f, err := range bob.Stream(within(t), method, message("hi", "", "")) {
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		switch e := f.Event; {
		case e.Task != nil:
			got = append(got, "task "+e.Task.Status.State)
		case e.StatusUpdate != nil:
			got = append(got, e.StatusUpdate.Status.State)
		case e.Message != nil:
			got = append(got, e.Message.Role+": "+e.Message.Text())
		}
	}
	if len(got) < 2 || !slices.Contains(got, "working") || got[len(got)-1] != "agent: You said: hi" {
		t.Errorf("%s: events are %q, want a working status and the answer at the end", method, got)
	}
}

func testSkills(t *testing.T, h *hubtest.Hub) {
	var c cardOf
	if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/.well-known/agent-card.json"}, &c); err != nil {
		t.Fatal(err)
	}
	for _, skill := range []string{"general", "extract-structured-data", "notify-user", "ask"} {
		if !c.has(skill) {
			t.Errorf("the card has no skill %s: %v", skill, c.Skills)
		}
	}
	if e, err := at(h, "/", bobs).Send(within(t), message("hi", "NOTIFY-USER", "")); err != nil || e.Message.Text() != "Notified: hi" {
		t.Errorf("a skill of another agent: %+v, %v", e, err)
	}
}

func testLists(t *testing.T, h *hubtest.Hub) {
	carol := at(h, "/", alices)
	var ids []string
	for i, skill := range []string{"ask", "general", "who"} {
		if _, err := carol.Send(within(t), message("hi", skill, fmt.Sprintf(`,"contextId":"list-%d"`, i%2))); err != nil {
			t.Fatal(err)
		}
		p, err := carol.List(within(t), `{"pageSize":1}`)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.Tasks[0].ID)
	}
	list := func(params string) []string {
		t.Helper()
		p, err := carol.List(within(t), params)
		if err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		found := []string{}
		for _, task := range p.Tasks {
			if n := slices.Index(ids, task.ID); n >= 0 {
				found = append(found, fmt.Sprint(n))
			}
		}
		return found
	}
	for params, want := range map[string][]string{
		`{"contextId":"list-1"}`:                                               {"1"},
		`{"contextId":"list-0","status":"inputRequired"}`:                      {"0"},
		`{"contextId":"list-0","status":"completed"}`:                          {"2"},
		`{"status":"TASK_STATE_COMPLETED","contextId":"list-1"}`:               {"1"},
		`{"contextId":"list-0","statusTimestampAfter":"2999-01-01T00:00:00Z"}`: {},
		`{"contextId":"list-0","statusTimestampAfter":"2001-01-01T00:00:00Z"}`: {"2", "0"},
	} {
		if diff := cmp.Diff(want, list(params)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", params, diff)
		}
	}
	first, err := carol.List(within(t), `{"contextId":"list-0","pageSize":1}`)
	if err != nil || len(first.Tasks) != 1 || first.NextPageToken == "" {
		t.Fatalf("the first page is %+v, %v", first, err)
	}
	second, err := carol.List(within(t), `{"contextId":"list-0","pageSize":1,"pageToken":"`+first.NextPageToken+`"}`)
	if err != nil || len(second.Tasks) != 1 || second.Tasks[0].ID != ids[0] || second.NextPageToken != "" {
		t.Errorf("the second page is %+v, %v", second, err)
	}
}

// testFollowUp answers a question by its context alone, like RockBot's callers.
// testFollowUp answers a question by its context, alone and with the skill. Another caller in the
// same context has no such question.
func testFollowUp(t *testing.T, h *hubtest.Hub) {
	bob, alice := at(h, "/", bobs), at(h, "/", alices)
	for i, skill := range []string{"", "ask"} {
		trip := fmt.Sprintf(`,"contextId":"trip-%d"`, i)
		asked, err := bob.Send(within(t), message("meet", "ask", trip))
		if err != nil || asked.Task == nil || asked.Task.Status.Message.Text() != "when?" {
			t.Fatalf("asked %+v, %v", asked, err)
		}
		if e, err := alice.Send(within(t), message("ten", "", trip)); err != nil || e.Message == nil || e.Message.Text() != "You said: ten" {
			t.Errorf("another caller in the same context gets %+v, %v", e, err)
		}
		e, err := bob.Send(within(t), message("ten", skill, trip))
		if err != nil || e.Message == nil || e.Message.Text() != "at ten" {
			t.Fatalf("with skill %q: %+v, %v", skill, e, err)
		}
		task, err := bob.Task(within(t), "GetTask", `{"id":"`+asked.Task.ID+`"}`)
		if err != nil || task.Status.State != "completed" || task.ContextID != fmt.Sprintf("trip-%d", i) {
			t.Errorf("the task is %+v, %v", task, err)
		}
		if e, err := bob.Send(within(t), message("thanks", "", trip)); err != nil || e.Message == nil || e.Message.Text() != "You said: thanks" {
			t.Errorf("after the end: %+v, %v", e, err)
		}
	}
}

// testUnknownSkill: the answer says that nothing was done, and the owner gets a notice.
func testUnknownSkill(t *testing.T, h *hubtest.Hub) {
	for _, method := range []string{"SendMessage", "message/send"} {
		raw, err := at(h, "/", bobs).Call(within(t), method, message("tea, by "+method, "brew-tea", ""))
		if err != nil || !strings.Contains(string(raw), "Its owner was notified") {
			t.Errorf("%s: %s, %v", method, raw, err)
		}
	}
	resp, err := hubtest.Do(within(t), hubtest.Request{
		URL: h.URL() + "/tasks/send", Header: []string{"X-Api-Key", bobs},
		Body: `{"taskId":"tea","skill":"brew-tea","message":{"role":"user","parts":[{"kind":"text","text":"tea, by job"}]}}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"state":4`) || !strings.Contains(string(body), "Its owner was notified") {
		t.Errorf("/tasks/send: %d %s, %v", resp.StatusCode, body, err)
	}
	var items struct {
		Items []struct{ Kind, Caller, Skill, Text string }
	}
	if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/api/v1/inbox", Header: []string{"X-API-Key", admins}}, &items); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"SendMessage", "message/send", "job"} {
		if !slices.ContainsFunc(items.Items, func(it struct{ Kind, Caller, Skill, Text string }) bool {
			return it.Kind == "notice" && it.Caller == "bob" && it.Skill == "brew-tea" && strings.Contains(it.Text, "tea, by "+method)
		}) {
			t.Errorf("%s: the inbox has %+v", method, items.Items)
		}
	}
}
