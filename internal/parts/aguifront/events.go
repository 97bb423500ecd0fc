package aguifront

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/front/exchange"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/sse"
	"github.com/parley-a2a/parley/internal/task"
)

// protocolVersion is the implemented version of AG-UI.
const protocolVersion = "1.0"

// object is an event, or a part of one. No value of it is nil.
type object = map[string]any

// eventWriter reports the progress of a run.
type eventWriter struct {
	front *Front
	visit *surface.Request
	in    *input
	agent task.Agent
	skill string
	turn  *exchange.Exchange

	// buf holds the events that are not sent yet.
	buf []byte
	// open are the messages that have begun, in their order, with their artifacts.
	open []openMessage
	// begun counts the messages of each artifact.
	begun map[string]int
	// tools are the ids of the tool calls that the client knows.
	tools map[string]bool
	state *state
	usage [2]int64
}

type openMessage struct{ artifact, id string }

// event appends an event to the buffer.
func (s *eventWriter) event(kind string, members object) {
	members["type"] = kind
	b, err := json.Marshal(members)
	if err != nil {
		panic("aguifront: " + err.Error()) // everything in an event can be encoded
	}
	s.buf = surface.AppendEvent(s.buf, b)
}

// started reports the start of the run with its task.
func (s *eventWriter) started(h *task.Head) {
	ev := object{"threadId": s.in.threadID, "runId": s.in.runID, "protocolVersion": protocolVersion}
	if h != nil {
		ev["metadata"] = object{"taskId": string(h.ID), "contextId": h.ContextID}
	}
	s.event("RUN_STARTED", ev)
}

// follow reports the agent's progress until the turn ends.
func (s *eventWriter) follow() error {
	send, err := s.visit.Stream()
	if err != nil {
		return err
	}
	s.begun, s.tools, s.state = map[string]int{}, map[string]bool{}, newState(s.in.rest["state"])
	s.started(&s.turn.Task)
	if s.flush(send) != nil {
		return nil
	}
	for ev, err := range s.turn.Events(s.visit.Request.Context(), s.visit.KeepAlive) {
		switch {
		case err == nil:
			s.append(&ev)
		case s.visit.Gone(err):
			return nil
		default:
			report := s.visit.Explain(err)
			s.failed(report.Message, strings.ToLower(report.Reason))
		}
		if s.flush(send) != nil {
			return nil
		}
	}
	return nil
}

func (s *eventWriter) flush(send func([]byte) error) error {
	if len(s.buf) == 0 {
		return nil
	}
	err := send(s.buf)
	s.buf = s.buf[:0]
	return err
}

func (s *eventWriter) failed(message, code string) {
	ev := object{"message": message, "code": code}
	s.count(ev)
	s.event("RUN_ERROR", ev)
}

func (s *eventWriter) append(ev *exchange.Event) {
	switch ev.Kind {
	case exchange.Idle:
		s.buf = append(s.buf, sse.Comment...)
	case exchange.Text:
		s.text(ev)
	case exchange.Part:
		s.part(ev)
	case exchange.Status:
		s.status(ev)
	case exchange.End:
		s.end(ev)
	}
}

// text reports a piece of a message. An artifact that starts anew is another message.
func (s *eventWriter) text(ev *exchange.Event) {
	id := ""
	for i, m := range s.open {
		if m.artifact != ev.Artifact {
			continue
		}
		id = m.id
		if ev.Anew {
			s.event("TEXT_MESSAGE_END", object{"messageId": id})
			s.open, id = append(s.open[:i], s.open[i+1:]...), ""
			break
		}
	}
	if id == "" {
		id = s.begin(ev.Artifact)
	}
	s.event("TEXT_MESSAGE_CONTENT", object{"messageId": id, "delta": ev.Text})
}

// begin starts a message and returns its id, which is the same when the run is repeated.
func (s *eventWriter) begin(artifact string) string {
	id := fmt.Sprintf("%s:%d:%s", s.turn.Task.ID, s.turn.Task.LastMessage, artifact)
	if s.begun[artifact]++; s.begun[artifact] > 1 {
		id = fmt.Sprintf("%s:%d", id, s.begun[artifact])
	}
	s.open = append(s.open, openMessage{artifact, id})
	s.event("TEXT_MESSAGE_START", object{"messageId": id, "role": "assistant"})
	return id
}

// close ends the messages that are open.
func (s *eventWriter) close() {
	for _, m := range s.open {
		s.event("TEXT_MESSAGE_END", object{"messageId": m.id})
	}
	s.open = nil
}

// status reports a status of the task.
func (s *eventWriter) status(ev *exchange.Event) {
	about := object{"taskId": string(s.turn.Task.ID), "state": exchange.StateName(ev.State)}
	if ev.Text != "" {
		about["text"] = ev.Text
	}
	s.event("ACTIVITY_SNAPSHOT", object{
		"messageId": string(s.turn.Task.ID) + ":status", "activityType": "a2a-task", "content": about, "replace": true,
	})
}

// part reports a part of an artifact that is not text.
func (s *eventWriter) part(ev *exchange.Event) {
	if call := exchange.ExtensionOf(ev.Part, "tool-call-v1"); call != nil && s.frame(call) {
		return
	}
	if delta := exchange.ExtensionOf(ev.Part, "worldstate-delta-v1"); delta != nil && s.change(delta) {
		return
	}
	if cost := exchange.ExtensionOf(ev.Part, "cost-v1"); cost != nil {
		usage := rawjson.Member(cost, "usage")
		for i, name := range []string{"input_tokens", "output_tokens"} {
			if n, ok := rawjson.Int(rawjson.Member(usage, name)); ok && n > 0 {
				s.usage[i] += n
			}
		}
	}
	s.event("CUSTOM", object{"name": "a2a.part", "value": object{"artifactId": ev.Artifact, "part": json.RawMessage(ev.Part)}})
}

// count adds the usage to an event that ends the run.
func (s *eventWriter) count(ev object) {
	if s.usage != [2]int64{} {
		ev["usage"] = []object{{"inputTokens": s.usage[0], "outputTokens": s.usage[1]}}
	}
}

// end reports the end of the turn.
func (s *eventWriter) end(ev *exchange.Event) {
	switch ev.State {
	case task.Failed, task.Rejected:
		s.close()
		code, message := "task_failed", ev.Text
		if ev.State == task.Rejected {
			code = "task_rejected"
		}
		if message == "" {
			message = "the agent gave no reason"
		}
		s.failed(message, code)
		return
	case task.Canceled:
		s.finish(object{"type": "cancelled"})
		return
	}
	if ev.Text != "" && (!ev.Said || ev.State.Interrupted() && !ev.Repeats) {
		s.text(&exchange.Event{Artifact: "status", Text: ev.Text})
	}
	s.finish(s.outcome(ev))
}

// outcome returns the outcome of the run: its end, or the input that the agent waits for,
// either the result of a client tool or an answer.
func (s *eventWriter) outcome(ev *exchange.Event) object {
	if !ev.State.Interrupted() {
		return object{"type": "success"}
	}
	if pending := s.wanted(ev.Message); len(pending) > 0 {
		return object{"type": "success", "pendingToolCallIds": pending}
	}
	reason := "input_required"
	if ev.State == task.AuthRequired {
		reason = "auth_required"
	}
	question := object{"id": fmt.Sprintf("%s:%d", s.turn.Task.ID, ev.Version), "reason": reason}
	if ev.Text != "" {
		question["message"] = ev.Text
	}
	return object{"type": "interrupt", "interrupts": []object{question}}
}

func (s *eventWriter) finish(outcome object) {
	s.close()
	ev := object{"threadId": s.in.threadID, "runId": s.in.runID, "outcome": outcome}
	s.count(ev)
	s.event("RUN_FINISHED", ev)
}

// wanted reports the tool calls that the caller is asked to perform, and returns their ids.
func (s *eventWriter) wanted(msg []byte) (ids []string) {
	m, err := task.DecodeMessage(msg)
	if err != nil {
		return nil // a question without parts
	}
	for _, p := range m.Parts {
		c, ok := llm.ClientCallOf(p)
		if !ok {
			continue
		}
		args := []byte("{}")
		if c.Args != nil {
			args, _ = json.Marshal(c.Args) // it was decoded from JSON
		}
		s.call(c.ID, c.Name, args)
		ids = append(ids, c.ID)
	}
	return ids
}
