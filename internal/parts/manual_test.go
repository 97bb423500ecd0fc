package parts_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	_ "github.com/parley-a2a/parley/internal/testing/allparts"
)

// TestManualOfSystems: each parley.yaml of docs/systems.md loads.
func TestManualOfSystems(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/systems.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(manual, -1)
	var found int
	for _, b := range blocks {
		if regexp.MustCompile(`^# agents\.yaml\n`).Match(b[1]) {
			continue
		}
		found++
		if _, err := config.Parse("parley.yaml", b[1], func(string) (string, bool) { return "", false }); err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
	}
	if found != 4 {
		t.Errorf("the manual has %d configurations, want one for each system", found)
	}
}
