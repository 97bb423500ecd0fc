package endpoint

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/testing/labeltest"
)

// hostile is a source whose tools report, return and fail with markers.
type hostile struct{}

func (hostile) Changed() <-chan struct{} { return nil }

func (hostile) Tools(context.Context) ([]llm.Tool, error) {
	call := func(r *llm.Result, err error) llm.Tool {
		return llm.Tool{Call: func(_ context.Context, c *llm.Call) (*llm.Result, error) {
			for _, marker := range []string{labeltest.Text, labeltest.Name, strings.Repeat(labeltest.Text, 1000)} {
				c.Progress(llm.Progress{Agent: marker, State: marker, Text: marker})
				c.Progress(llm.Progress{Agent: "hostile", State: "TASK_STATE_WORKING", Text: marker})
			}
			c.Progress(llm.Progress{Agent: "hostile", State: "TASK_STATE_WORKING"})
			c.Progress(llm.Progress{Text: "own"})
			return r, err
		}}
	}
	return []llm.Tool{
		call(&llm.Result{Origin: labeltest.Text, Parts: labeltest.Parts()}, nil),
		call(&llm.Result{Origin: "mcp/a", Error: true, Parts: labeltest.Parts()}, nil),
		call(nil, errors.New(labeltest.Text)),
		call(nil, errors.New(labeltest.Name)),
		call(nil, context.DeadlineExceeded),
		call(new(llm.Result), nil),
		call(nil, nil),
	}, nil
}

// The progress of agents, the errors of calls, and results with an origin are labelled for hosts.
func TestProgressAndErrorsAreLabelled(t *testing.T) {
	t.Parallel()
	for _, policy := range []guard.Policy{guard.Mark, guard.Redact, guard.Refuse} {
		l := &labelled{sources{hostile{}}, guard.Guard{Policy: policy}}
		tools, err := l.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range tools {
			var progress []llm.Progress
			r, err := tools[i].Call(t.Context(), &llm.Call{Progress: func(p llm.Progress) { progress = append(progress, p) }})
			if err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			if n := len(progress); n != 8 || progress[6].Text != "" || progress[7].Text != "own" {
				t.Fatalf("progress %+v", progress)
			}
			labelled := labeltest.Check(t, "the progress", progress)
			if r != nil {
				labeltest.Check(t, "the result", r.Parts)
				text, _ := llm.ToChatText(r.Parts)
				labelled = labelled && (i > 3 || strings.Contains(text.Text(), "<quoted id=") || policy == guard.Refuse)
			}
			if !labelled {
				t.Errorf("policy %s, call %d: %+v, %+v: want labels", policy, i, progress, r)
			}
		}
	}
}

// A call whose caller has gone returns the error, and not a result.
func TestAbortedCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	call := (&labelled{}).wrap(func(ctx context.Context, _ *llm.Call) (*llm.Result, error) {
		cancel()
		return nil, context.Cause(ctx)
	})
	if r, err := call(ctx, new(llm.Call)); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("an aborted call returns %+v, %v", r, err)
	}
}
