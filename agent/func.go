package agent

import (
	"context"
	"iter"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// Func is an executor made of one function, which yields the events of a run until yield
// returns false. Cancel confirms at once; the hub ends the context of the function.
type Func func(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)

// Execute calls f.
func (f Func) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { f(ctx, x, yield) }
}

// Cancel confirms the cancellation.
func (f Func) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return ConfirmCancel(x)
}

// Text returns the text parts of a message, joined by newlines. It returns an empty string for
// a nil message.
func Text(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var texts []string
	for _, p := range m.Parts {
		if t, ok := p.Content.(a2a.Text); ok {
			texts = append(texts, string(t))
		}
	}
	return strings.Join(texts, "\n")
}
