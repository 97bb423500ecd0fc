// Package testenv lets a test state its requirements of the machine.
//
// On a developer's machine a test whose requirement is not met is skipped, and the reason names
// it. In continuous integration (PARLEY_CI=1) the test fails instead: everything is installed
// there, and a silent skip would hide a gap. No test of this project calls Skip in another way;
// a rule of treetest enforces this.
//
// The package also reserves ports for servers that listen later or again, see [ReservePort].
//
// # Concurrency
//
// The functions that skip or fail a test must be called in its goroutine, like those of
// testing.TB.
package testenv

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// CI is the environment variable that turns skips into failures when it is "1".
const CI = "PARLEY_CI"

// Met skips tb unless ok is set, and logs the missing requirement named by what. In continuous
// integration it fails tb instead. It returns only if ok is set.
func Met(tb testing.TB, ok bool, what string) {
	tb.Helper()
	with := ""
	if ok {
		with = "yes"
	}
	met(tb, with, what)
}

// met is Met for a requirement that is met with something, such as the path of a program, or with nothing.
func met(tb testing.TB, with, what string) {
	tb.Helper()
	record(tb, what, with)
	switch {
	case with != "":
	case os.Getenv(CI) == "1":
		tb.Fatalf("%s is missing, and with %s=1 no test may skip", what, CI)
	default:
		tb.Skipf("%s is missing", what)
	}
}

// Asked is the environment variable with the path of a file that receives a line for each requirement
// that a test states: the folder of the package, the test, the requirement, and the program or path that meets it, separated by
// tabs. The last one is empty for a requirement that is not met. .ci/empty reads the file.
const Asked = "PARLEY_ASKED"

// record adds a line to the file that [Asked] names.
func record(tb testing.TB, what, with string) {
	tb.Helper()
	file := os.Getenv(Asked)
	if file == "" {
		return
	}
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join([]string{dir, tb.Name(), what, with}, "\t") + "\n"); err != nil {
		tb.Fatal(err)
	}
}

// Env returns the value of an environment variable, such as the address of a database. If it is
// not set, Env skips or fails tb.
func Env(tb testing.TB, name string) string {
	tb.Helper()
	value := os.Getenv(name)
	Met(tb, value != "", "environment variable "+name)
	return value
}

// Long skips tb outside of continuous integration, because what it does takes minutes on a busy
// machine, so that "go test ./..." stays below the time that go test allows for a package.
func Long(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv(CI) != "1" {
		tb.Skipf("%s takes long; %s=1 runs it", what, CI)
	}
}

// Night is the environment variable that runs the tests of [Nightly] when it is "1".
const Night = "PARLEY_NIGHTLY"

// Nightly skips tb unless .ci/nightly runs it: it repeats at greater length what another test proves, or takes so
// long that it would delay every change. Continuous integration skips it as well.
func Nightly(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv(Night) != "1" {
		tb.Skipf("%s is for each night; %s=1 runs it", what, Night)
	}
}

// Root skips or fails tb unless it has the rights of the superuser.
func Root(tb testing.TB) {
	tb.Helper()
	Met(tb, os.Geteuid() == 0, "the superuser's right")
}

// OS skips or fails tb unless it runs on one of the named operating systems, spelled as in
// runtime.GOOS.
func OS(tb testing.TB, names ...string) {
	tb.Helper()
	Met(tb, slices.Contains(names, runtime.GOOS), "operating system "+strings.Join(names, " or "))
}
