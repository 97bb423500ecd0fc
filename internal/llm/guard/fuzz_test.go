package guard

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// For every text, findings lie within it, its label cannot be closed, what is shown of it has no
// needless characters, and the result of Redact has no grave findings.
func FuzzQuote(f *testing.F) {
	for _, file := range []string{"testdata/hostile.yaml", "testdata/harmless.yaml"} {
		for _, s := range samples(f, file) {
			f.Add("agent/"+s.Name, s.Text)
		}
	}
	f.Fuzz(func(t *testing.T, origin, text string) {
		if once := shown(text); shown(once) != once {
			t.Fatalf("%q is shown as %q, and that as %q", text, once, shown(once))
		}
		findings := Screen(text)
		last := 0
		for _, x := range findings {
			if x.Start < last || x.End <= x.Start || x.End > len(text) || x.Rule == "" {
				t.Fatalf("finding %v in %d bytes, after one at %d", x, len(text), last)
			}
			last = x.Start
		}
		for _, p := range []Policy{Mark, Redact, Refuse} {
			q := Guard{Policy: p}.Quote(Origin(origin), text)
			if diff := cmp.Diff(findings, q.Findings); diff != "" {
				t.Fatalf("findings of %s differ:\n%s", p, diff)
			}
			if q.Refused {
				if p == Mark || !Grave(findings) {
					t.Fatalf("%s refuses %q: %v", p, text, findings)
				}
				continue
			}
			body := bodyOf(t, q.Text)
			if opensTag(body) {
				t.Fatalf("%s leaves a mark in %q", p, body)
			}
			if p == Redact && Grave(Screen(body)) {
				t.Fatalf("%q is redacted to %q: %v", text, body, Screen(body))
			}
		}
	})
}
