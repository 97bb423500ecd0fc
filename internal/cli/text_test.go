package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n", "\x1b[31mred\x1b[0m": "[31mred[0m", "a\rb\x00c\x07\x7f": "abc",
		"\u009b2J": "2J", "grüße 🎉": "grüße 🎉", "bad\xff": "bad\ufffd",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseState(t *testing.T) {
	t.Parallel()
	for _, state := range states {
		for _, s := range []string{stateName(state), string(state), strings.ToUpper(stateName(state))} {
			if got, err := parseState(s); got != state || err != nil {
				t.Errorf("parseState(%q) = %v, %v, want %v", s, got, err, state)
			}
		}
	}
	for _, s := range []string{"", "done", "unspecified"} {
		if got, err := parseState(s); err == nil {
			t.Errorf("parseState(%q) = %v, want an error", s, got)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain-1.2/x:y@z": "plain-1.2/x:y@z", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "ü": "'ü'",
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestSizeName(t *testing.T) {
	t.Parallel()
	for in, want := range map[int]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 20: "5.0 MiB"} {
		if got := sizeName(in); got != want {
			t.Errorf("sizeName(%d) = %s, want %s", in, got, want)
		}
	}
}

// TestSaveFile checks that a file from an agent is saved in the folder, whatever its name is.
func TestSaveFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	for _, tt := range []struct{ name, want string }{
		{"a.txt", "a.txt"},
		{"a.txt", "a-2.txt"},
		{"a.txt", "a-3.txt"},
		{"../../etc/passwd", "passwd"},
		{"/abs/b.txt", "b.txt"},
		{`..\..\c.txt`, "c.txt"},
		{".bashrc", "bashrc"},
		{"", "file"},
		{"..", "file-2"},
		{"x\x1b[0my", "x[0my"},
	} {
		got, _, err := saveFile(dir, tt.name, strings.NewReader(tt.want))
		if err != nil || got != filepath.Join(dir, tt.want) {
			t.Errorf("saveFile(%q) = %s, %v, want %s", tt.name, got, err, tt.want)
		}
		if content, err := os.ReadFile(filepath.Join(dir, tt.want)); err != nil || string(content) != tt.want {
			t.Errorf("saveFile(%q) wrote %q, %v", tt.name, content, err)
		}
	}
	if _, _, err := saveFile(filepath.Join(dir, "a.txt"), "b", strings.NewReader("")); err == nil {
		t.Error("saveFile() into a file = nil, want an error")
	}
}

// TestFileName checks that names from other agents become safe and keep their extension.
func TestFileName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 300)
	for in, want := range map[string]string{
		"report.pdf":                    "report.pdf",
		"two\nlines\r\n.txt":            "two lines  .txt",
		"a\u2028b\u0085c.txt":           "a b c.txt",
		"\x1b]0;title\x07x.txt":         "]0;titlex.txt",
		"photo\u202egpj.exe":            "photogpj.exe",
		"/etc/passwd":                   "passwd",
		`C:\Users\a\b.doc`:              "b.doc",
		"a/..":                          "file",
		"a/../b.txt":                    "b.txt",
		"...":                           "file",
		"\n\t":                          "file",
		"-rf":                           "rf",
		" .ssh/config":                  "config",
		"bad\xff.txt":                   "bad\ufffd.txt",
		long + ".tar":                   long[:maxFileName-4] + ".tar",
		"x." + long:                     ("x." + long)[:maxFileName],
		strings.Repeat("ü", 150) + ".c": strings.Repeat("ü", (maxFileName-2)/2) + ".c",
		strings.Repeat("€", 150) + ".c": strings.Repeat("€", (maxFileName-2)/3) + ".c",
	} {
		got := fileName(in)
		if got != want || len(got) > maxFileName {
			t.Errorf("fileName(%q) = %q (%d bytes), want %q", in, got, len(got), want)
		}
		if _, _, err := saveFile(t.TempDir(), in, strings.NewReader("")); err != nil {
			t.Errorf("saveFile(%q) = %v", in, err)
		}
	}
}

// TestUnsavedFiles checks that a file that cannot be saved does not stop the rest of the reply.
func TestUnsavedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	raw := a2a.NewRawPart([]byte("abc"))
	raw.Filename = "good.txt"
	away := a2a.NewFileURLPart("http://agent/bad", "")
	away.Filename = "bad\x1b.txt"
	w := printer{save: dir, terminal: true, open: func(*a2a.Part) (io.ReadCloser, error) { return nil, errors.New("no such part") }}
	got, err := w.message(a2a.NewMessage(a2a.MessageRoleAgent, away, raw, a2a.NewTextPart("end")))
	want := "[bad.txt, http://agent/bad, not saved]\n[saved " + filepath.Join(dir, "good.txt") + ", 3 B]\nend"
	if got != want || err != nil {
		t.Errorf("message() = %q, %v, want %q", got, err, want)
	}
	if w.unsaved == nil || !strings.Contains(w.unsaved.Error(), "no such part") {
		t.Errorf("unsaved = %v, want the error", w.unsaved)
	}
	w = printer{save: filepath.Join(dir, "good.txt")}
	if got, err := w.part(raw); got != "[good.txt, 3 B, not saved]" || err != nil || w.unsaved == nil {
		t.Errorf("part() for a folder that is a file = %q, %v, unsaved %v", got, err, w.unsaved)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	named := func(p *a2a.Part) *a2a.Part {
		p.Filename, p.MediaType = "n.bin", "x/y"
		return p
	}
	tests := []struct {
		name            string
		part            *a2a.Part
		plain, terminal string
	}{
		{"text", a2a.NewTextPart("a\x1bb"), "a\x1bb", "ab"},
		{"data", a2a.NewDataPart(map[string]any{"k": "<&>"}), `{"k":"<&>"}`, "{\n  \"k\": \"<&>\"\n}"},
		{"null", a2a.NewDataPart(nil), "null", "null"},
		{"raw", named(a2a.NewRawPart([]byte("abc"))), "[n.bin, x/y, 3 B]", "[n.bin, x/y, 3 B]"},
		{"raw without name", a2a.NewRawPart(nil), "[file, 0 B]", "[file, 0 B]"},
		{"url", a2a.NewFileURLPart("http://x/y", "image/png"), "[image/png, http://x/y]", "[image/png, http://x/y]"},
		{"nothing", &a2a.Part{}, "", ""},
	}
	for _, tt := range tests {
		for terminal, want := range map[bool]string{false: tt.plain, true: tt.terminal} {
			w := printer{terminal: terminal}
			if got, err := w.part(tt.part); got != want || err != nil {
				t.Errorf("%s, terminal %v: part() = %q, %v, want %q", tt.name, terminal, got, err, want)
			}
		}
	}
	w := printer{}
	if _, err := w.part(a2a.NewDataPart(func() {})); err == nil {
		t.Error("part() of data that is not JSON = nil, want an error")
	}
}
