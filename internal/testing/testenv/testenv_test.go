package testenv

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// fake records whether a test was skipped or failed.
type fake struct {
	testing.TB
	skipped, failed string
}

func (f *fake) Helper() {}

func (f *fake) Skipf(format string, args ...any) { f.skipped = fmt.Sprintf(format, args...) }

func (f *fake) Fatalf(format string, args ...any) { f.failed = fmt.Sprintf(format, args...) }

// The tests below set environment variables, so they do not run in parallel.

func TestMetSkipsAndNamesWhatIsMissing(t *testing.T) {
	t.Setenv(CI, "")
	var f fake
	Met(&f, false, "the moon")
	if want := "the moon is missing"; f.skipped != want {
		t.Errorf("Met skipped with %q, want %q", f.skipped, want)
	}
	if f.failed != "" {
		t.Errorf("Met failed the test: %s", f.failed)
	}
}

func TestMetFailsInContinuousIntegration(t *testing.T) {
	t.Setenv(CI, "1")
	var f fake
	Met(&f, false, "the moon")
	if !strings.Contains(f.failed, "the moon is missing") {
		t.Errorf("Met failed with %q, want it to name the moon", f.failed)
	}
	if f.skipped != "" {
		t.Errorf("Met skipped the test: %s", f.skipped)
	}
}

func TestMetLetsGo(t *testing.T) {
	for _, ci := range []string{"", "1"} {
		t.Setenv(CI, ci)
		var f fake
		Met(&f, true, "the moon")
		if f.skipped != "" || f.failed != "" {
			t.Errorf("PARLEY_CI=%q: Met ended the test: %q %q", ci, f.skipped, f.failed)
		}
	}
}

func TestEnv(t *testing.T) {
	t.Setenv(CI, "")
	t.Setenv("PARLEY_TEST_THING", "")
	var f fake
	Env(&f, "PARLEY_TEST_THING")
	if want := "environment variable PARLEY_TEST_THING is missing"; f.skipped != want {
		t.Errorf("Env skipped with %q, want %q", f.skipped, want)
	}
	t.Setenv("PARLEY_TEST_THING", "here")
	f = fake{}
	if got := Env(&f, "PARLEY_TEST_THING"); got != "here" || f.skipped != "" {
		t.Errorf("Env = %q (skipped %q), want here", got, f.skipped)
	}
}

func TestOS(t *testing.T) {
	t.Setenv(CI, "")
	var f fake
	OS(&f, "plan8", "plan10")
	if want := "operating system plan8 or plan10 is missing"; f.skipped != want {
		t.Errorf("OS skipped with %q, want %q", f.skipped, want)
	}
	f = fake{}
	OS(&f, "plan8", runtime.GOOS)
	if f.skipped != "" {
		t.Errorf("OS skipped on the named system: %s", f.skipped)
	}
}

func TestRoot(t *testing.T) {
	t.Setenv(CI, "")
	var f fake
	Root(&f)
	if isRoot := os.Geteuid() == 0; isRoot != (f.skipped == "") {
		t.Errorf("superuser is %v, Root skipped with %q", isRoot, f.skipped)
	}
}

func TestParallel(t *testing.T) {
	was := flag.Lookup("test.parallel").Value.String()
	t.Cleanup(func() { _ = flag.Set("test.parallel", was) })
	Parallel(23)
	if got := flag.Lookup("test.parallel").Value.String(); got != "23" {
		t.Errorf("-parallel is %s", got)
	}
}
