package directory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestChangeOf compares cards by their members.
func TestChangeOf(t *testing.T) {
	t.Parallel()
	before := `{"name":"a","version":"1","skills":[{"id":"x","name":"X"},{"id":"y"}],"url":"http://a"}`
	at := time.Unix(1, 0)
	for after, want := range map[string][]string{
		before: nil,
		`{"version":"1","name":"a","url":"http://a","skills":[{"id":"y"},{"name":"X","id":"x"}]}`: nil,
		`{"name":"a\u202e","version":"2","skills":[{"id":"x","name":"X"}],"url":"http://a"}`: {
			`- name: "a"`, `+ name: "a\u202e"`, `- skills.y.id: "y"`, `- version: "1"`, `+ version: "2"`,
		},
	} {
		got := changeOf([]byte(before), []byte(after), at)
		if want == nil {
			if got != nil {
				t.Errorf("changeOf(%s) = %q, want nothing", after, got.Lines)
			}
			continue
		}
		if got == nil {
			t.Fatalf("changeOf(%s) = nil", after)
		}
		if diff := cmp.Diff(want, got.Lines); diff != "" {
			t.Errorf("changeOf(%s) (-want +got):\n%s", after, diff)
		}
	}
	var big strings.Builder
	for i := range 500 {
		fmt.Fprintf(&big, `,"m%d":"%s"`, i, strings.Repeat("x", 1000))
	}
	got := changeOf([]byte(before), []byte(`{"name":"a"`+big.String()+`}`), at)
	if len(got.Lines) != maxChangeLines+1 || len([]rune(got.Lines[9])) > maxChangeLine+1 {
		t.Errorf("a large change has %d lines, the tenth of %d characters", len(got.Lines), len(got.Lines[9]))
	}
}
