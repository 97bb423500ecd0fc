package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want time.Duration // -2 means an error
	}{
		{"0", 0},
		{"0s", 0},
		{"30s", 30 * time.Second},
		{"1h30m", 90 * time.Minute},
		{"250ms", 250 * time.Millisecond},
		{"1d", 24 * time.Hour},
		{"1.5d", 36 * time.Hour},
		{"2d6h", 54 * time.Hour},
		{"never", -1},
		{"", -2},
		{"30", -2},
		{"-1s", -2},
		{"-1d", -2},
		{"d", -2},
		{"1dd", -2},
		{"1d-1h", -2},
		{"NaNd", -2},
		{"1e300d", -2},
		{"9999999h", -2},
		{"soon", -2},
	} {
		var got Duration
		err := setScalar(reflect.ValueOf(&got).Elem(), tt.text, `never:"true"`)
		if (err != nil) != (tt.want == -2) || err == nil && time.Duration(got) != tt.want {
			t.Errorf("duration %q = %v, %v, want %v", tt.text, time.Duration(got), err, tt.want)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want Size // -1 means an error
	}{
		{"0", 0},
		{"17", 17},
		{"17B", 17},
		{"2KiB", 2048},
		{"10MiB", 10 << 20},
		{"1 GiB", 1 << 30},
		{"2kB", 2000},
		{"3MB", 3e6},
		{"1GB", 1e9},
		{"", -1},
		{"B", -1},
		{"-1", -1},
		{"1.5MiB", -1},
		{"10M", -1},
		{"10mib", -1},
		{"9999999999GiB", -1},
	} {
		var got Size
		err := setScalar(reflect.ValueOf(&got).Elem(), tt.text, "")
		if (err != nil) != (tt.want == -1) || err == nil && got != tt.want {
			t.Errorf("size %q = %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
}

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
		{"${}", "", "is not the name of a variable"},
		{"${1A}", "", "is not the name of a variable"},
		{"${A-b}", "", "is not the name of a variable"},
		{"${A:-${B}}", "", "must not contain another variable"},
	} {
		got, err := interpolate(tt.in, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("interpolate(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("interpolate(%q) = %q, %v, want an error with %q", tt.in, got, err, tt.err)
		}
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	known := fieldsOf(reflect.TypeFor[Agent]())
	for name, want := range map[string]string{
		"comand":                          "command",
		"Timeout":                         "timeout",
		"input_modes":                     "inputModes",
		"max-output":                      "max_output",
		"desc":                            "",
		"xyz":                             "",
		strings.Repeat("description", 50): "",
	} {
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got := known.suggest(name); got != want {
			t.Errorf("suggest(%.20q) = %q, want %q", name, got, want)
		}
	}
}

// What was written with $$ for each dollar sign comes out as it was meant, and
// nothing else is touched.
func FuzzInterpolate(f *testing.F) {
	for _, seed := range []string{"", "$", "$$", "${A}", "${A:-b}", "$${A}", "a${", "${A:-${A}}", "$a{"} {
		f.Add(seed)
	}
	lookup := func(name string) (string, bool) { return "<" + name + ">", name != "NONE" }
	f.Fuzz(func(t *testing.T, s string) {
		got, err := interpolate(strings.ReplaceAll(s, "$", "$$"), lookup)
		if err != nil || got != s {
			t.Errorf("interpolate of %q with its dollar signs doubled = %q, %v", s, got, err)
		}
		got, err = interpolate(s, lookup)
		switch {
		case err == nil && !strings.Contains(s, "$$") && !strings.Contains(s, "${") && got != s:
			t.Errorf("interpolate(%q) = %q, want it unchanged", s, got)
		case err != nil && !strings.Contains(s, "${"):
			t.Errorf("interpolate(%q) = %v, but it has no variable", s, err)
		case err != nil && got != "":
			t.Errorf("interpolate(%q) = %q with error %v", s, got, err)
		}
	})
}

// No file makes the decoder panic or hang, and each problem names the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"listen: :1", "agents:\n- name: a\n  command: [x]\n", "a: &a [*a]", "log: {level: ${X}}", "? [a]\n: b",
		"<<: *x", "!!map {}", "- - -", "limits: {body: 1MiB}\n---\n", "\"a\": 'b'", "agents: &x\n- <<: *x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := Parse("parley.yaml", src, func(string) (string, bool) { return "", false })
		if (c == nil) == (err == nil) {
			t.Fatalf("Parse(%q) = %v, %v", src, c, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "parley.yaml:") {
			t.Errorf("Parse(%q) = %v, which does not name the file", src, err)
		}
	})
}
