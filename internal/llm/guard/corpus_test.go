package guard

import (
	"os"
	"testing"

	"github.com/goccy/go-yaml"
)

// sample is a text of the corpus.
type sample struct {
	Name, Text string
	// Missed is set if the screen does not find a hostile text, Found if it finds a harmless
	// one.
	Missed, Found bool
}

func samples(t testing.TB, file string) []sample {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := yaml.UnmarshalWithOptions(b, &all, yaml.Strict()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

// The test measures the rates of the screen. The corpus records the misses and the false
// alarms: a text whose result changes fails the test in either direction.
func TestCorpus(t *testing.T) {
	t.Parallel()
	hostile, harmless := samples(t, "testdata/hostile.yaml"), samples(t, "testdata/harmless.yaml")
	hits, alarms, marks := 0, 0, 0
	for _, s := range hostile {
		found := Grave(Screen(s.Text))
		if found == s.Missed {
			t.Errorf("hostile %q: found %v, want %v: %v", s.Name, found, !s.Missed, Screen(s.Text))
		}
		if found {
			hits++
		}
	}
	for _, s := range harmless {
		findings := Screen(s.Text)
		if Grave(findings) != s.Found {
			t.Errorf("harmless %q: found %v, want %v: %v", s.Name, !s.Found, s.Found, findings)
		}
		if Grave(findings) {
			alarms++
		} else if len(findings) > 0 {
			marks++
			t.Logf("harmless %q has slight findings: %v", s.Name, findings)
		}
	}
	t.Logf("%d of %d hostile texts are found; of %d harmless ones %d are found, and %d have slight findings",
		hits, len(hostile), len(harmless), alarms, marks)
	if len(hostile) < 60 || len(harmless) < 60 {
		t.Errorf("%d hostile and %d harmless texts, want at least 60 of each", len(hostile), len(harmless))
	}
	if hits*100 < 85*len(hostile) || alarms*100 > 6*len(harmless) {
		t.Errorf("%d of %d hits, %d of %d false alarms: want at least 85 %% and at most 6 %%", hits, len(hostile), alarms, len(harmless))
	}
}
