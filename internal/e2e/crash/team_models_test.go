package crash

import (
	"regexp"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// members are the members of the team, to which the planner delegates.
var members = []string{"writer", "critic", "faraway", "packer"}

// The prompts by which the models recognize their roles.
const (
	plannerPrompt = "You are the planner of a team."
	memberPrompt  = "You are a member of a team: "
)

var (
	// order matches an instruction to the planner: a key, and the member to ask first.
	order = regexp.MustCompile(`plan (\w+)(?: ask (\w+))?`)
	// ordered matches an instruction to a member.
	ordered = regexp.MustCompile(`do (\w+)`)
	tokens  = regexp.MustCompile(`token\([^()]*\)`)
)

// script returns the turns of the models. It depends on the request alone.
func (w *team) script(r *openaitest.Request) openaitest.Turn {
	if strings.Contains(r.Last("system"), plannerPrompt) {
		return w.planner(r)
	}
	_, name, _ := strings.Cut(r.Last("system"), memberPrompt)
	name, _, _ = strings.Cut(name, ".")
	m := ordered.FindStringSubmatch(r.Last("user"))
	if m == nil {
		return openaitest.Turn{Fault: openaitest.Fault{Status: 400, Body: "a member was told " + r.Last("user")}}
	}
	w.asked(name, m[1])
	return openaitest.Turn{Text: "Here you are: " + token(name, m[1], "model"), At: w.stages(name, m[1])}
}

func (w *team) planner(r *openaitest.Request) openaitest.Turn {
	var m []string
	turns := 0
	for i := range r.Messages {
		if r.Messages[i].Role == "assistant" {
			turns++
		}
		if r.Messages[i].Role == "user" && m == nil {
			m = order.FindStringSubmatch(r.Messages[i].Text())
		}
	}
	if m == nil {
		return openaitest.Turn{Fault: openaitest.Fault{Status: 400, Body: "the planner was told " + r.Last("user")}}
	}
	key, ask := m[1], m[2]
	if ask == "" {
		turns++
	}
	var turn openaitest.Turn
	switch turns {
	case 0:
		turn.Text = "First I ask."
		turn.Calls = []openaitest.Call{delegation(ask, "ask "+key+"q")}
		turn.At = w.stages("question", key)
	case 1:
		for _, name := range members {
			turn.Calls = append(turn.Calls, delegation(name, "do "+key))
		}
		turn.At = w.stages("planner", key)
	default:
		turn.Text = "All of it, für " + key + ": " + strings.Join(results(r), " ") + " — fertig."
		turn.At = w.stages("answer", key)
	}
	return turn
}

func delegation(to, prompt string) openaitest.Call {
	return openaitest.CallOf("agent_run_"+to, map[string]string{"prompt": prompt})
}

// results returns the answers of members, or their failures.
func results(r *openaitest.Request) []string {
	var all []string
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != "tool" {
			continue
		}
		found := tokens.FindAllString(m.Text(), -1)
		slices.Sort(found)
		found = slices.Compact(found) // the text and the data of an answer are the same
		if len(found) == 0 {
			found = []string{"nothing(" + m.ToolCallID + ")"}
		}
		all = append(all, found...)
	}
	return all
}

// stages reports the phases of a turn to the team: before its first chunk, within it, and
// before its end mark.
func (w *team) stages(who, key string) func(int, int) {
	return func(n, of int) {
		switch n {
		case of:
			w.at(who+" has spoken", key)
		case 0:
			w.at(who+" is asked", key)
		case of / 2:
			w.at(who+" speaks", key)
		}
	}
}
