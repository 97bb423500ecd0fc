package yamlfile

import (
	"errors"
	"strings"
	"testing"
)

func TestInterpolate(t *testing.T) {
	t.Parallel()
	env := map[string]string{"A": "alpha", "EMPTY": "", "DOLLAR": "${A} $$", "_x9": "nine"}
	for _, tt := range []struct {
		in, want, err string
	}{
		{"", "", ""},
		{"plain", "plain", ""},
		{"${A}", "alpha", ""},
		{"<${A}${_x9}>", "<alphanine>", ""},
		{"${EMPTY}", "", ""},
		{"${EMPTY:-x}", "x", ""},
		{"${NONE:-}", "", ""},
		{"${NONE:-a:-b$c}", "a:-b$c", ""},
		{"${DOLLAR}", "${A} $$", ""},
		{"$$", "$", ""},
		{"$${A}", "${A}", ""},
		{"$$$$", "$$", ""},
		{"$A $1 $(x) $", "$A $1 $(x) $", ""},
		{"${NONE}", "", "variable NONE is not set"},
		{"${A", "", "is not closed"},
		{"${}", "", "invalid variable name"},
		{"${1A}", "", "invalid variable name"},
		{"${A-b}", "", "invalid variable name"},
		{"${A:-${B}}", "", "cannot contain another variable"},
	} {
		got, err := interpolate(tt.in, sources{lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("Interpolate(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("Interpolate(%q) = %q, %v, want an error with %q", tt.in, got, err, tt.err)
		}
	}
}

// A text in which each dollar sign was written as $$ is restored, and texts without dollar
// signs are unchanged.
func FuzzInterpolate(f *testing.F) {
	for _, seed := range []string{"", "$", "$$", "${A}", "${A:-b}", "$${A}", "a${", "${A:-${A}}", "$a{"} {
		f.Add(seed)
	}
	lookup := func(name string) (string, bool) { return "<" + name + ">", name != "NONE" }
	f.Fuzz(func(t *testing.T, s string) {
		got, err := interpolate(strings.ReplaceAll(s, "$", "$$"), sources{lookup: lookup})
		if err != nil || got != s {
			t.Errorf("interpolate of %q with its dollar signs doubled = %q, %v", s, got, err)
		}
		got, err = interpolate(s, sources{lookup: lookup})
		switch {
		case err == nil && !strings.Contains(s, "$$") && !strings.Contains(s, "${") && got != s:
			t.Errorf("Interpolate(%q) = %q, want it unchanged", s, got)
		case err != nil && !strings.Contains(s, "${"):
			t.Errorf("Interpolate(%q) = %v, but it has no variable", s, err)
		case err != nil && got != "":
			t.Errorf("Interpolate(%q) = %q with error %v", s, got, err)
		}
	})
}

// TestFiles: a file reference is replaced by the unmodified content, where that is allowed.
func TestFiles(t *testing.T) {
	t.Parallel()
	read := func(path string) (string, error) {
		if path == "keys/a b:-c" {
			return "s3cret ${HOME} $$", nil
		}
		return "", errors.New("no such file")
	}
	none := func(string) (string, bool) { return "", false }
	for _, tt := range []struct {
		in, want, err string
		read          func(string) (string, error)
	}{
		{"<${file:keys/a b:-c}>", "<s3cret ${HOME} $$>", "", read},
		{"$${file:keys/a b:-c}", "${file:keys/a b:-c}", "", read},
		{"${file:x}", "", "file x: no such file", read},
		{"${file:}", "", "names no file", read},
		{"${file:x", "", "is not closed", read},
		{"${file:keys/a b:-c}", "", "${file:…} is not expanded here", nil},
		{"${FILE:x}", "", "invalid variable name", read},
	} {
		got, err := interpolate(tt.in, sources{lookup: none, read: tt.read})
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q = %q, %v, want %q, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
	for in, want := range map[string]bool{
		"${A}": true, "${file:a/b}": true, "${A}x": false, "s3cret": false, "${A}${B}": false, "${s3cret!}": false, "${A:-s3cret}": false,
	} {
		if got := IsReference(in); got != want {
			t.Errorf("IsReference(%q) = %v", in, got)
		}
	}
}
