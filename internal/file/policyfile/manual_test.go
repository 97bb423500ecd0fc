package policyfile_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/file/policyfile"
	"github.com/parley-a2a/parley/internal/policy"
)

// The example of the manual is a valid policy, its tests pass, and the manual names every
// operation.
func TestManual(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(# policy\\.yaml\n.*?)```").FindAllSubmatch(manual, -1)
	if len(blocks) != 1 {
		t.Fatalf("the manual has %d policies, want one", len(blocks))
	}
	p, err := policyfile.Parse("policy.yaml", blocks[0][1], noVariables)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Check() {
		t.Errorf("%s: %s", f.At, f.Text)
	}
	if p.Tests() < 9 {
		t.Errorf("the example has %d tests", p.Tests())
	}
	for _, o := range policy.Ops() {
		if !strings.Contains(string(manual), "`"+o.String()+"`") {
			t.Errorf("the manual does not name %s", o)
		}
	}
}
