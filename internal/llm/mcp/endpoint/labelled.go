package endpoint

import (
	"context"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
)

// Offered returns the tools of Tools for a host of MCP: the progress of agents and the errors of
// calls, which a host may show to its model, are labelled as well.
func Offered(box *hubtools.Toolbox, toolbox, bridge bool) llm.Source {
	return &labelled{Tools(box, toolbox, bridge).(sources), box.Guard}
}

// labelled labels the words of others around the results of tools, and in results that have an
// origin.
type labelled struct {
	sources

	guard guard.Guard
}

// Tools implements llm.Source.
func (l *labelled) Tools(ctx context.Context) ([]llm.Tool, error) {
	tools, err := l.sources.Tools(ctx)
	for i := range tools {
		tools[i].Call = l.wrap(tools[i].Call)
	}
	return tools, err
}

type callFunc = func(context.Context, *llm.Call) (*llm.Result, error)

func (l *labelled) wrap(next callFunc) callFunc {
	return func(ctx context.Context, c *llm.Call) (*llm.Result, error) {
		inner := *c
		if c.Progress != nil {
			inner.Progress = func(p llm.Progress) { c.Progress(l.progress(p)) }
		}
		res, err := next(ctx, &inner)
		switch {
		case err != nil && ctx.Err() == nil:
			text := guard.Words("The call was aborted: %s", l.guard.Text(guard.Hub, err.Error()))
			return &llm.Result{Error: true, Parts: []*a2a.Part{a2a.NewTextPart(text.String())}}, nil
		case err != nil || res == nil || res.Origin == "":
			return res, err
		}
		return l.result(res), nil
	}
}

// maxProgress is the largest number of bytes of an agent's status in a progress message.
const maxProgress = 1 << 10

// progress returns the progress of an agent with its words labelled. A name that is not plain is
// left out.
func (l *labelled) progress(p llm.Progress) llm.Progress {
	from := guard.Agent(p.Agent)
	if p.Agent != "" && !guard.IsName(p.Agent) {
		p.Agent = "an agent"
	}
	if p.State != "" && !guard.IsName(p.State) {
		p.State = ""
	}
	if strings.TrimSpace(p.Text) != "" && p.Agent != "" {
		p.Text = l.guard.Text(from, clip.Bytes(p.Text, maxProgress)).String()
	}
	return p
}

// result returns a result whose texts are those of its origin, labelled.
func (l *labelled) result(r *llm.Result) *llm.Result {
	from := guard.Origin("")
	if guard.IsName(r.Origin) {
		from = guard.Origin(r.Origin)
	}
	var texts, files []*a2a.Part
	for _, p := range r.Parts {
		switch p.Content.(type) {
		case a2a.Text, a2a.Data:
			texts = append(texts, p)
		default:
			files = append(files, p)
		}
	}
	out := &llm.Result{Error: r.Error, Question: r.Question, Pending: r.Pending, Files: r.Files}
	if words, _ := llm.ToChatText(texts); len(words) > 0 {
		out.Parts = append(out.Parts, a2a.NewTextPart(l.guard.Text(from, words.Text()).String()))
	}
	out.Parts = append(out.Parts, hubtools.Files(l.guard, from, files)...)
	return out
}
