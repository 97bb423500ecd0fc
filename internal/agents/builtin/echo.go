package builtin

import (
	"context"
	"slices"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// echoID is the id of echo's only artifact.
const echoID a2a.ArtifactID = "echo"

// maxWords is the largest number of chunks of a text. The chunks of a longer text have several
// words, so that the log of a task stays in proportion to its text.
const maxWords = 1 << 16

// echo yields the parts of the message as chunks of one artifact: a plain text part by words,
// any other part whole. A text part with a file name or metadata also stays whole. Parts that
// are not plain text are returned as the received JSON, because the SDK's structs lose digits
// of numbers, and members that the protocol does not define.
func echo(ctx context.Context, ec *a2asrv.ExecutorContext, yield yieldFunc) {
	parts := echoed(ec.Message)
	if !emit(yield, agent.Status(ec, a2a.TaskStateWorking)) {
		return
	}
	raw := rawParts(ctx, len(parts))
	e := echoer{ec: ec, yield: yield}
	for i, p := range parts {
		last := i == len(parts)-1
		if raw != nil && !plain(raw[i]) {
			if !e.raw(raw[i], last) {
				return
			}
			continue
		}
		if !e.part(p, last) {
			return
		}
	}
	emit(yield, agent.Status(ec, a2a.TaskStateCompleted))
}

// rawParts returns the parts of the message as JSON; nil if they are plain text, or if
// there is no JSON with n parts.
func rawParts(ctx context.Context, n int) [][]byte {
	call := agent.CallFrom(ctx)
	if call == nil {
		return nil
	}
	list := rawjson.Member(call.Message, "parts")
	odd, count := false, 0
	for p := range rawjson.Elements(list) {
		odd, count = odd || !plain(p), count+1
	}
	if !odd || count != n {
		return nil
	}
	return slices.Collect(rawjson.Elements(list))
}

// plain reports whether a part is text, perhaps with a media type, and nothing else.
func plain(part []byte) bool {
	text := false
	for name := range rawjson.Fields(part) {
		switch name {
		case "text":
			text = true
		case "mediaType":
		default:
			return false
		}
	}
	return text
}

// echoed returns the parts to echo, at least one: an artifact must not be empty.
func echoed(m *a2a.Message) []*a2a.Part {
	if m == nil || len(m.Parts) == 0 {
		return []*a2a.Part{a2a.NewTextPart("")}
	}
	return m.Parts
}

// echoer yields the chunks of the artifact.
type echoer struct {
	ec    *a2asrv.ExecutorContext
	yield yieldFunc
	begun bool
}

// part yields the chunks of p, and reports whether to continue. last is set for the last part.
func (e *echoer) part(p *a2a.Part, last bool) bool {
	text, ok := p.Content.(a2a.Text)
	if !ok || p.Filename != "" || p.Metadata != nil {
		return e.chunk(p, last)
	}
	least := len(text) / maxWords
	for rest := text; ; {
		n := wordEnd(string(rest), least)
		word := p
		if n < len(text) {
			word = &a2a.Part{Content: rest[:n], MediaType: p.MediaType}
		}
		rest = rest[n:]
		done := rest == ""
		if !e.chunk(word, last && done) {
			return false
		}
		if done {
			return true
		}
	}
}

func (e *echoer) chunk(p *a2a.Part, last bool) bool {
	// One allocation instead of three: benchmarks of the hub use this agent.
	c := &struct {
		event    a2a.TaskArtifactUpdateEvent
		artifact a2a.Artifact
		parts    [1]*a2a.Part
	}{
		event: a2a.TaskArtifactUpdateEvent{
			TaskID:    e.ec.TaskID,
			ContextID: e.ec.ContextID,
			Append:    e.begun,
			LastChunk: last,
		},
		artifact: a2a.Artifact{ID: echoID},
		parts:    [1]*a2a.Part{p},
	}
	if !e.begun {
		c.artifact.Name = "echo"
	}
	c.artifact.Parts = c.parts[:]
	c.event.Artifact = &c.artifact
	e.begun = true
	return e.yield(&c.event, nil)
}

// raw yields a part that is given as JSON, like chunk.
func (e *echoer) raw(part []byte, last bool) bool {
	b := rawjson.AppendString([]byte(`{"artifactUpdate":{"artifact":{"artifactId":`), string(echoID))
	if !e.begun {
		b = append(b, `,"name":"echo"`...)
	}
	b = append(append(append(b, `,"parts":[`...), part...), `]}`...)
	if e.begun {
		b = append(b, `,"append":true`...)
	}
	if last {
		b = append(b, `,"lastChunk":true`...)
	}
	e.begun = true
	return e.yield(&agent.Raw{JSON: append(b, `}}`...)}, nil)
}

// wordEnd returns the length of the first word of s with its surrounding white space, and of as
// many further words as are needed to exceed least.
func wordEnd(s string, least int) int {
	seen, space := false, false // a word was seen; white space after it was seen
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = seen
		case space && i > least:
			return i
		default:
			seen, space = true, false
		}
	}
	return len(s)
}
