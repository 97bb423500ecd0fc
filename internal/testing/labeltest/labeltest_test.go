package labeltest_test

import (
	"encoding/json"
	"testing"

	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/testing/labeltest"
)

func TestOutside(t *testing.T) {
	t.Parallel()
	label := guard.Label(guard.Agent("a"), labeltest.Text)
	within, _ := json.Marshal(map[string]string{"k": label})
	twice, _ := json.Marshal(string(within))
	for text, want := range map[string]string{
		"a":                        "a",
		"a" + label + "b":          "ab",
		label + "b" + label:        "b",
		label[:len(label)-1]:       label[:len(label)-1],
		string(within):             `{"k":""}`,
		string(twice):              `"{\"k\":\"\"}"`,
		labeltest.Text + label:     labeltest.Text,
		`<quoted id="x">a</quoted`: `<quoted id="x">a</quoted`,
	} {
		if got := labeltest.Outside(text); got != want {
			t.Errorf("outside of the labels of %q is %q, want %q", text, got, want)
		}
	}
}

// failures counts the errors of a check.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.n++ }

func TestCheck(t *testing.T) {
	t.Parallel()
	label := guard.Label(guard.Agent("a"), labeltest.Text)
	for _, tt := range []struct {
		v        any
		errors   int
		labelled bool
	}{
		{v: map[string]any{"a": []any{label}}, labelled: true},
		{v: map[string]any{"a": []any{label, labeltest.Text}}, errors: 1, labelled: true},
		{v: map[string]any{labeltest.Name: 1}, errors: 1},
		{v: "XyzzyPlugh", errors: 1},
		{v: guard.Label(guard.Agent("a"), "other")},
	} {
		f := &failures{TB: t}
		if labelled := labeltest.Check(f, "it", tt.v); labelled != tt.labelled || f.n != tt.errors {
			t.Errorf("%v: labelled %v, %d errors, want %v, %d", tt.v, labelled, f.n, tt.labelled, tt.errors)
		}
	}
}
