package scripted_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/scripted"
)

func message(role, text string) llm.ChatMessage {
	return llm.ChatMessage{Role: role, Content: llm.ChatText(text)}
}

// play returns the answer of a script to a conversation: its text, its calls, and its error.
func play(t *testing.T, s *scripted.Script, msgs ...llm.ChatMessage) string {
	t.Helper()
	var text, calls strings.Builder
	for d, err := range s.Complete(t.Context(), &llm.Request{Messages: msgs}) {
		if err != nil {
			return text.String() + calls.String() + "!" + err.Error()
		}
		text.WriteString(d.Text)
		for _, c := range d.Calls {
			if c.Name != "" {
				calls.WriteString(" " + c.Name)
			}
			calls.WriteString(c.Arguments)
		}
	}
	return text.String() + calls.String()
}

func TestTurns(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse("f.yaml", []byte(`
turns:
  - {when: {last: 'once'}, times: 1, text: First.}
  - {when: {system: be brief, role: user}, text: Ok.}
  - {when: {role: user, last: 'the weather in (\w+)'}, text: I ask., calls: [{name: ask, arguments: {where: [$1], n: 2}}, {name: look, raw: '{'}]}
  - {when: {turn: 1, said: 'about (\w+)'}, text: $1 again.}
  - {when: {last: fail}, text: Well, error: {status: 503, message: tired}}
`))
	if err != nil {
		t.Fatal(err)
	}
	call := llm.ChatMessage{Role: "assistant", ToolCalls: []llm.ChatToolCall{{ID: "c"}}}
	for _, tt := range []struct {
		want string
		msgs []llm.ChatMessage
	}{
		{"First.", []llm.ChatMessage{message("user", "once")}},
		{`!no turn of the script matches: the last message is "once"`, []llm.ChatMessage{message("user", "once")}},
		{"Ok.", []llm.ChatMessage{message("system", "Be brief."), message("user", "hi")}},
		{`I ask. ask{"n":2,"where":["Oslo"]} look{`, []llm.ChatMessage{message("user", "How is the weather in Oslo?")}},
		{"cats again.", []llm.ChatMessage{message("user", "talk about cats"), call, {Role: "tool", ToolCallID: "c"}}},
		{"Well!status 503: tired", []llm.ChatMessage{message("user", "fail")}},
	} {
		if got := play(t, s, tt.msgs...); got != tt.want {
			t.Errorf("the script says %q, want %q", got, tt.want)
		}
	}
	if got := play(t, new(scripted.Script), message("user", "hi")); !strings.HasPrefix(got, "!") {
		t.Errorf("the zero script says %q", got)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	_, err := scripted.Parse("f.yaml", []byte(`
turns:
  - {when: {last: '('}, delay: soon}
  - calls: [{arguments: {}}]
`))
	if err == nil {
		t.Fatal("Parse accepts nonsense")
	}
	var got []string
	for _, line := range strings.Split(err.Error(), "\n") {
		got = append(got, strings.Join(strings.SplitN(line, ":", 4)[:3], ":"))
	}
	want := []string{"f.yaml:3: turns[0].when.last", "f.yaml:3: turns[0].delay", "f.yaml:4: turns[1].calls[0].name"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems mismatch (-want +got):\n%s\n%v", diff, err)
	}
}
