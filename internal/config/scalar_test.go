package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
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
		err := got.SetText(tt.text, `never:"true"`)
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
		err := got.SetText(tt.text, "")
		if (err != nil) != (tt.want == -1) || err == nil && got != tt.want {
			t.Errorf("size %q = %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	known := yamlfile.FieldsOf(reflect.TypeFor[Agent]())
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
		if got := known.Suggest(name); got != want {
			t.Errorf("Suggest(%.20q) = %q, want %q", name, got, want)
		}
	}
}

// The decoder neither panics nor hangs, and each problem names the file.
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
