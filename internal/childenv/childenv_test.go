package childenv

import (
	"slices"
	"strings"
	"testing"
)

func TestPassed(t *testing.T) {
	t.Parallel()
	for variable, systems := range map[string]string{
		"PATH=/bin":                "linux windows",
		"Path=C:":                  "windows",
		"SystemRoot=C:":            "windows",
		"LC_ALL=C":                 "linux windows",
		"LC_ALLX":                  "linux windows",
		"TZ=UTC":                   "linux windows",
		"OPENAI_API_KEY=s":         "",
		"PATH_TO_KEY=s":            "",
		"PARLEY_MASTER_KEY=s":      "",
		"DATABASE_URL=postgres://": "",
		"HTTPS_PROXY=http://a:b@c": "",
		"TRACEPARENT=00-":          "",
		"=C:=C:":                   "",
	} {
		for _, system := range []string{"linux", "windows"} {
			if want := slices.Contains(strings.Fields(systems), system); passed(variable, system) != want {
				t.Errorf("%s is passed on %s: %v, want %v", variable, system, !want, want)
			}
		}
	}
}

// The test's own environment acts as that of a hub, so it does not run in parallel.
func TestBase(t *testing.T) {
	t.Setenv("A_SECRET", "s")
	t.Setenv("LANG", "C.UTF-8")
	got := Base()
	if !slices.Contains(got, "LANG=C.UTF-8") || slices.Contains(got, "A_SECRET=s") {
		t.Errorf("Base: %q", got)
	}
}
