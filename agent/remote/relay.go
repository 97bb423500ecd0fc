package remote

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/task"
)

// relay converts the events of a peer into the events that are still missing from the hub's own
// task. Events of a stream are passed on unchanged. A snapshot is compared with the events
// passed on before, and only the difference is passed on. To the caller, a reconnected stream
// and a poll therefore look like a stream that never broke.
type relay struct {
	artifacts map[string]*artifact
	// status is the last status, without its time and its ids.
	status string
	// last is that status in its original form.
	last []byte
	meta traits
	// others are the members of the task that the protocol does not define.
	others traits
	// pending holds metadata and members of a task that arrived without a status to carry them.
	pending *pendingMetadata
	// ids are the ids of the last events of the stream.
	ids []string
}

// pending is metadata, and members that the protocol does not define.
type pendingMetadata struct{ meta, others traits }

// artifact is the content of an artifact that was passed on.
type artifact struct {
	content
	traits traits
	// sealed is set once its last chunk was passed on: nothing may follow.
	sealed bool
}

// maxIDs is how many event ids are remembered to detect repeated events.
const maxIDs = 64

// restore initializes the relay with the hub's copy of the task, and the ids of the artifacts
// in it that are complete.
func (r *relay) restore(taskJSON []byte, sealed []a2a.ArtifactID) {
	for name, value := range rawjson.Fields(taskJSON) {
		switch name {
		case "artifacts":
			for a := range rawjson.Elements(value) {
				r.note(a, false, false)
			}
		case "status":
			r.status, r.last = statusKey(value), value
		case "metadata":
			r.meta = r.meta.merge("", value)
		case "id", "contextId", "history":
		default:
			r.others = r.others.set(name, value)
		}
	}
	for _, id := range sealed {
		r.artifact(string(id)).sealed = true
	}
}

func (r *relay) artifact(id string) *artifact {
	if r.artifacts == nil {
		r.artifacts = make(map[string]*artifact)
	}
	if r.artifacts[id] == nil {
		r.artifacts[id] = new(artifact)
	}
	return r.artifacts[id]
}

// note records an artifact in canonical form, or a chunk of one, that is passed on.
func (r *relay) note(body []byte, appended, last bool) {
	a := r.artifact(text(body, "artifactId"))
	t, parts := traitsOf(body)
	if !appended {
		a.content, a.traits = content{}, nil
	}
	for _, p := range parts {
		a.add(p)
	}
	a.traits = a.traits.and(t)
	a.sealed = a.sealed || last
}

// take returns the events to pass on for an event of the peer. The status of a stale event is
// not among them.
func (r *relay) take(ev *peer.Event, stale bool) ([][]byte, error) {
	if ev.ID != "" && ev.Kind != peer.Task {
		if slices.Contains(r.ids, ev.ID) {
			return nil, nil
		}
		if len(r.ids) == maxIDs {
			r.ids = r.ids[:copy(r.ids, r.ids[1:])]
		}
		r.ids = append(r.ids, ev.ID)
	}
	switch ev.Kind {
	case peer.Task:
		return r.snapshot(ev, stale)
	case peer.StatusUpdate:
		if stale {
			return nil, nil
		}
		return r.update(ev)
	case peer.ArtifactUpdate:
		return r.chunk(ev)
	case peer.Message, peer.Other:
		return [][]byte{ev.JSON}, nil
	}
	return nil, fmt.Errorf("an event of kind %v: %w", ev.Kind, a2a.ErrInvalidAgentResponse)
}

// update passes a status on, with the pending members.
func (r *relay) update(ev *peer.Event) ([][]byte, error) {
	body := ev.Body()
	status, meta := member(body, "status"), member(body, "metadata")
	r.status, r.last = statusKey(status), status
	if r.pending == nil || ev.State == a2a.TaskStateSubmitted {
		r.meta = r.meta.merge("", meta)
		return [][]byte{ev.JSON}, nil
	}
	c := change{status: status, meta: r.pending.meta.merge("", meta), others: r.pending.others.rest(body), frame: frameOf(ev.JSON)}
	r.pending, r.meta = nil, r.meta.and(c.meta)
	return [][]byte{c.json()}, nil
}

// chunk passes an artifact on, or a chunk of one.
func (r *relay) chunk(ev *peer.Event) ([][]byte, error) {
	update := ev.Body()
	body, err := canonical(member(update, "artifact"))
	if err != nil {
		return nil, err
	}
	appended, last := isTrue(member(update, "append")), isTrue(member(update, "lastChunk"))
	if a := r.artifact(text(body, "artifactId")); a.sealed {
		t, parts := traitsOf(body)
		if verdict, _ := a.compare(parts); !appended && verdict == same && a.traits.has(t) || appended && len(parts) == 0 && a.traits.has(t) {
			return nil, nil // the completion is repeated
		}
	}
	r.note(body, appended, last)
	return [][]byte{artifactUpdate(&piece{
		body: body, appended: appended, last: last, meta: member(update, "metadata"),
		others: traits(nil).rest(update), frame: frameOf(ev.JSON),
	})}, nil
}

// snapshot passes on the news in a whole task.
func (r *relay) snapshot(ev *peer.Event, stale bool) (news [][]byte, err error) {
	taskJSON := ev.Body()
	status := member(taskJSON, "status")
	state, known := task.ParseState(text(status, "state"))
	if !known {
		return nil, fmt.Errorf("the unknown state %q: %w", text(status, "state"), a2a.ErrInvalidAgentResponse)
	}
	for raw := range rawjson.Elements(member(taskJSON, "artifacts")) {
		body, err := canonical(raw)
		if err != nil {
			return nil, err
		}
		if p := r.difference(body, state.Terminal()); p != nil {
			r.note(p.body, p.appended, p.last)
			news = append(news, artifactUpdate(p))
		}
	}
	if stale {
		return news, nil
	}
	c := change{
		status: status, meta: traits(nil).merge("", member(taskJSON, "metadata")),
		others: traits(nil).rest(taskJSON), frame: frameOf(ev.JSON),
	}
	fresh := !r.meta.has(c.meta) || !r.others.has(c.others)
	key := statusKey(status)
	switch {
	case key == r.status && !fresh:
		return news, nil
	case state == task.Submitted:
		if fresh {
			r.pending = &pendingMetadata{c.meta, c.others}
		}
		return news, nil
	}
	r.status, r.last, r.pending = key, status, nil
	r.meta, r.others = r.meta.and(maps.Clone(c.meta)), r.others.and(maps.Clone(c.others))
	return append(news, c.json()), nil
}

// change is a status to pass on, with the other members of the task.
type change struct {
	status       []byte
	meta, others traits
	// frame are the members around the task.
	frame traits
}

// json returns the change as a task, so that its members stay those of the task.
func (c *change) json() []byte {
	if len(c.others) == 0 && len(c.frame) == 0 {
		return statusUpdate(c.status, c.meta.objectOrNil())
	}
	b := append([]byte(`{"task":{"status":`), c.status...)
	b = c.others.appendTo(withMeta(b, c.meta.objectOrNil()))
	return append(c.frame.appendTo(append(b, '}')), '}')
}

// known are the names of the protocol's members around, in and beside a status or an artifact.
var known = [...]string{
	"id", "taskId", "contextId", "status", "artifacts", "artifact", "append", "lastChunk", "history", "metadata",
}

// rest returns t with the members of an object that the protocol does not define.
func (t traits) rest(obj []byte) traits {
	for name, value := range rawjson.Fields(obj) {
		if !slices.Contains(known[:], name) {
			t = t.set(name, value)
		}
	}
	return t
}

// frameOf returns the members beside the body of an event.
func frameOf(event []byte) (t traits) {
	first := true
	for name, value := range rawjson.Fields(event) {
		if !first {
			t = t.set(name, value)
		}
		first = false
	}
	return t
}

// difference returns the new part of an artifact in a snapshot, or nil. final states that
// nothing will follow.
func (r *relay) difference(body []byte, final bool) *piece {
	id := text(body, "artifactId")
	a, t := r.artifacts[id], traits(nil)
	if a == nil {
		return &piece{body: body, last: final}
	}
	if a.sealed {
		return nil
	}
	t, parts := traitsOf(body)
	verdict, rest := a.compare(parts)
	switch {
	case verdict == other, verdict == older && final:
		return &piece{body: body, last: final}
	case verdict == more:
		return &piece{body: withParts(body, rest), appended: true, last: final}
	case !a.traits.has(t):
		return &piece{body: withParts(body, nil), appended: true, last: final}
	}
	return nil
}

// piece is an artifact, or a chunk of one, to pass on.
type piece struct {
	body           []byte
	appended, last bool
	meta           []byte
	// others are the members of the event that the protocol does not define, frame those around
	// it.
	others, frame traits
}

// canonical returns an artifact in the form that the hub stores.
func canonical(raw []byte) ([]byte, error) {
	body, _, err := a2ajson.Artifact(nil, raw, a2ajson.Options{Fill: true, EmptyParts: true})
	if err != nil {
		return nil, fmt.Errorf("an invalid artifact (%w): %w", err, a2a.ErrInvalidAgentResponse)
	}
	return body, nil
}

// statusKey returns a key that is equal for equal statuses only: state, message without the ids
// of the task, and unknown members.
func statusKey(status []byte) string {
	key := text(status, "state")
	for name, value := range rawjson.Fields(status) {
		switch name {
		case "state", "message", "timestamp":
		default:
			key += " " + name + ":" + string(value)
		}
	}
	m := member(status, "message")
	if m == nil {
		return key
	}
	body, facts, err := a2ajson.Message(nil, m, a2ajson.Options{Fill: true, EmptyParts: true, OmitIDs: true})
	if err != nil {
		return key + " " + string(m)
	}
	if text(m, "messageId") == "" {
		// The hub generated the id, and would generate another one the next time.
		body = bytes.Replace(body, rawjson.AppendString(nil, facts.ID), nil, 1)
	}
	return key + " " + string(body)
}

// withParts returns an artifact with other parts.
func withParts(body []byte, parts [][]byte) []byte {
	b := rawjson.AppendMembers([]byte{'{'}, body, "parts")
	b = append(rawjson.AppendMember(b, "parts", nil), '[')
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	return append(b, `]}`...)
}

func artifactUpdate(p *piece) []byte {
	b := append([]byte(`{"artifactUpdate":{"artifact":`), p.body...)
	if p.appended {
		b = append(b, `,"append":true`...)
	}
	if p.last {
		b = append(b, `,"lastChunk":true`...)
	}
	b = p.others.appendTo(withMeta(b, p.meta))
	return append(p.frame.appendTo(append(b, '}')), '}')
}

func statusUpdate(status, meta []byte) []byte {
	b := append([]byte(`{"statusUpdate":{"status":`), status...)
	return append(withMeta(b, meta), `}}`...)
}

func withMeta(b, meta []byte) []byte {
	if rawjson.KindOf(meta) != rawjson.Object {
		return b
	}
	return append(append(b, `,"metadata":`...), meta...)
}

// objectOrNil returns the traits as a JSON object; nil if there are none.
func (t traits) objectOrNil() []byte {
	if len(t) == 0 {
		return nil
	}
	return append(t.appendTo([]byte{'{'}), '}')
}

// appendTo appends the traits as further members of an object.
func (t traits) appendTo(b []byte) []byte {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		b = rawjson.AppendMember(b, name, []byte(t[name]))
	}
	return b
}

func member(obj []byte, name string) []byte { return rawjson.Member(obj, name) }

func text(obj []byte, name string) string {
	s, _ := rawjson.String(member(obj, name))
	return s
}

func isTrue(v []byte) bool { return string(v) == "true" }
