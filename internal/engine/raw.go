package engine

import (
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/a2ajson"
	"github.com/parley-a2a/parley/internal/rawjson"
	"github.com/parley-a2a/parley/task"
)

// The members of a StreamResponse and of what is in it, in the order of the schemas.
const (
	rawTask = iota
	rawMessage
	rawStatus
	rawArtifact
)

var (
	rawSchema    = a2ajson.NewSchema("task", "message", "statusUpdate", "artifactUpdate")
	taskSchema   = a2ajson.NewSchema("status", "artifacts", "metadata")
	statusSchema = a2ajson.NewSchema("status", "metadata")
	stateSchema  = a2ajson.NewSchema("state", "message")
	chunkSchema  = a2ajson.NewSchema("artifact", "append", "lastChunk", "metadata")
)

// errRaw is about a raw event that is not one.
var errRaw = errors.New("not an event")

// splitRaw returns which member a StreamResponse has, and its value. The JSON is
// checked as a whole, so that nothing in it need be checked again.
func splitRaw(b []byte) (kind int, value []byte, err error) {
	if err := a2ajson.Check(b, 0); err != nil {
		return 0, nil, err
	}
	kind = a2ajson.Unknown
	err = rawSchema.Each(b, func(i int, name string, v []byte) error {
		if i == a2ajson.Unknown {
			return nil
		}
		if kind != a2ajson.Unknown {
			return fmt.Errorf("%s beside another member: %w", name, errRaw)
		}
		kind, value = i, v
		return nil
	})
	if err == nil && kind == a2ajson.Unknown {
		err = errRaw
	}
	return kind, value, err
}

// rawEvent is an agent.Raw of which it is known what it is.
type rawEvent struct {
	a2a.Event
	kind  int
	value []byte
}

// opened returns ev, or what it is if it is raw.
func opened(ev a2a.Event) (a2a.Event, error) {
	raw, ok := ev.(*agent.Raw)
	if !ok || raw == nil {
		return ev, nil
	}
	kind, value, err := splitRaw(raw.JSON)
	if err != nil {
		return nil, err
	}
	return &rawEvent{kind: kind, value: value}, nil
}

// fromRaw is entries for JSON. What it makes of it costs what the JSON is long.
func (l *live) fromRaw(dst []task.Entry, ev *rawEvent, at task.Millis) ([]task.Entry, error) {
	switch ev.kind {
	case rawTask:
		return l.fromRawTask(dst, ev.value, at)
	case rawStatus:
		return l.fromRawStatus(dst, ev.value, at)
	case rawArtifact:
		return fromRawChunk(dst, ev.value, at)
	}
	return nil, fmt.Errorf("a message: %w", errRaw)
}

// fromRawTask takes a task apart. Its history is left out: it repeats what the hub's
// own task has.
func (l *live) fromRawTask(dst []task.Entry, b []byte, at task.Millis) ([]task.Entry, error) {
	var status, artifacts, meta []byte
	err := taskSchema.Each(b, func(i int, _ string, v []byte) error {
		switch i {
		case 0:
			status = v
		case 1:
			artifacts = v
		case 2:
			meta = v
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
	return l.rawState(dst, status, meta, at)
}

func (l *live) fromRawStatus(dst []task.Entry, b []byte, at task.Millis) ([]task.Entry, error) {
	var status, meta []byte
	err := statusSchema.Each(b, func(i int, _ string, v []byte) error {
		switch i {
		case 0:
			status = v
		case 1:
			meta = v
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l.rawState(dst, status, meta, at)
}

// rawState appends the status event of a TaskStatus and of the metadata beside it.
func (l *live) rawState(dst []task.Entry, status, meta []byte, at task.Millis) ([]task.Entry, error) {
	en := task.Entry{Kind: task.Status, At: at}
	err := stateSchema.Each(status, func(i int, _ string, v []byte) (err error) {
		switch i {
		case 0:
			name, _ := rawjson.String(v)
			var ok bool
			if en.State, ok = task.ParseState(name); !ok {
				return fmt.Errorf("state %q: %w", name, errRaw)
			}
		case 1:
			en.Body, err = l.rawMessage(v)
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
	if err := rawMeta(&en, meta); err != nil {
		return nil, err
	}
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

// rawOptions read what an agent wrote, whose mistakes are not those of the caller.
var rawOptions = a2ajson.Options{Fill: true, EmptyParts: true, OmitIDs: true, Checked: true}

func fromRawChunk(dst []task.Entry, b []byte, at task.Millis) ([]task.Entry, error) {
	en := task.Entry{Kind: task.Artifact, At: at}
	var artifact, meta []byte
	err := chunkSchema.Each(b, func(i int, _ string, v []byte) (err error) {
		switch i {
		case 0:
			artifact = v
		case 1:
			en.Append, err = a2ajson.ReadBool(v)
		case 2:
			en.LastChunk, err = a2ajson.ReadBool(v)
		case 3:
			meta = v
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := rawBody(&en, artifact); err != nil {
		return nil, err
	}
	if err := rawMeta(&en, meta); err != nil {
		return nil, err
	}
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
