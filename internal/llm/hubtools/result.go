package hubtools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/suggest"
)

// failed converts an error to a result for the model, or to an error that aborts the call.
func failed(g guard.Guard, tool string, err error) (*llm.Result, error) {
	if errors.Is(err, hubclient.ErrNotFound) || errors.Is(err, hubclient.ErrRefused) {
		return problem("%s", reason(g, err)), nil
	}
	return nil, fmt.Errorf("%s: %w", tool, err)
}

// reason returns the text of an error that wraps hubclient.ErrNotFound or ErrRefused, for a model.
// An answer of the hub is labelled, because it may repeat words of agents and cards.
func reason(g guard.Guard, err error) string {
	if hubclient.IsAnswer(err) {
		return "The hub does not do this. Its answer: " + g.Quote(guard.Hub, sentence(err.Error())).Text
	}
	return sentence(err.Error())
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// problem returns a result with an error text for the model.
func problem(format string, a ...any) *llm.Result {
	return &llm.Result{Error: true, Parts: []*a2a.Part{a2a.NewTextPart(fmt.Sprintf(format, a...))}}
}

func structured(v any) (*llm.Result, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var plain map[string]any
	if err := json.Unmarshal(b, &plain); err != nil {
		return nil, err
	}
	return &llm.Result{Parts: []*a2a.Part{a2a.NewDataPart(plain)}}, nil
}

// label returns foreign text in labelled form. All foreign text in a result passes through it,
// except names: those of agents are the hub's, and guard.IsName checks all others.
func (b *Toolbox) label(author guard.Origin, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return b.Guard.Quote(author, text).Text
}

// nearest returns the n names that are most similar to name, the most similar first.
func nearest(name string, names []string, n int) []string {
	plain := strings.ToLower(name)
	near := slices.Clone(names)
	slices.SortStableFunc(near, func(a, b string) int {
		return cmp.Compare(suggest.Distance(plain, strings.ToLower(a)), suggest.Distance(plain, strings.ToLower(b)))
	})
	return near[:min(n, len(near))]
}

// quote returns a shortened, quoted text of the model.
func quote(s string) string { return fmt.Sprintf("%q", clip.Fit(s, 80)) }
