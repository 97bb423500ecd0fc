package a2ajson

import (
	"encoding/base64"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// AppendMessage appends m (specification §4.1.4). A message without an id gets a new one, and a
// message without a role gets the agent's. Parts are never null. It returns an error that names
// the field if m has a value that JSON cannot express, or a part without content.
func AppendMessage(dst []byte, m *a2a.Message) ([]byte, error) {
	if m == nil {
		return dst, broken("is nil")
	}
	id := m.ID
	if id == "" {
		id = a2a.NewMessageID()
	}
	role := m.Role
	switch role {
	case a2a.MessageRoleUnspecified:
		role = a2a.MessageRoleAgent
	case a2a.MessageRoleAgent, a2a.MessageRoleUser:
	default:
		return dst, Under("role", broken("%q is not a role", string(role)))
	}
	w := appender{out: append(dst, '{')}
	w.text(`"messageId":`, id)
	w.optional(`"contextId":`, m.ContextID)
	w.optional(`"taskId":`, string(m.TaskID))
	w.text(`"role":`, string(role))
	w.parts(m.Parts)
	w.metadata(m.Metadata)
	appendList(&w, `"extensions":`, m.Extensions)
	appendList(&w, `"referenceTaskIds":`, m.ReferenceTasks)
	return w.end(dst)
}

// AppendArtifact appends a (specification §4.1.7). An artifact without an id gets
// a new one. Errors are those of AppendMessage.
func AppendArtifact(dst []byte, a *a2a.Artifact) ([]byte, error) {
	if a == nil {
		return dst, broken("is nil")
	}
	id := a.ID
	if id == "" {
		id = a2a.NewArtifactID()
	}
	if dst == nil {
		dst = make([]byte, 0, artifactSize(a))
	}
	w := appender{out: append(dst, '{')}
	w.text(`"artifactId":`, string(id))
	w.optional(`"name":`, a.Name)
	w.optional(`"description":`, a.Description)
	w.parts(a.Parts)
	w.metadata(a.Metadata)
	appendList(&w, `"extensions":`, a.Extensions)
	return w.end(dst)
}

// artifactSize returns a size that is sufficient for an artifact that has only an id and texts, without
// characters that are escaped.
func artifactSize(a *a2a.Artifact) int {
	n := len(`{"artifactId":"","parts":[]}`) + len(a.ID)
	for _, p := range a.Parts {
		if p == nil {
			continue
		}
		if t, ok := p.Content.(a2a.Text); ok {
			n += len(`{"text":""},`) + len(t)
		}
	}
	return n
}

// AppendMetadata appends m with its names in order (specification §3.2.5). A nil
// map is an empty object.
func AppendMetadata(dst []byte, m map[string]any) ([]byte, error) {
	out, err := appendMap(dst, m, maxValueDepth)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// broken returns an Invalid error about a value of an agent.
func broken(format string, args ...any) *apierror.Error {
	return problem(a2a.ErrInvalidAgentResponse, format, args...)
}

// appender writes one object and keeps its first error.
type appender struct {
	out []byte
	err error
}

func (w *appender) end(dst []byte) ([]byte, error) {
	if w.err != nil {
		return dst, w.err
	}
	return append(w.out, '}'), nil
}

// key begins a member with a name in quotes and its colon.
func (w *appender) key(quoted string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, quoted...)
}

func (w *appender) text(quoted, s string) {
	w.key(quoted)
	w.out = rawjson.AppendString(w.out, s)
}

func (w *appender) optional(quoted, s string) {
	if s != "" {
		w.text(quoted, s)
	}
}

func (w *appender) stop(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *appender) fail(field string, err error) {
	if w.err == nil && err != nil {
		w.err = Under(field, err)
	}
}

func (w *appender) metadata(m map[string]any) {
	if len(m) == 0 {
		return
	}
	w.key(`"metadata":`)
	out, err := appendMap(w.out, m, maxValueDepth)
	w.out = out
	w.fail("metadata", err)
}

func appendList[S ~string](w *appender, quoted string, list []S) {
	if len(list) == 0 {
		return
	}
	w.key(quoted)
	for i, s := range list {
		w.out = append(w.out, "[,"[min(i, 1)])
		w.out = rawjson.AppendString(w.out, string(s))
	}
	w.out = append(w.out, ']')
}

func (w *appender) parts(parts a2a.ContentParts) {
	w.key(`"parts":`)
	w.out = append(w.out, '[')
	for i, p := range parts {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		before := w.err
		w.part(p)
		if before == nil && w.err != nil {
			w.err = Under("parts"+index(i), w.err)
		}
	}
	w.out = append(w.out, ']')
}

func (w *appender) part(p *a2a.Part) {
	if p == nil {
		w.stop(broken("is nil"))
		return
	}
	w.out = append(w.out, '{')
	w.content(p.Content)
	w.optional(`"filename":`, p.Filename)
	w.optional(`"mediaType":`, p.MediaType)
	w.metadata(p.Metadata)
	w.out = append(w.out, '}')
}

func (w *appender) content(c a2a.PartContent) {
	switch c := c.(type) {
	case a2a.Text:
		w.text(`"text":`, string(c))
	case a2a.Raw:
		w.key(`"raw":"`)
		w.out = append(base64.StdEncoding.AppendEncode(w.out, c), '"')
	case a2a.URL:
		if c == "" {
			w.fail("url", broken("must not be empty"))
		}
		w.text(`"url":`, string(c))
	case a2a.Data:
		w.key(`"data":`)
		out, err := appendValue(w.out, c.Value, maxValueDepth)
		w.out = out
		w.fail("data", err)
	default:
		w.stop(broken("has no content"))
	}
}
