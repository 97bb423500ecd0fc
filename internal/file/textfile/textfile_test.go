package textfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/file/textfile"
)

func TestUTF8(t *testing.T) {
	t.Parallel()
	const mark = "\xef\xbb\xbf"
	for _, tt := range []struct{ src, want, err string }{
		{"", "", ""},
		{"a: ü\n", "a: ü\n", ""},
		{mark, "", ""},
		{mark + "a: ü\n", "a: ü\n", ""},
		{"a: " + mark + "b", "a: " + mark + "b", ""},
		{"a: b\nc: caf\xe9\n", "", "line 2: the byte 0xe9 is not UTF-8; save the file as UTF-8"},
		{mark + "\xe4", "", "line 1: the byte 0xe4 is not UTF-8; save the file as UTF-8"},
		{"a\uFFFD\n\xc3", "", "line 2: the byte 0xc3 is not UTF-8; save the file as UTF-8"},
		{"\xff\xfea\x00", "", textfile.ErrUTF16.Error()},
		{"\xfe\xff\x00a", "", textfile.ErrUTF16.Error()},
		{"a\x00:\x00", "", textfile.ErrUTF16.Error()},
		{"\x00a\x00:", "", textfile.ErrUTF16.Error()},
	} {
		got, err := textfile.UTF8([]byte(tt.src))
		if string(got) != tt.want || err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
			t.Errorf("UTF8(%q): %q, %v, want %q, %q", tt.src, got, err, tt.want, tt.err)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for src, want := range map[string]string{"\xef\xbb\xbf{}": "{}", "0\x82": "0\x82"} {
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := textfile.Read(path); err != nil || string(got) != want {
			t.Errorf("Read of %q: %q, %v", src, got, err)
		}
	}
	if err := os.WriteFile(path, []byte("\xff\xfe{\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := textfile.Read(path); !errors.Is(err, textfile.ErrUTF16) {
		t.Errorf("Read of UTF-16: %v", err)
	}
}
