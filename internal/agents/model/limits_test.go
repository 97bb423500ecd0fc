package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// outcome returns the state and the text of a task.
func outcome(t *a2a.Task) string {
	status, _ := statusAndText(t)
	return strings.TrimPrefix(string(t.Status.State), "TASK_STATE_") + ": " + status
}

// TestProvidersThatFail checks that temporary failures are retried, that other failures lead to
// the next model, and that the task finally fails with the reason.
func TestProvidersThatFail(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ first, second, want string }{
		"busy for a while": {"{times: 2, error: {status: 429, retry_after: 3s}}, {text: here I am}", "", "COMPLETED: here I am"},
		"busy":             {"{error: {status: 429}}", "", "FAILED: no model answered: first: rate limit reached (status 429)"},
		"busy for long":    {"{error: {status: 429, retry_after: 1h}}", "{text: second}", "COMPLETED: second"},
		"refused":          {"{error: {status: 401, message: bad key sk-1}}", "", "FAILED: no model answered: first: it does not accept the hub's credentials (status 401)"},
		"fallback":         {"{error: {status: 500}}", "{text: second}", "COMPLETED: second"},
		"cut":              {"{times: 1, text: one two, cut: true}, {text: three}", "", "COMPLETED: three"},
		"always cut":       {"{text: one two, cut: true}", "", "FAILED: no model answered: first: the answer was cut off"},
		"stalled":          {"{times: 1, text: one, stall: true}, {text: two}", "", "COMPLETED: two"},
		"always stalled":   {"{stall: true}", "{stall: true}", "FAILED: no model answered: first: it was silent for 1m30s; second: it was silent for 1m30s"},
		"silent":           {"{text: ''}", "", "FAILED: no model answered: first: the model returned nothing"},
		"filtered":         {"{text: one, finish: content_filter}", "", "FAILED: no model answered: first: the answer was withheld"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := scriptedAgent(t, "turns: ["+tt.first+"]")
				a.Choices[0].Name = "first"
				if tt.second != "" {
					second := scriptedAgent(t, "turns: ["+tt.second+"]").Choices[0]
					second.Name = "second"
					a.Choices = append(a.Choices, second)
				}
				h := start(t, new(memstore.Store), agents{"main": a})
				got := h.sendWithin(text("go"), time.Hour)
				if got := outcome(got); got != tt.want {
					t.Errorf("the task is %q, want %q", got, tt.want)
				}
				if strings.HasPrefix(tt.want, "COMPLETED") {
					wantAnswer(t, got, strings.TrimPrefix(tt.want, "COMPLETED: "))
				}
				h.stop()
			})
		})
	}
}

// sendWithin sends a message and returns the task after a time.
func (h *hub) sendWithin(r *op.Send, d time.Duration) *a2a.Task {
	h.t.Helper()
	id := h.begin(r)
	time.Sleep(d)
	synctest.Wait()
	return h.get(id)
}

// looker returns an agent with a tool that returns the results of answer.
func looker(t testing.TB, src string, answer func() string) *model.Agent {
	a := scriptedAgent(t, src)
	a.Tools = toolset{{Name: "look", ReadOnly: true, Call: func(context.Context, *llm.Call) (*llm.Result, error) {
		return textResult(answer()), nil
	}}}
	return a
}

// TestBudgets checks that a task which exceeds a budget names it. Each case runs in a bubble of
// its own.
func TestBudgets(t *testing.T) {
	t.Parallel()
	const forever = "turns: [{calls: [{name: look, arguments: {}}], usage: {input: 10, output: 5}}]"
	n := 0
	other := func() string { n++; return fmt.Sprint("thing ", n) }
	for name, tt := range map[string]struct {
		budget model.Budget
		answer func() string
		want   string
	}{
		"rounds": {model.Budget{Rounds: 3}, func() string { return "x" }, "FAILED: the model did not reach an answer in 3 rounds"},
		"tokens": {model.Budget{Tokens: 40}, func() string { return "x" }, "FAILED: the task has used 45 tokens, and may use 40"},
		"calls":  {model.Budget{Calls: 2}, func() string { return "x" }, "FAILED: the model requested more than 2 tool calls"},
		"time": {model.Budget{Time: time.Minute, ToolTime: time.Hour}, func() string {
			time.Sleep(2 * time.Minute)
			return "x"
		}, "FAILED: the agent took longer than 1m0s"},
		"the same": {model.Budget{}, func() string { return "x" }, "FAILED: the model makes the same call again and again"},
		"news":     {model.Budget{Rounds: 10}, other, "FAILED: the model did not reach an answer in 10 rounds"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := looker(t, forever, tt.answer)
				a.Budget = tt.budget
				h := start(t, new(memstore.Store), agents{"main": a})
				if got := outcome(h.sendWithin(text("go"), time.Hour)); got != tt.want {
					t.Errorf("the task is %q, want %q", got, tt.want)
				}
				h.stop()
			})
		})
	}
}

// TestSameDelegation checks that an agent which returns the same answer three times is not
// asked a fourth time.
func TestSameDelegation(t *testing.T) {
	t.Parallel()
	a := scriptedAgent(t, "turns: [{calls: [{name: agent_run_north, arguments: {prompt: weather}}]}]")
	a.Delegates = []model.Delegate{{ID: "north"}}
	h := start(t, new(memstore.Store), agents{"main": a, "north": scriptedAgent(t, "turns: [{text: Rain.}]")})
	if got, want := outcome(h.send(text("go"))), "FAILED: the model makes the same call again and again"; got != want {
		t.Errorf("the task is %q, want %q", got, want)
	}
	if n := len(h.tasksOf("north")); n != 3 {
		t.Errorf("the agent was asked %d times, want 3", n)
	}
}

// recordingProvider is a provider that records its requests.
type recordingProvider struct {
	llm.Provider
	received *[]*llm.Request
}

func (l recordingProvider) Complete(ctx context.Context, r *llm.Request) iter.Seq2[*llm.Delta, error] {
	*l.received = append(*l.received, r)
	return l.Provider.Complete(ctx, r)
}

// TestMistakesOfModels checks that the model receives each mistake with a remedy.
func TestMistakesOfModels(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ call, want string }{
		"no such tool":    {"{name: lok, arguments: {}}", `There is no tool "lok". Call one of these, with its name exactly so: agent_run_north, look.`},
		"no JSON":         {"{name: look, raw: '{\"a\": '}", "The arguments of look are not a JSON object"},
		"no object":       {"{name: look, raw: '[1]'}", "The arguments of look are not a JSON object"},
		"no prompt":       {"{name: agent_run_north, arguments: {task: x}}", `"prompt" is missing`},
		"an odd name":     {"{name: 'look at', arguments: {}}", `There is no tool "look_at"`},
		"nobody there":    {"{name: agent_run_north, arguments: {prompt: x}}", `The agent "north" could not be asked`},
		"a tool excluded": {"{name: pay, arguments: {}}", `There is no tool "pay"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := looker(t, "turns: [{when: {turn: 0}, calls: ["+tt.call+"]}, {text: I see.}]", func() string { return "x" })
			a.Tools = append(a.Tools.(toolset), llm.Tool{Name: "pay"})
			a.Excluded = []string{"p*"}
			a.Delegates = []model.Delegate{{ID: "north"}}
			var received []*llm.Request
			a.Choices[0].Provider = recordingProvider{a.Choices[0].Provider, &received}
			h := start(t, new(memstore.Store), agents{"main": a})
			wantAnswer(t, h.send(text("go")), "I see.")
			msgs := received[1].Messages
			if got := msgs[len(msgs)-1]; got.Role != "tool" || !strings.Contains(got.Content.Text(), tt.want) {
				t.Errorf("the model receives %+v, want %q", got, tt.want)
			}
			for _, c := range msgs[len(msgs)-2].ToolCalls {
				if !json.Valid([]byte(c.Function.Arguments)) {
					t.Errorf("the provider gets the arguments %s, which are no JSON", c.Function.Arguments)
				}
			}
		})
	}
}

// TestRequestsHaveRoom checks that results are dropped first, then turns, and that the newest
// remain.
func TestRequestsHaveRoom(t *testing.T) {
	t.Parallel()
	n := 0
	a := looker(t, `
turns:
  - {when: {turn: 6}, text: Enough.}
  - {calls: [{name: look, arguments: {}}]}
`, func() string { n++; return strings.Repeat(fmt.Sprint(n), 2000) })
	a.SystemPrompt = "You look."
	a.Budget = model.Budget{Context: 2000}
	var received []*llm.Request
	a.Choices[0].Provider = recordingProvider{a.Choices[0].Provider, &received}
	h := start(t, new(memstore.Store), agents{"main": a})
	wantAnswer(t, h.send(text("go")), "Enough.")
	var got []string
	for _, m := range received[6].Messages {
		text := m.Content.Text()
		got = append(got, m.Role+" "+text[:min(len(text), 9)])
	}
	want := []string{
		"system You look.", "user go",
		"assistant ", "tool [This res", "assistant ", "tool [This res", "assistant ", "tool [This res", "assistant ", "tool 444444444",
		"assistant ", "tool 555555555", "assistant ", "tool 666666666",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the model reads (-want +got):\n%s", diff)
	}
}

// TestUsage checks that the last message of a task has its cost.
func TestUsage(t *testing.T) {
	t.Parallel()
	h := start(t, new(memstore.Store), agents{"main": scriptedAgent(t, "turns: [{text: yes, usage: {input: 7, output: 3}}]")})
	got := h.send(text("go"))
	cost, _ := json.Marshal(got.Status.Message.Metadata["application/vnd.protolabs.cost-v1+json"])
	if !strings.Contains(string(cost), `"input_tokens":7`) || !strings.Contains(string(cost), `"output_tokens":3`) {
		t.Errorf("the cost is %s", cost)
	}
}
