package lossless

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
)

// generator draws JSON. It must be used by one goroutine only.
type generator struct{ *rand.Rand }

// serial numbers the names, so that each is unique.
var serial atomic.Int64

var (
	oddNames = []string{"", "é", " ", `"`, `\`, "\U0001f600", ".", "$", "-", "_", "/", "\u2028", "<&>", "\x7f", "İ"}
	numbers  = []string{
		"9007199254740993", "1.50", "1e400", "-0", "0.10", "123456789012345678901234567890", "1E+2", "-1.0e-7",
		"18446744073709551615", "0.1000000000000000055511151231257827", "0",
	}
	texts = []string{"", "a", "ünï", `q"\/`, "\u2028\u2029", "\U0001f600", "\u0000", "<script>&", "9007199254740993", "TASK_STATE_COMPLETED"}
)

// name draws a unique name.
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

// members draws unknown members, as an object with at least one.
func (g generator) members() string { return "{" + g.inside(1+g.IntN(3), 3) + "}" }

// with returns an object with the members of another one appended.
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

// plan is one message and the whole answer of its agent.
type plan struct {
	id string
	// params, configuration and message are the unknown members at these places of the request.
	params, configuration, message string
	// paramsMeta and messageMeta are metadata.
	paramsMeta, messageMeta string
	// part is the only part of the message, which the agent returns.
	part part
	// prose is set if a caller over HTTP+JSON of v0.3 writes the message as in the text of the
	// v0.3 specification, like JSON-RPC, and not as in its proto.
	prose bool
	// steps are the events of the agent after WORKING.
	steps []step
	// start is closed when the caller follows the task.
	start chan struct{}
	heard chan received
}

// step is an event with its members by place; empty where it has none.
type step struct {
	json                                     string
	beside, event, status, message, artifact string
	// meta is the metadata of the event, innerMeta that of its message or artifact.
	meta, innerMeta string
	// kind is the kind of an event that the protocol does not define.
	kind, body string
}

// newPlan draws a plan.
func newPlan(g generator) *plan {
	p := &plan{
		id: fmt.Sprint("plan-", serial.Add(1)), start: make(chan struct{}), heard: make(chan received, 1),
		params: g.members(), configuration: g.members(), message: g.members(),
		paramsMeta: g.members(), messageMeta: g.members(), part: g.part(), prose: g.IntN(2) == 0,
	}
	part := p.part.v1()
	p.steps = []step{
		g.statusStep(1, "WORKING", part),
		g.artifactStep(2, part),
		g.otherStep(3),
		g.taskStep(4, part),
		g.statusStep(5, "COMPLETED", part),
	}
	return p
}

// part draws a part with content of any kind.
func (g generator) part() part {
	p := part{others: g.members(), inside: g.members(), meta: g.members()}
	switch g.IntN(8) {
	case 0:
		p.kind, p.content = "text", quoted(texts[g.IntN(len(texts))])
	case 1:
		p.kind, p.content = "raw", []string{`"AAE="`, `"aGVsbG8="`, `"/+7d"`}[g.IntN(3)]
	case 2:
		p.kind, p.content = "url", `"https://example.com/\u00e4?b=<c>&d"`
	case 3, 4:
		p.kind, p.content = "data", g.value(2)
	default:
		p.kind, p.content = "data", g.members()
	}
	return p
}

// stepped returns metadata with the number of its step.
func stepped(meta string, n int) string { return with(fmt.Sprintf(`{"step":%d}`, n), meta) }

func (g generator) statusStep(n int, state, part string) step {
	s, event := g.statusOf(n, state, part)
	s.json = with(`{"statusUpdate":`+event+`}`, s.beside)
	return s
}

// taskStep draws the agent's task, which the hub sends as a status.
func (g generator) taskStep(n int, part string) step {
	s, task := g.statusOf(n, "WORKING", part)
	s.json = with(`{"task":`+with(`{"id":"theirs","contextId":"theirs"}`, task)+`}`, s.beside)
	return s
}

// statusOf draws a status, and returns its members for an event and for a task.
func (g generator) statusOf(n int, state, part string) (_ step, members string) {
	s := step{beside: g.members(), event: g.members(), status: g.members(), message: g.members(), meta: g.members(), innerMeta: g.members()}
	message := with(fmt.Sprintf(`{"messageId":"reply-%d","role":"ROLE_AGENT","parts":[%s],"metadata":%s}`, n, part, s.innerMeta), s.message)
	status := with(fmt.Sprintf(`{"state":"TASK_STATE_%s","message":%s}`, state, message), s.status)
	return s, with(fmt.Sprintf(`{"status":%s,"metadata":%s}`, status, stepped(s.meta, n)), s.event)
}

func (g generator) artifactStep(n int, part string) step {
	s := step{beside: g.members(), event: g.members(), artifact: g.members(), meta: g.members(), innerMeta: g.members()}
	artifact := with(fmt.Sprintf(`{"artifactId":"a","parts":[%s],"metadata":%s}`, part, s.innerMeta), s.artifact)
	event := with(fmt.Sprintf(`{"artifact":%s,"lastChunk":true,"metadata":%s}`, artifact, stepped(s.meta, n)), s.event)
	s.json = with(`{"artifactUpdate":`+event+`}`, s.beside)
	return s
}

// otherStep draws an event of an unknown kind. It has no members beside it, because v0.3 has no
// place for them.
func (g generator) otherStep(n int) step {
	s := step{kind: fmt.Sprintf("zap%cUpdate", 'A'+rune(g.IntN(26))), body: g.members()}
	s.json = fmt.Sprintf(`{%q:%s}`, s.kind, with(fmt.Sprintf(`{"taskId":"theirs","metadata":{"step":%d}}`, n), s.body))
	return s
}
