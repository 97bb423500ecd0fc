package task

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// A2A returns the task as the SDK's struct, with the whole history and all artifacts, for
// executors. The head must be that at the version of f. The struct holds less than the task:
// unknown fields are dropped, and numbers in data and metadata become float64.
func (f *Fold) A2A(h *Head) (*a2a.Task, error) {
	var d sdkDecoder
	t := new(a2a.Task)
	d.task(t, f.AppendTask(nil, h, TaskOptions{Artifacts: true}))
	if d.err != nil {
		return nil, fmt.Errorf("decode task %s: %w", h.ID, d.err)
	}
	return t, nil
}

// DecodeTask returns a task as the SDK's struct, like Fold.A2A.
func DecodeTask(body []byte) (*a2a.Task, error) {
	if err := rawjson.Check(body, maxDepth); err != nil {
		return nil, fmt.Errorf("decode task: %w", err)
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, errors.New("decode task: not an object")
	}
	var d sdkDecoder
	t := new(a2a.Task)
	d.task(t, body)
	if d.err != nil {
		return nil, fmt.Errorf("decode task: %w", d.err)
	}
	return t, nil
}

// maxDepth limits the nesting of objects in a message. The decoders of the bindings allow far
// less.
const maxDepth = 10_000

// DecodeMessage returns a message as the SDK's struct. Unlike the SDK it accepts a part whose
// data is null.
func DecodeMessage(body []byte) (*a2a.Message, error) {
	if err := rawjson.Check(body, maxDepth); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, errors.New("decode message: not an object")
	}
	var d sdkDecoder
	m := d.message(body)
	if d.err != nil {
		return nil, fmt.Errorf("decode message: %w", d.err)
	}
	return m, nil
}

// DecodeEvent returns the event in a StreamResponse as the SDK's struct, like DecodeMessage.
func DecodeEvent(body []byte) (a2a.Event, error) {
	if err := rawjson.Check(body, maxDepth); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	var d sdkDecoder
	var event a2a.Event
	for name, v := range rawjson.Fields(body) {
		if rawjson.KindOf(v) != rawjson.Object {
			continue
		}
		switch name {
		case "task":
			t := new(a2a.Task)
			d.task(t, v)
			event = t
		case "message":
			event = d.message(v)
		case "statusUpdate":
			event = d.statusUpdate(v)
		case "artifactUpdate":
			event = d.artifactUpdate(v)
		default:
			continue
		}
		break
	}
	switch {
	case d.err != nil:
		return nil, fmt.Errorf("decode event: %w", d.err)
	case event == nil:
		return nil, errors.New("decode event: no task, message, statusUpdate or artifactUpdate")
	}
	return event, nil
}

// sdkDecoder decodes canonical v1.0 JSON into the SDK's structs. It handles only these few
// shapes, at a fraction of the cost of reflection. It keeps the first error.
type sdkDecoder struct{ err error }

func (d *sdkDecoder) task(t *a2a.Task, b []byte) {
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "id":
			t.ID = a2a.TaskID(d.text(name, v))
		case "contextId":
			t.ContextID = d.text(name, v)
		case "status":
			d.status(&t.Status, v)
		case "artifacts":
			for a := range rawjson.Elements(v) {
				t.Artifacts = append(t.Artifacts, d.artifact(a))
			}
		case "history":
			for m := range rawjson.Elements(v) {
				t.History = append(t.History, d.message(m))
			}
		case "metadata":
			t.Metadata = d.object(name, v)
		}
	}
}

func (d *sdkDecoder) statusUpdate(b []byte) *a2a.TaskStatusUpdateEvent {
	e := new(a2a.TaskStatusUpdateEvent)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "taskId":
			e.TaskID = a2a.TaskID(d.text(name, v))
		case "contextId":
			e.ContextID = d.text(name, v)
		case "status":
			d.status(&e.Status, v)
		case "metadata":
			e.Metadata = d.object(name, v)
		}
	}
	return e
}

func (d *sdkDecoder) artifactUpdate(b []byte) *a2a.TaskArtifactUpdateEvent {
	e := new(a2a.TaskArtifactUpdateEvent)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "taskId":
			e.TaskID = a2a.TaskID(d.text(name, v))
		case "contextId":
			e.ContextID = d.text(name, v)
		case "artifact":
			e.Artifact = d.artifact(v)
		case "append":
			e.Append = string(v) == "true"
		case "lastChunk":
			e.LastChunk = string(v) == "true"
		case "metadata":
			e.Metadata = d.object(name, v)
		}
	}
	return e
}

func (d *sdkDecoder) status(s *a2a.TaskStatus, b []byte) {
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "state":
			s.State = a2a.TaskState(d.text(name, v))
		case "message":
			s.Message = d.message(v)
		case "timestamp":
			at, err := time.Parse(time.RFC3339Nano, d.text(name, v))
			d.fail(name, err)
			s.Timestamp = &at
		}
	}
}

func (d *sdkDecoder) message(b []byte) *a2a.Message {
	m := new(a2a.Message)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "messageId":
			m.ID = d.text(name, v)
		case "contextId":
			m.ContextID = d.text(name, v)
		case "taskId":
			m.TaskID = a2a.TaskID(d.text(name, v))
		case "role":
			m.Role = a2a.MessageRole(d.text(name, v))
		case "parts":
			m.Parts = d.parts(v)
		case "metadata":
			m.Metadata = d.object(name, v)
		case "extensions":
			m.Extensions = d.texts(name, v)
		case "referenceTaskIds":
			for id := range rawjson.Elements(v) {
				m.ReferenceTasks = append(m.ReferenceTasks, a2a.TaskID(d.text(name, id)))
			}
		}
	}
	return m
}

func (d *sdkDecoder) artifact(b []byte) *a2a.Artifact {
	a := new(a2a.Artifact)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "artifactId":
			a.ID = a2a.ArtifactID(d.text(name, v))
		case "name":
			a.Name = d.text(name, v)
		case "description":
			a.Description = d.text(name, v)
		case "parts":
			a.Parts = d.parts(v)
		case "metadata":
			a.Metadata = d.object(name, v)
		case "extensions":
			a.Extensions = d.texts(name, v)
		}
	}
	return a
}

func (d *sdkDecoder) parts(b []byte) a2a.ContentParts {
	parts := make(a2a.ContentParts, 0, 1)
	for p := range rawjson.Elements(b) {
		parts = append(parts, d.part(p))
	}
	return parts
}

// part decodes a part. Null is a valid value of data.
func (d *sdkDecoder) part(b []byte) *a2a.Part {
	p := new(a2a.Part)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "text":
			p.Content = a2a.Text(d.text(name, v))
		case "raw":
			raw, err := base64.StdEncoding.DecodeString(d.text(name, v))
			d.fail(name, err)
			p.Content = a2a.Raw(raw)
		case "url":
			p.Content = a2a.URL(d.text(name, v))
		case "data":
			var data any
			d.fail(name, decodeFinite(v, &data))
			p.Content = a2a.Data{Value: data}
		case "filename":
			p.Filename = d.text(name, v)
		case "mediaType":
			p.MediaType = d.text(name, v)
		case "metadata":
			p.Metadata = d.object(name, v)
		}
	}
	if p.Content == nil {
		d.fail("parts", errors.New("a part without content"))
	}
	return p
}

func (d *sdkDecoder) text(name string, v []byte) string {
	s, ok := rawjson.String(v)
	if !ok && d.err == nil {
		d.err = fmt.Errorf("%s: not a string", name)
	}
	return s
}

func (d *sdkDecoder) texts(name string, v []byte) []string {
	var all []string
	for e := range rawjson.Elements(v) {
		all = append(all, d.text(name, e))
	}
	return all
}

func (d *sdkDecoder) object(name string, v []byte) map[string]any {
	m, err := DecodeMetadata(v)
	d.fail(name, err)
	return m
}

// DecodeMetadata returns a metadata object in the form for executors: numbers are float64, and
// a number beyond float64 becomes the largest float64 of its sign. The log keeps the original.
func DecodeMetadata(b []byte) (map[string]any, error) {
	var m map[string]any
	err := decodeFinite(b, &m)
	return m, err
}

func decodeFinite(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var wide *json.UnmarshalTypeError
	if errors.As(err, &wide) {
		err = json.Unmarshal(rawjson.AppendFinite(nil, b), v)
	}
	return err
}

func (d *sdkDecoder) fail(name string, err error) {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("%s: %w", name, err)
	}
}
