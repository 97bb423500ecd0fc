package isolation

import (
	"context"
	"encoding/base64"
	"iter"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// vault is an agent that fills a task with marks. A message "done MARK-…" completes
// the task, "ask MARK-…" asks for input, and "hold MARK-…" works until it is canceled.
type vault struct{}

func newVault() a2asrv.AgentExecutor { return agent.With(vault{}, agent.Traits{NoMessage: true}) }

func vaultCard() *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "vault", Description: "keeps things", Version: "1.0.0",
		Skills: []a2a.AgentSkill{{ID: "keep", Name: "keep", Tags: []string{"test"}}},
	}
}

// Execute implements a2asrv.AgentExecutor.
func (vault) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	command, rest, _ := strings.Cut(ec.Message.Parts[0].Text(), " ")
	mark, _, _ := strings.Cut(rest, "-")
	return func(yield func(a2a.Event, error) bool) {
		if !yield(learned(ec, a2a.TaskStateWorking, mark, "working"), nil) || !yield(artifact(ec, mark), nil) {
			return
		}
		switch command {
		case "done":
			yield(learned(ec, a2a.TaskStateCompleted, mark, "final"), nil)
		case "ask":
			yield(learned(ec, a2a.TaskStateInputRequired, mark, "final"), nil)
		default:
			<-ctx.Done()
		}
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (vault) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

func learned(ec *a2asrv.ExecutorContext, s a2a.TaskState, mark, name string) a2a.Event {
	m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(mark+"-"+name))
	m.ID = mark + "-" + name + "id"
	m.Metadata = map[string]any{mark + "-" + name + "key": mark + "-" + name + "value"}
	e := a2a.NewStatusUpdateEvent(ec, s, m)
	e.Metadata = map[string]any{"k": mark + "-" + name + "event"}
	return e
}

// agentMarks are the names of the marks that vault leaves in a task that has ended or waits.
// Marks of a replaced status are in the history.
var agentMarks = []string{
	"final", "finalid", "finalkey", "finalvalue",
	"artifactid", "artifactname", "artifactdescription", "artifactextension", "artifactkey", "artifactvalue",
	"artifacttext", "artifactpart", "artifactdatakey", "artifactdatavalue", "artifactmedia", "artifacturl", "artifactfile",
}

func artifact(ec *a2asrv.ExecutorContext, mark string) a2a.Event {
	m := mark + "-artifact"
	text := a2a.NewTextPart(m + "text")
	text.Metadata = map[string]any{"k": m + "part"}
	data := a2a.NewDataPart(map[string]any{m + "datakey": m + "datavalue"})
	data.MediaType = "application/" + m + "media"
	raw := a2a.NewRawPart(rawMark(mark))
	raw.Filename = m + "file"
	e := a2a.NewArtifactUpdateEvent(ec, a2a.ArtifactID(m+"id"), text, data, raw,
		a2a.NewFileURLPart(a2a.URL("https://example.org/"+m+"url"), "text/plain"))
	e.Append = false
	e.LastChunk = true
	e.Artifact.Name = m + "name"
	e.Artifact.Description = m + "description"
	e.Artifact.Extensions = []string{"https://example.org/" + m + "extension"}
	e.Artifact.Metadata = map[string]any{m + "key": m + "value"}
	e.Metadata = map[string]any{"k": m + "event"}
	return e
}

// rawText is the base64 text of rawMark, as shown in JSON.
func rawText(mark string) string { return mark + "0raw0" }

// rawMark returns bytes whose base64 text contains the mark.
func rawMark(mark string) []byte {
	b, err := base64.StdEncoding.DecodeString(rawText(mark))
	if err != nil {
		panic(err)
	}
	return b
}
