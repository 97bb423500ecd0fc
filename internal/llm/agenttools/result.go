package agenttools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/suggest"
	"github.com/parley-a2a/parley/llm"
)

// Refuse returns an error that wraps kind, which is ErrNotFound or ErrRefused, and whose
// text is for the model.
func Refuse(kind error, format string, a ...any) error {
	return &refusal{kind, fmt.Sprintf(format, a...)}
}

type refusal struct {
	kind error
	text string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// Unwrap returns the kind.
func (r *refusal) Unwrap() error { return r.kind }

// failed returns an error as the result that it is for the model, or as one that broke the
// call off.
func failed(tool string, err error) (*llm.Result, error) {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrRefused) {
		return problem("%s", sentence(err.Error())), nil
	}
	return nil, fmt.Errorf("%s: %w", tool, err)
}

// sentence returns a text as a sentence.
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

// problem is a result that says what is wrong.
func problem(format string, a ...any) *llm.Result {
	return &llm.Result{Error: true, Parts: []*a2a.Part{a2a.NewTextPart(fmt.Sprintf(format, a...))}}
}

// structured is a result of one data part, whose JSON v is.
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

// words returns what others say as a model may read it. It is the only way by which their
// words get into a result, but for names: those of agents are the hub's, and those of skills
// are checked by named.
func (b *Toolbox) words(whose guard.Origin, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return b.Guard.Quote(whose, text).Text
}

// maxID is how many bytes the id of a skill has at most.
const maxID = 128

// named reports whether the id of a skill is no more than that.
func named(id string) bool { return id != "" && len(id) <= maxID && !guard.Grave(guard.Screen(id)) }

// nearest returns at most n of names that are most like name, the most like first.
func nearest(name string, names []string, n int) []string {
	plain := strings.ToLower(name)
	near := slices.Clone(names)
	slices.SortStableFunc(near, func(a, b string) int {
		return cmp.Compare(suggest.Distance(plain, strings.ToLower(a)), suggest.Distance(plain, strings.ToLower(b)))
	})
	return near[:min(n, len(near))]
}

// quote shows a text of the model, no more than a little of it.
func quote(s string) string { return fmt.Sprintf("%q", clip.Fit(s, 80)) }
