package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

const (
	questionsDefault = 2
	questionsMost    = 20
)

// interview asks one question per turn and ends with the answers. The first message sets their
// number: by "questions" in its metadata or in a data part, or by a text like "ask 3"; the
// default is two. A number that is not between 1 and 20 is rejected.
//
// No state is kept between turns: the caller's messages in the history are the opening and the
// answers so far.
func interview(ctx context.Context, ec *a2asrv.ExecutorContext, yield yieldFunc) {
	text := callerMessages(ec)
	if len(text) == 0 {
		emit(yield, agent.Status(ec, a2a.TaskStateRejected, a2a.NewTextPart("there is no message to begin with")))
		return
	}
	total, ok := questionCount(text[0])
	if !ok {
		problem := fmt.Sprintf("the number of questions must be between 1 and %d", questionsMost)
		emit(yield, agent.Status(ec, a2a.TaskStateRejected, a2a.NewTextPart(problem)))
		return
	}
	answers := text[1:]
	if !emit(yield, agent.Status(ec, a2a.TaskStateWorking)) {
		return
	}
	if len(answers) < total {
		next := a2a.NewTextPart(question(len(answers), total))
		emit(yield, agent.Status(ec, a2a.TaskStateInputRequired, next))
		return
	}
	conclude(ec, yield, &transcript{answers[:total], rawMessages(ctx)})
}

// transcript holds the answers of the caller. raw has all messages of the caller as JSON, if
// the hub provides them: the opening and the answers, with all digits of their numbers.
type transcript struct {
	answers []*a2a.Message
	raw     [][]byte
}

// rawMessages returns the messages of callerMessages as JSON.
func rawMessages(ctx context.Context) (text [][]byte) {
	call := agent.CallFrom(ctx)
	if call == nil {
		return nil
	}
	for m := range rawjson.Elements(rawjson.Member(call.Task, "history")) {
		if role, _ := rawjson.String(rawjson.Member(m, "role")); role == string(a2a.MessageRoleUser) {
			text = append(text, m)
		}
	}
	return append(text, call.Message)
}

// data returns the data of a part of an answer as received, or nil.
func (t *transcript) data(answer, part int) []byte {
	if answer+1 >= len(t.raw) {
		return nil
	}
	n := 0
	for p := range rawjson.Elements(rawjson.Member(t.raw[answer+1], "parts")) {
		if n == part {
			return rawjson.Member(p, "data")
		}
		n++
	}
	return nil
}

// conclude ends the interview with an artifact of the answers.
func conclude(ec *a2asrv.ExecutorContext, yield yieldFunc, t *transcript) {
	var text strings.Builder
	list := make([]any, len(t.answers))
	for i, m := range t.answers {
		q, a := question(i, len(t.answers)), t.answer(i, m)
		list[i] = map[string]any{"question": q, "answer": a}
		fmt.Fprintf(&text, "%s\n%s\n", q, a)
	}
	data := a2a.NewDataPart(map[string]any{"answers": list})
	data.MediaType = anyJSON
	parts := []*a2a.Part{a2a.NewTextPart(text.String()), data}
	emit(yield,
		agent.Artifact(ec, &a2a.Artifact{ID: "answers", Name: "answers", Description: "The questions with their answers", Parts: parts}),
		agent.Status(ec, a2a.TaskStateCompleted),
	)
}

// callerMessages returns the messages of the caller up to that of this run.
func callerMessages(ec *a2asrv.ExecutorContext) []*a2a.Message {
	var text []*a2a.Message
	if ec.StoredTask != nil {
		for _, m := range ec.StoredTask.History {
			if m.Role == a2a.MessageRoleUser {
				text = append(text, m)
			}
		}
	}
	if ec.Message == nil {
		return text
	}
	// Messages after this one belong to later turns. Of messages with equal ids the last one
	// counts, because some callers use one id for all messages.
	for i := len(text) - 1; i >= 0; i-- {
		if text[i].ID == ec.Message.ID {
			return text[:i+1]
		}
	}
	return append(text, ec.Message)
}

// questionCount returns the number of questions that the opening message requests, and whether
// it is allowed.
func questionCount(m *a2a.Message) (int, bool) {
	n := questionsDefault
	if v, ok := requestedCount(m); ok {
		n = v
	}
	return n, 1 <= n && n <= questionsMost
}

// requestedCount returns the number that m names, or false if it names none. An invalid number
// gives 0.
func requestedCount(m *a2a.Message) (int, bool) {
	if v, ok := m.Metadata["questions"]; ok {
		return wholeNumber(v), true
	}
	if v, ok := dataField(m, "questions"); ok {
		return wholeNumber(v), true
	}
	words := strings.Fields(agent.Text(m))
	for i, w := range words[:max(0, len(words)-1)] {
		if !strings.EqualFold(w, "ask") {
			continue
		}
		if n, err := strconv.Atoi(strings.Trim(words[i+1], ".,;:!?")); err == nil {
			return n, true
		}
	}
	return 0, false
}

// wholeNumber returns v if it is a small whole number of any type, or 0.
func wholeNumber(v any) int {
	switch v := v.(type) {
	case float64:
		if v >= 0 && v <= questionsMost && v == float64(int(v)) {
			return int(v)
		}
	case int:
		return v
	case json.Number:
		n, _ := rawjson.Int([]byte(v))
		return int(min(max(n, 0), questionsMost+1))
	case string:
		n, _ := strconv.Atoi(v)
		return n
	}
	return 0
}

// question returns question number i, from 0, of total.
func question(i, total int) string {
	switch i {
	case 0:
		return "What is your name?"
	case 1:
		return "What would you like to get done?"
	}
	return fmt.Sprintf("Question %d of %d: what else should be known?", i+1, total)
}

// answer returns the text of m, the answer with the number n.
func (t *transcript) answer(n int, m *a2a.Message) string {
	if text := agent.Text(m); text != "" || len(m.Parts) == 0 {
		return text
	}
	described := make([]string, len(m.Parts))
	for i, p := range m.Parts {
		if described[i] = string(t.data(n, i)); described[i] == "" {
			described[i] = describe(p)
		}
	}
	return strings.Join(described, "\n")
}

// describe returns a text that stands for a part other than text.
func describe(p *a2a.Part) string {
	switch c := p.Content.(type) {
	case a2a.Data:
		if b, err := json.Marshal(c.Value); err == nil {
			return string(b)
		}
	case a2a.URL:
		return string(c)
	case a2a.Raw:
		return fmt.Sprintf("%s (%d bytes)", p.Filename, len(c))
	}
	return p.Filename
}
