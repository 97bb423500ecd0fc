// Package testenv lets a test say what it asks of the machine that it runs on.
//
// On a developer's machine a test whose need is not met is skipped, and the reason
// names what is missing. In continuous integration (PARLEY_CI=1) it fails instead:
// there, everything is installed, and a silent skip would hide a hole. No test of
// this project calls Skip in another way; a test of the tree holds that rule.
//
// It also reserves ports for servers that listen later or again, see [ReservePort].
//
// # Concurrency
//
// The functions that skip or fail a test belong to its goroutine, like testing.TB itself.
package testenv

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// CI is the environment variable that turns skips into failures when it is "1".
const CI = "PARLEY_CI"

// Met skips tb unless ok, saying that what is missing; in continuous integration
// it fails tb. It returns only if ok.
func Met(tb testing.TB, ok bool, what string) {
	tb.Helper()
	switch {
	case ok:
	case os.Getenv(CI) == "1":
		tb.Fatalf("%s is missing, and with %s=1 no test may skip", what, CI)
	default:
		tb.Skipf("%s is missing", what)
	}
}

// Tool returns the path of the program name, which tb needs.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	Met(tb, err == nil, "program "+name)
	return path
}

// Env returns the value of an environment variable that tb needs, such as the
// address of a database.
func Env(tb testing.TB, name string) string {
	tb.Helper()
	value := os.Getenv(name)
	Met(tb, value != "", "environment variable "+name)
	return value
}

// Root says that tb needs the rights of the superuser.
func Root(tb testing.TB) {
	tb.Helper()
	Met(tb, os.Geteuid() == 0, "the superuser's right")
}

// OS says that tb needs one of the named operating systems, spelled as
// runtime.GOOS spells them.
func OS(tb testing.TB, names ...string) {
	tb.Helper()
	Met(tb, slices.Contains(names, runtime.GOOS), "operating system "+strings.Join(names, " or "))
}
