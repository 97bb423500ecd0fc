package adminapi_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/adminapi"
)

// Every path of the manual of the package belongs to a family that says what the policy is
// asked.
func TestFamilies(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("adminapi.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^//\s+[A-Z, ]+/api/v1/([a-z]+)`).FindAllStringSubmatch(string(src), -1)
	if len(found) < 20 {
		t.Fatalf("found %d paths in the manual", len(found))
	}
	families := adminapi.Families()
	for _, m := range found {
		if !slices.Contains(families, m[1]) {
			t.Errorf("/api/v1/%s has no family, so that a policy lets administrators alone do it: %s", m[1], strings.TrimSpace(m[0]))
		}
	}
}
