package hubtools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
	"github.com/parley-a2a/parley/internal/testing/labeltest"
)

// hostile is a source whose agent has markers in all fields of its card and of its replies.
type hostile struct{ marker string }

func (h hostile) Agents(context.Context) ([]adminjson.Agent, error) {
	m := h.marker
	a := adminjson.Agent{Name: m, Title: m, Description: m, InputModes: []string{m, "image/" + m, "audio/" + m}, OutputModes: []string{m}}
	a.Skills = []adminjson.Skill{
		{ID: m, Name: m, Description: m},
		{ID: m + "2", Name: m, InputModes: []string{m, "*/*"}, OutputModes: []string{m}},
		{ID: m + "3"},
	}
	return []adminjson.Agent{a}, nil
}

func (h hostile) Send(_ context.Context, s *hubclient.Send) (*hubclient.Sent, error) {
	sent := &hubclient.Sent{Agent: h.marker}
	switch text := s.Parts[0].Text(); text {
	case "message":
		sent.Message = a2a.NewMessage(a2a.MessageRoleAgent, labeltest.Parts()...)
		sent.Message.ContextID = h.marker
	default:
		sent.Task = &a2a.Task{ID: a2a.TaskID(h.marker), ContextID: h.marker, Metadata: map[string]any{h.marker: h.marker}, Status: a2a.TaskStatus{
			State: a2a.TaskState(text), Message: a2a.NewMessage(a2a.MessageRoleAgent, labeltest.Parts()...),
		}}
		for _, p := range labeltest.Parts() { // each part is the first one once
			sent.Task.Artifacts = append(sent.Task.Artifacts, &a2a.Artifact{
				ID: a2a.ArtifactID(h.marker), Name: h.marker, Description: h.marker, Parts: a2a.ContentParts{p},
			})
		}
	}
	return sent, nil
}

func (h hostile) Cancel(context.Context, a2a.TaskID) (*hubclient.Sent, error) { return nil, nil }

// No text of a hostile agent or card is in a tool or in its result without a label.
func TestNoSkillShowsUnlabelledText(t *testing.T) {
	t.Parallel()
	for _, policy := range []guard.Policy{guard.Mark, guard.Redact, guard.Refuse} {
		for _, marker := range []string{labeltest.Text, labeltest.Name} {
			b := &hubtools.Bridge{Source: hostile{marker}, Box: &hubtools.Toolbox{Guard: guard.Guard{Policy: policy}}}
			tools, err := b.Tools(t.Context())
			if err != nil || len(tools) != 3 {
				t.Fatalf("Tools = %v, %v", tools, err)
			}
			labelled := 0
			for i := range tools {
				labelled += checkTool(t, &tools[i])
			}
			if policy == guard.Mark && labelled == 0 {
				t.Errorf("no tool shows %q", marker)
			}
		}
	}
}

// checkTool checks a tool and its results, and returns the number of those with a labelled text.
func checkTool(t *testing.T, tool *llm.Tool) int {
	t.Helper()
	name := strings.TrimPrefix(tool.Name, hubtools.Prefix)
	if strings.Contains(name, "ignore_all") {
		t.Errorf("the name of the tool is %s", tool.Name)
	}
	// The words of the text marker are plain in a name.
	name = strings.ReplaceAll(name, "the_xyzzyplugh_of_others", "")
	labeltest.Check(t, tool.Name, []any{name, tool.Title, tool.Description, tool.Input, tool.Output})
	n := 0
	for _, query := range []string{
		"message", string(a2a.TaskStateCompleted), string(a2a.TaskStateFailed), string(a2a.TaskStateInputRequired),
		string(a2a.TaskStateAuthRequired), string(a2a.TaskStateWorking),
	} {
		arguments, _ := json.Marshal(map[string]string{"query": query})
		r, err := tool.Call(context.Background(), &llm.Call{Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		mcp, _ := llm.ToMCPResult(r.Parts, r.Error)
		text, _ := llm.ToChatText(r.Parts)
		labeltest.Check(t, query+" at MCP", mcp)
		if labeltest.Check(t, query, text.Text()) {
			n++
		}
	}
	wrong, err := tool.Call(context.Background(), &llm.Call{Arguments: []byte(`{"query":"a","skill":"b"}`)})
	if err != nil || !wrong.Error {
		t.Errorf("a call with a skill = %v, %v", wrong, err)
	}
	labeltest.Check(t, "a mistake", wrong.Parts)
	return n
}

// Each part may be the first file, whose address and media type are members of the result.
func TestFirstFileIsLabelled(t *testing.T) {
	t.Parallel()
	for _, p := range labeltest.Parts() {
		one := oneFile{part: p}
		tools, err := (&hubtools.Bridge{Source: one, Box: new(hubtools.Toolbox)}).Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := tools[0].Call(t.Context(), &llm.Call{Arguments: []byte(`{"query":"a"}`)})
		if err != nil {
			t.Fatal(err)
		}
		mcp, _ := llm.ToMCPResult(r.Parts, r.Error)
		labeltest.Check(t, "the result", mcp)
	}
}

// oneFile is a source whose agent replies with one part.
type oneFile struct {
	hubtools.Source
	part *a2a.Part
}

func (o oneFile) Agents(context.Context) ([]adminjson.Agent, error) {
	return []adminjson.Agent{{Name: "one", Skills: []adminjson.Skill{{ID: "file"}}}}, nil
}

func (o oneFile) Send(context.Context, *hubclient.Send) (*hubclient.Sent, error) {
	return &hubclient.Sent{Agent: "one", Message: a2a.NewMessage(a2a.MessageRoleAgent, o.part)}, nil
}
