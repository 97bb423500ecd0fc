package engine

import (
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// The members of a StreamResponse and of its values, in the order of the schemas.
const (
	rawTask = iota
	rawMessage
	rawStatus
	rawArtifact
	// rawOther is an event of a kind that the protocol does not define. It has no value.
	rawOther
)

var (
	rawSchema    = a2ajson.NewSchema("task", "message", "statusUpdate", "artifactUpdate")
	taskSchema   = a2ajson.NewSchema("status", "artifacts", "metadata")
	statusSchema = a2ajson.NewSchema("status", "metadata")
	stateSchema  = a2ajson.NewSchema("state", "message")
	chunkSchema  = a2ajson.NewSchema("artifact", "append", "lastChunk", "metadata")
)

// Unknown members of an event with these names are dropped: clients of one dialect or another
// would read them as members that the hub sets.
var (
	frameReserved  = rawjson.Reserved{"task", "message", "msg", "statusUpdate", "artifactUpdate", "kind", "status", "artifact", "parts"}
	taskReserved   = rawjson.Reserved{"id", "contextId", "status", "artifacts", "history", "metadata", "kind"}
	stateReserved  = rawjson.Reserved{"state", "message", "update", "timestamp"}
	updateReserved = rawjson.Reserved{
		"taskId", "contextId", "status", "artifact", "append", "lastChunk", "metadata", "kind", "final",
	}
)

// errRaw is the error for a raw event that is not a valid event.
var errRaw = errors.New("not an event")

// splitRaw returns the member that a StreamResponse has, its value, and the members beside it.
// It checks the JSON as a whole, so that no part of it need be checked again.
func splitRaw(b []byte) (*rawEvent, error) {
	if err := a2ajson.Check(b, 0); err != nil {
		return nil, err
	}
	ev := &rawEvent{kind: rawOther}
	objects := 0
	err := rawSchema.Each(b, func(i int, name string, v []byte) error {
		switch {
		case i == a2ajson.Unknown:
			if frameReserved.Has(name) {
				return nil
			}
			if rawjson.KindOf(v) == rawjson.Object {
				objects++
			}
			ev.frame.Add(name, v)
			return nil
		case ev.kind != rawOther:
			return fmt.Errorf("%s beside another member: %w", name, errRaw)
		}
		ev.kind, ev.value = i, v
		return nil
	})
	if err == nil && ev.kind == rawOther && objects == 0 {
		err = errRaw
	}
	return ev, err
}

// rawEvent is an agent.Raw whose kind is known.
type rawEvent struct {
	a2a.Event
	kind  int
	value []byte
	// frame holds the unknown members beside the value; for rawOther it holds all members.
	frame a2ajson.Others
}

// opened returns ev, or the parsed event if ev is raw.
func opened(ev a2a.Event) (a2a.Event, error) {
	raw, ok := ev.(*agent.Raw)
	if !ok || raw == nil {
		return ev, nil
	}
	return splitRaw(raw.JSON)
}

// fromRaw is entries for JSON. Its cost is proportional to the length of the JSON.
func (l *live) fromRaw(dst []task.Entry, ev *rawEvent, at task.Millis) ([]task.Entry, error) {
	switch ev.kind {
	case rawTask:
		return l.fromRawTask(dst, ev, at)
	case rawStatus:
		return l.fromRawStatus(dst, ev, at)
	case rawArtifact:
		return fromRawChunk(dst, ev, at)
	case rawOther:
		body := l.withTaskIDs(ev.frame.Object(), func(string) bool { return true })
		return append(dst, task.Entry{Kind: task.Other, At: at, Body: body}), nil
	}
	return nil, fmt.Errorf("a message: %w", errRaw)
}

// rawChange holds the parts of an event beside an artifact: a TaskStatus, metadata, and unknown
// members by the object that contains them.
type rawChange struct {
	state, meta                []byte
	frame, event, status, task a2ajson.Others
}

// others returns the unknown members in the form of task.Entry.Others.
func (r *rawChange) others() []byte {
	var all a2ajson.Others
	for _, part := range [...]struct {
		name string
		in   *a2ajson.Others
	}{{"frame", &r.frame}, {"event", &r.event}, {"status", &r.status}, {"task", &r.task}} {
		if b := part.in.Object(); b != nil {
			all.Add(part.name, b)
		}
	}
	return all.Object()
}

// withTaskIDs returns an event that the hub does not know, or an object in it. It replaces its
// ids by those of the hub's task, and removes reserved names from its metadata.
func (l *live) withTaskIDs(b []byte, inside func(name string) bool) []byte {
	out := []byte{'{'}
	for name, v := range rawjson.Fields(b) {
		switch {
		case name == "taskId" || name == "task_id":
			v = rawjson.AppendString(nil, string(l.ref.id))
		case name == "contextId" || name == "context_id":
			v = rawjson.AppendString(nil, l.contextID)
		case name == "metadata":
			v = unreserved(v)
		case inside(name) && rawjson.KindOf(v) == rawjson.Object:
			v = l.withTaskIDs(v, isMessage)
		}
		if v != nil {
			out = appendMember(out, name, v)
		}
	}
	return append(out, '}')
}

func isMessage(name string) bool { return name == "message" }

// fromRawTask splits a task into entries. It drops the history, because the hub's own task has
// it.
func (l *live) fromRawTask(dst []task.Entry, ev *rawEvent, at task.Millis) ([]task.Entry, error) {
	var artifacts []byte
	c := rawChange{frame: ev.frame}
	err := taskSchema.Each(ev.value, func(i int, name string, v []byte) error {
		switch i {
		case 0:
			c.state = v
		case 1:
			artifacts = v
		case 2:
			c.meta = v
		case a2ajson.Unknown:
			if !taskReserved.Has(name) {
				c.task.Add(name, v)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for a := range rawjson.Elements(artifacts) {
		en := task.Entry{Kind: task.Artifact, At: at, LastChunk: true}
		if err := rawBody(&en, a); err != nil {
			return nil, err
		}
		dst = append(dst, en)
	}
	return l.rawState(dst, &c, at)
}

func (l *live) fromRawStatus(dst []task.Entry, ev *rawEvent, at task.Millis) ([]task.Entry, error) {
	c := rawChange{frame: ev.frame}
	err := statusSchema.Each(ev.value, func(i int, name string, v []byte) error {
		switch i {
		case 0:
			c.state = v
		case 1:
			c.meta = v
		case a2ajson.Unknown:
			if !updateReserved.Has(name) {
				c.event.Add(name, v)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l.rawState(dst, &c, at)
}

// rawState appends the status event of a TaskStatus and of the metadata beside it.
func (l *live) rawState(dst []task.Entry, c *rawChange, at task.Millis) ([]task.Entry, error) {
	en := task.Entry{Kind: task.Status, At: at}
	err := stateSchema.Each(c.state, func(i int, name string, v []byte) (err error) {
		switch i {
		case 0:
			name, _ := rawjson.String(v)
			var ok bool
			if en.State, ok = task.ParseState(name); !ok {
				return a2ajson.Invalid("is not the state of a task")
			}
		case 1:
			en.Body, err = l.rawMessage(v)
		case a2ajson.Unknown:
			if !stateReserved.Has(name) {
				c.status.Add(name, v)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case en.State == task.Unspecified:
		return nil, fmt.Errorf("status without a state: %w", errRaw)
	case en.State == task.Submitted:
		return dst, nil
	}
	if err := rawMeta(&en, c.meta); err != nil {
		return nil, err
	}
	en.Others = c.others()
	return append(dst, en), nil
}

// rawMessage returns a message of the agent with the ids of its task.
func (l *live) rawMessage(b []byte) ([]byte, error) {
	body, _, err := a2ajson.Message(nil, b, rawOptions)
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	return l.withIDs(body), nil
}

// rawOptions are lenient, because mistakes in an agent's JSON are not the caller's.
var rawOptions = a2ajson.Options{Fill: true, EmptyParts: true, OmitIDs: true, Checked: true}

func fromRawChunk(dst []task.Entry, ev *rawEvent, at task.Millis) ([]task.Entry, error) {
	en := task.Entry{Kind: task.Artifact, At: at}
	c := rawChange{frame: ev.frame}
	var artifact []byte
	err := chunkSchema.Each(ev.value, func(i int, name string, v []byte) (err error) {
		switch i {
		case 0:
			artifact = v
		case 1:
			en.Append, err = a2ajson.ReadBool(v)
		case 2:
			en.LastChunk, err = a2ajson.ReadBool(v)
		case 3:
			c.meta = v
		case a2ajson.Unknown:
			if !updateReserved.Has(name) {
				c.event.Add(name, v)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := rawBody(&en, artifact); err != nil {
		return nil, err
	}
	if err := rawMeta(&en, c.meta); err != nil {
		return nil, err
	}
	en.Others = c.others()
	return append(dst, en), nil
}

// rawBody sets the artifact of an entry.
func rawBody(en *task.Entry, b []byte) error {
	body, facts, err := a2ajson.Artifact(nil, b, rawOptions)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	en.Body, en.ArtifactID = body, a2a.ArtifactID(facts.ID)
	return nil
}

func rawMeta(en *task.Entry, b []byte) (err error) {
	if len(b) > 0 {
		en.Meta, err = a2ajson.ReadObject(b)
	}
	return err
}
