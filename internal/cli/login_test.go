package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestKeyStaysWithItsHub checks that the key of a context is sent to the address that it was saved
// with, and to no other, however a command gets the other address.
func TestKeyStaysWithItsHub(t *testing.T) {
	t.Parallel()
	mine, own := fakeHub(t, 200, `{"agents":[]}`)
	other, foreign := fakeHub(t, 200, `{"agents":[]}`)
	usual, unnamed := fakeHub(t, 200, `{"agents":[]}`)
	dir := t.TempDir()
	env := map[string]string{}
	o := OS{
		ConfigDir: func() (string, error) { return dir, nil },
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		home:      usual,
	}
	if code, _, errs := invoke(t, o, "login", mine, "--api-key", "secret"); code != 0 {
		t.Fatalf("login = %d, %s", code, errs)
	}
	*own = nil
	for _, args := range [][]string{{"agents", "list"}, {"agents", "list", "--url", mine}, {"agents", "list", "--url=" + mine + "/"}} {
		if code, _, errs := invoke(t, o, args...); code != 0 {
			t.Errorf("%q = %d, %s", args, code, errs)
		}
	}
	for _, args := range [][]string{
		{"agents", "list", "--url", other},
		{"send", "--url", other, "x"},
		{"card", other},
		{"check", other},
		{"card", other, "--url", mine},
		{"check", "--url", mine, other},
		{"card", other, "--url", ""},
	} {
		invoke(t, o, args...)
	}
	env["PARLEY_URL"] = other
	invoke(t, o, "agents", "list")
	invoke(t, o, "card", "")
	invoke(t, o, "complete", "--", "agents", "show", "a")
	env["PARLEY_URL"], env["PARLEY_API_KEY"] = "", "foreign"
	invoke(t, o, "agents", "list")
	invoke(t, o, "complete", "--", "agents", "show", "a")
	if len(*own) != 3 || len(*foreign) < 6 || len(*unnamed) != 2 {
		t.Errorf("%d, %d and %d requests", len(*own), len(*foreign), len(*unnamed))
	}
	for _, r := range *own {
		if !strings.HasSuffix(r, " Bearer secret") {
			t.Errorf("%s: sent without the key", r)
		}
	}
	for _, r := range slices.Concat(*foreign, *unnamed) {
		if strings.Contains(r, "secret") {
			t.Errorf("%s: sent to another hub", r)
		}
	}
}
