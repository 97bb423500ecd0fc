package lossless

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
)

// generator draws JSON. It is for one goroutine.
type generator struct{ *rand.Rand }

// serial makes names that no other member has.
var serial atomic.Int64

var (
	oddNames = []string{"", "é", " ", `"`, `\`, "\U0001f600", ".", "$", "-", "_", "/", "\u2028", "<&>", "\x7f", "İ"}
	numbers  = []string{
		"9007199254740993", "1.50", "1e400", "-0", "0.10", "123456789012345678901234567890", "1E+2", "-1.0e-7",
		"18446744073709551615", "0.1000000000000000055511151231257827", "0",
	}
	texts = []string{"", "a", "ünï", `q"\/`, "\u2028\u2029", "\U0001f600", "\u0000", "<script>&", "9007199254740993", "TASK_STATE_COMPLETED"}
)

// name draws a name that is used once.
func (g generator) name() string {
	odd := oddNames[g.IntN(len(oddNames))]
	if n := serial.Add(1); g.IntN(2) == 0 {
		return fmt.Sprint("x", n, odd)
	} else {
		return fmt.Sprint(odd, "x", n)
	}
}

// value draws JSON that is nested at most depth deep.
func (g generator) value(depth int) string {
	kind := g.IntN(8)
	if depth == 0 && kind > 5 {
		kind = 0
	}
	switch kind {
	case 0, 1, 2:
		return numbers[g.IntN(len(numbers))]
	case 3, 4:
		return quoted(texts[g.IntN(len(texts))])
	case 5:
		return []string{"true", "false", "null", "{}", "[]"}[g.IntN(5)]
	case 6:
		var all []string
		for range g.IntN(4) {
			all = append(all, g.value(depth-1))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	return "{" + g.inside(g.IntN(4), depth-1) + "}"
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // never fails
	return string(b)
}

// inside draws n members, without the braces.
func (g generator) inside(n, depth int) string {
	var all []string
	for range n {
		all = append(all, quoted(g.name())+":"+g.value(depth))
	}
	return strings.Join(all, ",")
}

// members draws members that the protocol does not have, as an object with at least one.
func (g generator) members() string { return "{" + g.inside(1+g.IntN(3), 3) + "}" }

// with returns an object with the members of another behind its own.
func with(obj, members string) string {
	if members == "{}" {
		return obj
	}
	comma := ","
	if obj == "{}" {
		comma = ""
	}
	return strings.TrimSuffix(obj, "}") + comma + members[1:]
}

// A plan is one message and all that its agent says.
type plan struct {
	id string
	// params, configuration and message are what the request has at these places.
	params, configuration, message string
	// part is a part of the message, which the agent gives back.
	part string
	// steps are what the agent says after WORKING.
	steps []step
	// start is closed when the caller follows the task.
	start chan struct{}
	heard chan heard
}

// A step is an event with its members by their places; empty where there are none.
type step struct {
	json                            string
	beside, event, status, artifact string
	// kind is that of an event that the protocol does not have.
	kind, body string
}

// newPlan draws a plan.
func newPlan(g generator) *plan {
	p := &plan{
		id: fmt.Sprint("plan-", serial.Add(1)), start: make(chan struct{}), heard: make(chan heard, 1),
		params: g.members(), configuration: g.members(), message: g.members(),
	}
	p.part = with(`{"data":`+g.members()+`}`, g.members()) // v0.3 has objects alone as data
	p.steps = []step{g.statusStep(1, "WORKING"), g.artifactStep(2, p.part), g.otherStep(3), g.statusStep(4, "COMPLETED")}
	return p
}

func (g generator) statusStep(n int, state string) step {
	s := step{beside: g.members(), event: g.members(), status: g.members()}
	status := with(`{"state":"TASK_STATE_`+state+`"}`, s.status)
	s.json = with(`{"statusUpdate":`+with(fmt.Sprintf(`{"status":%s,"metadata":{"step":%d}}`, status, n), s.event)+`}`, s.beside)
	return s
}

func (g generator) artifactStep(n int, part string) step {
	s := step{beside: g.members(), event: g.members(), artifact: g.members()}
	artifact := with(`{"artifactId":"a","parts":[`+part+`]}`, s.artifact)
	s.json = with(`{"artifactUpdate":`+with(fmt.Sprintf(`{"artifact":%s,"lastChunk":true,"metadata":{"step":%d}}`, artifact, n), s.event)+`}`, s.beside)
	return s
}

// otherStep draws an event of an unknown kind. Beside it nothing stands: v0.3 has no place.
func (g generator) otherStep(n int) step {
	s := step{kind: fmt.Sprintf("zap%cUpdate", 'A'+rune(g.IntN(26))), body: g.members()}
	s.json = fmt.Sprintf(`{%q:%s}`, s.kind, with(fmt.Sprintf(`{"taskId":"theirs","metadata":{"step":%d}}`, n), s.body))
	return s
}
