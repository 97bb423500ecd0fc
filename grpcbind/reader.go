package grpcbind

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// reader decodes the canonical v1.0 JSON of the log into protocol buffers. Members that the
// protocol does not define are ignored. Unlike protojson it accepts everything that the log may
// contain: repeated names in free JSON, of which the last counts, and numbers outside the range
// of a double. It keeps its first error, which only a damaged log causes.
type reader struct {
	err error
}

func (r *reader) fail(what string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", what, err)
	}
}

// frame decodes a StreamResponse.
func (r *reader) frame(b []byte) *pb.StreamResponse {
	out := new(pb.StreamResponse)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "task":
			out.Payload = &pb.StreamResponse_Task{Task: r.task(v)}
		case "message":
			out.Payload = &pb.StreamResponse_Message{Message: r.message(v)}
		case "statusUpdate":
			out.Payload = &pb.StreamResponse_StatusUpdate{StatusUpdate: r.statusUpdate(v)}
		case "artifactUpdate":
			out.Payload = &pb.StreamResponse_ArtifactUpdate{ArtifactUpdate: r.artifactUpdate(v)}
		}
	}
	if out.Payload == nil {
		r.fail("frame", errors.New("has no payload"))
	}
	return out
}

func (r *reader) task(b []byte) *pb.Task {
	t := new(pb.Task)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "id":
			t.Id = text(v)
		case "contextId":
			t.ContextId = text(v)
		case "status":
			t.Status = r.status(v)
		case "artifacts":
			t.Artifacts = list(v, r.artifact)
		case "history":
			t.History = list(v, r.message)
		case "metadata":
			t.Metadata = object(v)
		}
	}
	return t
}

func (r *reader) status(b []byte) *pb.TaskStatus {
	s := new(pb.TaskStatus)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "state":
			s.State = pb.TaskState(pb.TaskState_value[text(v)])
		case "message":
			s.Message = r.message(v)
		case "timestamp":
			s.Timestamp = r.timestamp(v)
		}
	}
	return s
}

func (r *reader) statusUpdate(b []byte) *pb.TaskStatusUpdateEvent {
	e := new(pb.TaskStatusUpdateEvent)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "taskId":
			e.TaskId = text(v)
		case "contextId":
			e.ContextId = text(v)
		case "status":
			e.Status = r.status(v)
		case "metadata":
			e.Metadata = object(v)
		}
	}
	return e
}

func (r *reader) artifactUpdate(b []byte) *pb.TaskArtifactUpdateEvent {
	e := new(pb.TaskArtifactUpdateEvent)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "taskId":
			e.TaskId = text(v)
		case "contextId":
			e.ContextId = text(v)
		case "artifact":
			e.Artifact = r.artifact(v)
		case "append":
			e.Append = truth(v)
		case "lastChunk":
			e.LastChunk = truth(v)
		case "metadata":
			e.Metadata = object(v)
		}
	}
	return e
}

func (r *reader) message(b []byte) *pb.Message {
	m := new(pb.Message)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "messageId":
			m.MessageId = text(v)
		case "contextId":
			m.ContextId = text(v)
		case "taskId":
			m.TaskId = text(v)
		case "role":
			m.Role = pb.Role(pb.Role_value[text(v)])
		case "parts":
			m.Parts = list(v, r.part)
		case "metadata":
			m.Metadata = object(v)
		case "extensions":
			m.Extensions = list(v, text)
		case "referenceTaskIds":
			m.ReferenceTaskIds = list(v, text)
		}
	}
	return m
}

func (r *reader) artifact(b []byte) *pb.Artifact {
	a := new(pb.Artifact)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "artifactId":
			a.ArtifactId = text(v)
		case "name":
			a.Name = text(v)
		case "description":
			a.Description = text(v)
		case "parts":
			a.Parts = list(v, r.part)
		case "metadata":
			a.Metadata = object(v)
		case "extensions":
			a.Extensions = list(v, text)
		}
	}
	return a
}

func (r *reader) part(b []byte) *pb.Part {
	p := new(pb.Part)
	for name, v := range rawjson.Fields(b) {
		switch name {
		case "text":
			p.Content = &pb.Part_Text{Text: text(v)}
		case "raw":
			raw, err := base64.StdEncoding.DecodeString(text(v))
			if err != nil {
				r.fail("raw", err)
			}
			p.Content = &pb.Part_Raw{Raw: raw}
		case "url":
			p.Content = &pb.Part_Url{Url: text(v)}
		case "data":
			p.Content = &pb.Part_Data{Data: value(v)}
		case "metadata":
			p.Metadata = object(v)
		case "filename":
			p.Filename = text(v)
		case "mediaType":
			p.MediaType = text(v)
		}
	}
	return p
}

func text(v []byte) string {
	s, _ := rawjson.String(v)
	return s
}

func truth(v []byte) bool { return string(v) == "true" }

func list[T any](v []byte, read func([]byte) T) []T {
	var all []T
	for e := range rawjson.Elements(v) {
		all = append(all, read(e))
	}
	return all
}

func object(v []byte) *structpb.Struct {
	s := &structpb.Struct{Fields: make(map[string]*structpb.Value)}
	for name, v := range rawjson.Fields(v) {
		s.Fields[name] = value(v)
	}
	return s
}

func value(v []byte) *structpb.Value {
	switch rawjson.KindOf(v) {
	case rawjson.Text:
		return structpb.NewStringValue(text(v))
	case rawjson.Number:
		f, _ := strconv.ParseFloat(string(v), 64)
		return structpb.NewNumberValue(min(max(f, -math.MaxFloat64), math.MaxFloat64))
	case rawjson.Bool:
		return structpb.NewBoolValue(truth(v))
	case rawjson.Object:
		return structpb.NewStructValue(object(v))
	case rawjson.Array:
		return structpb.NewListValue(&structpb.ListValue{Values: list(v, value)})
	}
	return structpb.NewNullValue()
}
