package loop

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// lines is the number of lines in the agent's result, which is more than 200 kB.
const lines = 10_000

// extract reports eight statuses, and returns a result of 200 kB.
func extract(t *rockbotpeer.Task) (*rockbotpeer.Result, error) {
	for i := range 8 {
		if err := t.Status(rockbotpeer.Working, fmt.Sprintf("still working %d", i+1)); err != nil {
			return nil, err
		}
	}
	return t.Result(rockbotpeer.Completed, text(lines)), nil
}

// TestLoop: the whole loop of the document, for an agent that answers at once.
func TestLoop(t *testing.T) {
	t.Parallel()
	w := start(t, broker(t), primary, options{handle: extract})
	seen, task := w.say(user("extract it", "", ""))
	t.Run("B1", func(t *testing.T) {
		if got, want := answer(task), fmt.Sprintf("completed: I have read %d lines.", lines); got != want {
			t.Fatalf("the answer is %q, want %q", got, want)
		}
	})
	t.Run("B8 B9", func(t *testing.T) {
		got := w.agent.Next()
		if len(got.Message.Parts) != 2 || rockbotpeer.Val(got.Skill) != "extract-structured-data" {
			t.Fatalf("the agent got %+v for %q", got.Message, rockbotpeer.Val(got.Skill))
		}
		data := got.Message.Parts[1]
		var have map[string]any
		if err := json.Unmarshal([]byte(rockbotpeer.Val(data.Data)), &have); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"recordId": "rec-42", "source": "https://example.com/doc"}
		if diff := cmp.Diff(want, have); diff != "" || rockbotpeer.Val(data.Kind) != "data" || rockbotpeer.Val(data.MimeType) != "application/json" {
			t.Errorf("the data part is %+v (-want +got):\n%s", data, diff)
		}
	})
	requests := w.models.Requests()
	t.Run("B2", func(t *testing.T) {
		for i, r := range requests {
			hidden := !r.Has("invoke_agent") && !r.Has("chat_with_agent") && !r.Has("continue_task")
			if notified := keyLine.MatchString(r.Last("user")); hidden != notified || !r.Has("get_from_working_memory") {
				t.Errorf("request %d is notified: %v, and the tools that call agents are hidden: %v", i, notified, hidden)
			}
		}
		for _, got := range requests[len(requests)-1].Results("invoke_agent") {
			if textLine.MatchString(got) || !strings.Contains(got, "working_memory_key") {
				t.Errorf("the result of invoke_agent is %.300s", got)
			}
		}
	})
	last := requests[len(requests)-1]
	key := keyLine.FindStringSubmatch(last.Last("user"))[1]
	t.Run("B4", func(t *testing.T) {
		n := w.note(key)
		from, to := moment(t, n["updatedAt"]), moment(t, n["expiresAt"])
		if kept := to.Sub(from); kept != time.Hour || n["size"] != float64(len(text(lines))) || n["value"] != text(lines) {
			t.Errorf("the note has %v bytes and is kept for %v", n["size"], kept)
		}
		if parts := strings.Split(key, "/"); len(parts) != 6 || parts[2] != "a2a" || parts[3] != "extractionagent" || parts[1] != task.ContextID {
			t.Errorf("the key is %q for the context %q", key, task.ContextID)
		}
	})
	t.Run("B5", func(t *testing.T) {
		if n := len(last.Results("get_from_working_memory")); n < 2 {
			t.Errorf("the result was read in %d pieces", n)
		}
	})
	t.Run("B12", func(t *testing.T) {
		for i := range 8 {
			if want := fmt.Sprintf("extractionagent: still working %d", i+1); !slices.Contains(seen, want) {
				t.Errorf("the user did not see %q, but %q", want, seen)
			}
		}
	})
	t.Run("B3", func(t *testing.T) {
		if _, task := w.say(user("do you know?", task.ContextID, "")); answer(task) != "completed: I know." {
			t.Fatalf("the answer is %q", answer(task))
		}
		var output []string
		all := w.models.Requests()
		for i := range all[len(all)-1].Messages {
			if m := &all[len(all)-1].Messages[i]; m.Role != "system" {
				output = append(output, m.Role+": "+m.Text())
			}
		}
		want := []string{
			"user: extract it", "user: " + last.Last("user"),
			fmt.Sprintf("assistant: I have read %d lines.", lines), "user: do you know?",
		}
		if diff := cmp.Diff(want, output); diff != "" {
			t.Errorf("the conversation (-want +got):\n%s", diff)
		}
	})
	t.Run("no errors", func(t *testing.T) {
		if strings.Contains(w.hub.Output(), "level=ERROR") {
			t.Errorf("the hub logs errors:\n%s", w.hub.Output())
		}
	})
	w.agent.Unread()
	t.Run("B33", func(t *testing.T) { details(t, w) })
}

func moment(t *testing.T, v any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// details checks that the card of an agent has its address, and every member of its skills.
func details(t *testing.T, w *world) {
	var got struct {
		Card a2a.AgentCard `json:"card"`
	}
	if err := hubtest.Call(w.ctx, hubtest.Request{URL: w.hub.URL() + "/api/v1/agents/extractionagent"}, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Card.SupportedInterfaces) == 0 || got.Card.SupportedInterfaces[0].URL != w.hub.URL()+"/a2a/extractionagent" {
		t.Errorf("the interfaces are %+v", got.Card.SupportedInterfaces)
	}
	s := got.Card.Skills[0]
	if s.ID != "extract-structured-data" || s.Description != "Reads records." || !slices.Equal(s.Tags, []string{"extract"}) || !slices.Equal(s.Examples, []string{"extract it"}) {
		t.Errorf("the skill is %+v", s)
	}
}

// TestInline: with inline_results a short result is part of the tool's result, and there is no
// notice; a longer one is read by its key.
func TestInline(t *testing.T) {
	t.Parallel()
	const short = "The title is T."
	script := func(r *openaitest.Request) openaitest.Turn {
		if last := &r.Messages[len(r.Messages)-1]; last.Role == "tool" && strings.Contains(last.Text(), short) {
			return openaitest.Turn{Text: "It is T."}
		}
		return primary(r)
	}
	long := false
	w := start(t, broker(t), script, options{model: ", inline_results: 100", handle: func(t *rockbotpeer.Task) (*rockbotpeer.Result, error) {
		if long {
			return t.Result(rockbotpeer.Completed, text(10)), nil
		}
		return t.Result(rockbotpeer.Completed, short), nil
	}})
	if _, task := w.say(user("extract it", "", "")); answer(task) != "completed: It is T." {
		t.Errorf("a short result ends as %q", answer(task))
	}
	if got := w.models.Requests(); len(got) != 2 || keyLine.MatchString(got[1].Last("user")) {
		t.Errorf("%d requests, the last one says %q", len(got), got[len(got)-1].Last("user"))
	}
	long = true
	if _, task := w.say(user("extract it", "", "")); answer(task) != "completed: I have read 10 lines." {
		t.Errorf("a long result ends as %q", answer(task))
	}
}

// lateKey matches the key of a result that was late.
var lateKey = regexp.MustCompile(`returns its result for the key (session/\S+/result)`)

// TestLate: the model answers without a result that is late, and reads it later in the
// conversation by the key in the notice.
func TestLate(t *testing.T) {
	t.Parallel()
	come := make(chan struct{})
	script := func(r *openaitest.Request) openaitest.Turn {
		var key string
		for i := range r.Messages {
			if m := lateKey.FindStringSubmatch(r.Messages[i].Text()); m != nil {
				key = strings.TrimSuffix(m[1], "]")
			}
		}
		switch last := &r.Messages[len(r.Messages)-1]; {
		case last.Text() == "extract it":
			return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("invoke_agent", map[string]any{
				"agent_name": agentName, "skill": "extract-structured-data", "message": "x", "timeout_minutes": 0.02,
			})}}
		case last.Text() == "any news?":
			return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("get_from_working_memory", map[string]any{"key": key})}}
		case r.Last("user") == "any news?":
			return openaitest.Turn{Text: "It says " + piece(last.Text())}
		case key != "":
			return openaitest.Turn{Text: "It is not done yet."}
		}
		return openaitest.Turn{Text: "I wait."}
	}
	w := start(t, broker(t), script, options{handle: func(t *rockbotpeer.Task) (*rockbotpeer.Result, error) {
		<-come
		return t.Result(rockbotpeer.Completed, "late news"), nil
	}})
	_, task := w.say(user("extract it", "", ""))
	if answer(task) != "completed: It is not done yet." {
		t.Errorf("the first answer is %q", answer(task))
	}
	close(come)
	c, err := client.Dial(w.ctx, w.hub.URL()+"/a2a/extractionagent", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	requests := w.models.Requests()
	if _, err := c.Wait(w.ctx, a2a.TaskID(taskOf(requests[len(requests)-1]))); err != nil {
		t.Fatal(err)
	}
	if _, task = w.say(user("any news?", task.ContextID, "")); answer(task) != "completed: It says late news" {
		t.Errorf("the second answer is %q", answer(task))
	}
}

// TestDataThatIsNone: data that is not a JSON object is refused with the reason, and the hub
// sends nothing.
func TestDataThatIsNone(t *testing.T) {
	t.Parallel()
	values := map[string]any{"array": []any{1}, "string": "x", "number": 7, "JSON in a string": `{"a":1}`, "flag": true}
	script := func(r *openaitest.Request) openaitest.Turn {
		if r.Messages[len(r.Messages)-1].Role == "tool" {
			return openaitest.Turn{Text: r.Last("tool")}
		}
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("invoke_agent", map[string]any{
			"agent_name": agentName, "skill": "extract-structured-data", "message": "x", "data": values[r.Last("user")],
		})}}
	}
	w := start(t, broker(t), script, options{handle: extract})
	for name := range values {
		if _, task := w.say(user(name, "", "")); !strings.Contains(answer(task), `"data"`) || !strings.Contains(answer(task), "object") {
			t.Errorf("B10: data that is %s: %q", name, answer(task))
		}
	}
	select {
	case got := <-w.agent.Tasks:
		t.Errorf("B10: the agent got %+v", got.Message)
	default:
	}
}
