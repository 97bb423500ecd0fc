package remote

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/a2ajson"
	"github.com/parley-a2a/parley/internal/peer"
	"github.com/parley-a2a/parley/internal/rawjson"
	"github.com/parley-a2a/parley/task"
)

// relay makes of what a peer says what the hub's own task has not been told yet. Events
// of a stream are passed on as they are. A snapshot is compared with what was passed on
// before, and only what is new goes on: a reconnected stream and a poll look the same to
// the caller as a stream that never broke.
type relay struct {
	artifacts map[string]*artifact
	// status is the last one, without its time and its ids.
	status string
	// last is that status as it came.
	last []byte
	meta traits
	// owed is metadata of a task that came without a status to tell.
	owed []byte
	// ids are those of the last events of the stream.
	ids []string
}

// artifact is what was passed on of an artifact.
type artifact struct {
	content
	traits traits
	// sealed is set once its last chunk was passed on: nothing may follow.
	sealed bool
}

// maxIDs is how many ids of events are remembered, to tell an event that comes twice.
const maxIDs = 64

// restore begins with the task as the hub has it, and the artifacts in it that are
// complete.
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
		}
	}
	for _, id := range sealed {
		r.artifact(string(id)).sealed = true
	}
}

func (r *relay) artifact(id string) *artifact {
	a := r.artifacts[id]
	if a == nil {
		if r.artifacts == nil {
			r.artifacts = make(map[string]*artifact)
		}
		a = new(artifact)
		r.artifacts[id] = a
	}
	return a
}

// note remembers an artifact in canonical form, or a chunk of one, that is passed on.
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

// take returns the events to pass on for one of the peer. The status of a stale one is
// none of them.
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
		return r.snapshot(ev.Body(), stale)
	case peer.StatusUpdate:
		return r.update(ev)
	case peer.ArtifactUpdate:
		return r.chunk(ev)
	case peer.Message:
		return [][]byte{ev.JSON}, nil
	}
	return nil, fmt.Errorf("an event of kind %v: %w", ev.Kind, a2a.ErrInvalidAgentResponse)
}

// update passes a status on, with the metadata that is owed.
func (r *relay) update(ev *peer.Event) ([][]byte, error) {
	body := ev.Body()
	status, meta := member(body, "status"), member(body, "metadata")
	r.status, r.last = statusKey(status), status
	if r.owed == nil || ev.State == a2a.TaskStateSubmitted {
		r.meta = r.meta.merge("", meta)
		return [][]byte{ev.JSON}, nil
	}
	merged := traits(nil).merge("", r.owed).merge("", meta)
	r.owed, r.meta = nil, r.meta.and(merged)
	return [][]byte{statusUpdate(status, merged.object())}, nil
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
			return nil, nil // it is said again that it is complete
		}
	}
	r.note(body, appended, last)
	return [][]byte{artifactUpdate(&piece{body, appended, last, member(update, "metadata")})}, nil
}

// snapshot passes on what is new in a whole task.
func (r *relay) snapshot(taskJSON []byte, stale bool) (news [][]byte, err error) {
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
	meta := member(taskJSON, "metadata")
	fresh := !r.meta.has(traits(nil).merge("", meta))
	key := statusKey(status)
	switch {
	case key == r.status && !fresh:
		return news, nil
	case state == task.Submitted:
		if fresh {
			r.owed = meta
		}
		return news, nil
	}
	r.status, r.last, r.owed, r.meta = key, status, nil, r.meta.merge("", meta)
	return append(news, statusUpdate(status, meta)), nil
}

// difference returns what is new in an artifact of a snapshot, or nil. final says that
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
}

// canonical returns an artifact as the hub will store it.
func canonical(raw []byte) ([]byte, error) {
	body, _, err := a2ajson.Artifact(nil, raw, a2ajson.Options{Fill: true, EmptyParts: true})
	if err != nil {
		return nil, fmt.Errorf("an artifact that is none (%w): %w", err, a2a.ErrInvalidAgentResponse)
	}
	return body, nil
}

// statusKey is what tells a status from another: its state, and its message without the
// ids of the task.
func statusKey(status []byte) string {
	key := text(status, "state")
	m := member(status, "message")
	if m == nil {
		return key
	}
	body, facts, err := a2ajson.Message(nil, m, a2ajson.Options{Fill: true, EmptyParts: true, OmitIDs: true})
	if err != nil {
		return key + " " + string(m)
	}
	if text(m, "messageId") == "" {
		// The id was made here, and would be another one the next time.
		body = bytes.Replace(body, rawjson.AppendString(nil, facts.ID), nil, 1)
	}
	return key + " " + string(body)
}

// withParts returns an artifact with other parts.
func withParts(body []byte, parts [][]byte) []byte {
	b := []byte{'{'}
	for name, value := range rawjson.Fields(body) {
		if name == "parts" {
			continue
		}
		b = append(append(append(rawjson.AppendString(b, name), ':'), value...), ',')
	}
	b = append(b, `"parts":[`...)
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
	return append(withMeta(b, p.meta), `}}`...)
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

// object returns the traits as a JSON object.
func (t traits) object() []byte {
	b := []byte{'{'}
	for name, value := range t {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(rawjson.AppendString(b, name), ':'), value...)
	}
	return append(b, '}')
}

func member(obj []byte, name string) []byte {
	for n, v := range rawjson.Fields(obj) {
		if n == name {
			return v
		}
	}
	return nil
}

func text(obj []byte, name string) string {
	s, _ := rawjson.String(member(obj, name))
	return s
}

func isTrue(v []byte) bool { return string(v) == "true" }
