package lossless

import (
	"fmt"
	"reflect"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// examiner compares received data with a plan. All unknown members must arrive except those
// that the list declares as lost, and these must not arrive.
type examiner struct {
	lost     losses
	caller   *callerOf
	route    route
	problems []error
}

func (x *examiner) problem(format string, args ...any) {
	if len(x.problems) < 5 {
		x.problems = append(x.problems, fmt.Errorf(format, args...))
	}
}

// asked reports whether a place of the request is lost on the way to the agent.
func (x *examiner) asked(p place) bool {
	return x.lost.on(fromCallers, p, x.caller.binding) || x.lost.on(toAgents, p, x.route.binding)
}

// answered reports whether a place of the answer is lost on the way to the caller. A remote
// agent is behind a hub, whose answers have the losses of the binding between them.
func (x *examiner) answered(p place) bool {
	return x.lost.on(answers, p, x.caller.binding) || x.lost.on(answers, p, x.route.binding)
}

// echoed reports whether a place of the caller's own message is lost in the task's history.
func (x *examiner) echoed(p place) bool {
	return x.lost.on(fromCallers, p, x.caller.binding) || x.lost.on(answers, p, x.caller.binding)
}

// way is one of the methods asked, answered and echoed.
type way func(place) bool

// unknown searches got for each member of want at a place.
func (x *examiner) unknown(where string, lost bool, want, got string) {
	for name, v := range rawjson.Fields([]byte(want)) {
		have := rawjson.Member([]byte(got), name)
		switch {
		case lost && have != nil:
			x.problem("%s has the member %q = %s, which is not lost as internal/parts/dialects.md says", where, name, have)
		case !lost && have == nil:
			x.problem("%s lacks the member %q in %s", where, name, got)
		case !lost && !reflect.DeepEqual(exact(string(v)), exact(string(have))):
			x.problem("%s has the member %q = %s, want %s", where, name, have, v)
		}
	}
}

// known searches got for each member of want, of which only digits may be lost.
func (x *examiner) known(where string, lost way, want, got string) {
	for name, v := range rawjson.Fields([]byte(want)) {
		wanted := exact(string(v))
		if lost(inNumbers) {
			wanted = doubles(wanted)
		}
		if have := member(got, name); have == "" || !reflect.DeepEqual(wanted, exact(have)) {
			x.problem("%s has %q = %s, want %v", where, name, have, wanted)
		}
	}
}

// request checks the data that the agent received.
func (x *examiner) request(p *plan, got received) {
	x.unknown("params for the agent", x.asked(inParams), p.params, member(got.others, "params"))
	x.unknown("configuration for the agent", x.asked(inConfiguration), p.configuration, member(got.others, "configuration"))
	if wanted := !x.asked(inParams) || !x.asked(inConfiguration); wanted != (got.others != "") {
		x.problem("the agent was given %q beside the message", got.others)
	}
	x.known("metadata of the request", x.asked, p.paramsMeta, got.metadata)
	x.message("message for the agent", x.asked, p, got.message, formV1)
}

// message checks the caller's message.
func (x *examiner) message(where string, lost way, p *plan, got string, f form) {
	x.unknown(where, lost(inMessage), p.message, got)
	x.known("metadata of "+where, lost, p.messageMeta, member(got, "metadata"))
	x.part(where, lost, &p.part, got, f)
}

// part checks the only part of a message or an artifact.
func (x *examiner) part(where string, lost way, want *part, in string, f form) {
	where = "part of " + where
	list := member(in, "parts")
	if list == "" && f == formProto {
		list = member(in, "content")
	}
	var parts []string
	for part := range rawjson.Elements([]byte(list)) {
		parts = append(parts, f.asV1(string(part)))
	}
	if len(parts) != 1 {
		x.problem("%s: there are %d, want 1: %s", where, len(parts), in)
		return
	}
	content := `{"` + want.kind + `":` + want.content + `}`
	if want.file() {
		content = with(content, `{"filename":"f","mediaType":"x/y"}`)
	}
	x.known(where, lost, content, parts[0])
	x.known("metadata of "+where, lost, want.meta, member(parts[0], "metadata"))
	x.unknown(where, lost(inPart), with(want.others, want.inside), parts[0])
}

// events checks the events of a stream, by their steps.
func (x *examiner) events(p *plan, seen map[int]event) {
	for i, s := range p.steps {
		ev, ok := seen[i+1]
		where := fmt.Sprintf("event %d", i+1)
		switch {
		case s.kind != "":
			if wanted := !x.answered(otherEvents); ok != wanted || ok && ev.kind != s.kind {
				x.problem("event %d of kind %s: came %v as %q", i+1, s.kind, ok, ev.kind)
			}
			x.unknown(where, x.answered(otherEvents), s.body, ev.body)
			continue
		case !ok:
			x.problem("event %d has not come: %v", i+1, seen)
			continue
		}
		if x.route.binding == rpcOld { // there it is a member of the event
			ev.beside = ev.body
		}
		x.unknown("object around "+where, x.answered(aroundEvent), s.beside, ev.beside)
		x.unknown(where, x.answered(inEvent), s.event, ev.body)
		x.known("metadata of "+where, x.answered, s.meta, member(ev.body, "metadata"))
		x.content(where, p, &s, ev.body)
	}
}

// content checks the status or the artifact of a step in an event.
func (x *examiner) content(where string, p *plan, s *step, event string) {
	if s.artifact == "" {
		x.status(where, p, s, member(event, "status"))
		return
	}
	x.artifact(where, p, s, member(event, "artifact"))
}

func (x *examiner) artifact(where string, p *plan, s *step, got string) {
	where = "artifact of " + where
	x.unknown(where, x.answered(inArtifact), s.artifact, got)
	x.known("metadata of "+where, x.answered, s.innerMeta, member(got, "metadata"))
	x.part(where, x.answered, &p.part, got, x.caller.form)
}

func (x *examiner) status(where string, p *plan, s *step, got string) {
	where = "status of " + where
	message := member(got, "message")
	x.unknown(where, x.answered(inStatus), s.status, got)
	x.unknown("message of the "+where, x.answered(inMessage), s.message, message)
	x.known("metadata of the message of the "+where, x.answered, s.innerMeta, member(message, "metadata"))
	x.part("message of the "+where, x.answered, &p.part, message, x.caller.form)
}

// task checks the whole task, which has the contents of its events.
func (x *examiner) task(p *plan, got string) {
	lost := x.lost.on(answers, inEvent, x.route.binding) || x.lost.on(answers, inTask, x.caller.binding)
	var last step
	for _, s := range p.steps {
		if s.kind != "" {
			continue
		}
		last = s
		x.unknown("task", lost, s.event, got)
		if s.artifact != "" {
			x.artifact("the task", p, &s, only(member(got, "artifacts")))
			continue // whose metadata is only in the event
		}
		x.known("metadata of the task", x.answered, s.meta, member(got, "metadata"))
	}
	status := member(got, "status")
	x.status("the task", p, &last, status)
	if state := member(status, "state"); state != `"TASK_STATE_COMPLETED"` && state != `"completed"` {
		x.problem("the task is %s", got)
	}
	for message := range rawjson.Elements([]byte(member(got, "history"))) {
		if member(string(message), "messageId") == quoted(p.id) {
			x.message("message in the history", x.echoed, p, string(message), x.caller.form)
			return
		}
	}
	x.problem("the message is not in the history of %s", got)
}

// only returns the only element of a list, or "".
func only(list string) (out string) {
	for v := range rawjson.Elements([]byte(list)) {
		if out != "" {
			return ""
		}
		out = string(v)
	}
	return out
}
