package testenv

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The tests that set environment variables do not run in parallel.

func TestTool(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "asked")
	t.Setenv("PATH", dir)
	t.Setenv(CI, "")
	t.Setenv(Asked, list)
	f := fake{TB: t}
	Tool(&f, "socat")
	if want := "program socat (apt-get install socat) is missing"; f.skipped != want {
		t.Errorf("Tool skipped with %q, want %q", f.skipped, want)
	}
	name := "socat"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f = fake{TB: t}
	if got := Tool(&f, "socat"); got != path || f.skipped != "" {
		t.Errorf("Tool = %q (skipped %q), want %q", got, f.skipped, path)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(list)
	asked := here + "\tTestTool\tprogram socat (apt-get install socat)\t"
	if want := asked + "\n" + asked + path + "\n"; err != nil || string(got) != want {
		t.Errorf("the list of requirements is %q, %v, want %q", got, err, want)
	}
}

func TestMade(t *testing.T) {
	t.Setenv(CI, "")
	f := fake{TB: t}
	Made(&f, "no/such/.venv")
	if want := "no/such/.venv (.ci/venvs) is missing"; f.skipped != want {
		t.Errorf("Made skipped with %q, want %q", f.skipped, want)
	}
}

// TestPrograms: the check installs each program that tests ask for, and each name has its remedy.
func TestPrograms(t *testing.T) {
	t.Parallel()
	check, err := os.ReadFile(filepath.Join(root(t), ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	_, installs, _ := strings.Cut(string(check), "\npackages() {\n")
	installs, _, _ = strings.Cut(installs, "\n}\n")
	for name, p := range programs {
		packages, debian := strings.CutPrefix(p.install, "apt-get install ")
		for pkg := range strings.FieldsSeq(packages) {
			if debian && !regexp.MustCompile(`[( ]`+pkg+`[) ;]`).MatchString(installs) {
				t.Errorf(".ci/run does not install %s for the program %s", pkg, name)
			}
		}
	}
}
