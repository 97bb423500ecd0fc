package memory

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for key, ok := range map[string]bool{
		"a": true, "session/main/plan": true, "a/b.c/..d": true, "ä/ü ö": true,
		"": false, "/a": false, "a/": false, "a//b": false, "a/../b": false, "..": false, "a/.": false,
		"a\nb": false, "a/\x00": false, "\xff": false, "a\u202eb": false,
		strings.Repeat("a", MaxSegment): true, strings.Repeat("a", MaxSegment+1): false,
		strings.Repeat("a", 1<<20): false, strings.Repeat("a/", 16) + "a": false, strings.Repeat("a/", 15) + "a": true,
	} {
		err := CheckKey(key)
		if (err == nil) != ok || err != nil && !errors.Is(err, ErrKey) {
			t.Errorf("CheckKey(%.40q) = %v, want ok: %v", key, err, ok)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("CheckKey(%.40q) says %d bytes", key, len(err.Error()))
		}
	}
}

// The error about a key explains the correct form.
func TestKeyErrorsNameTheRemedy(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"":                         "it is empty; name it like session/main/plan",
		"session/../other/plan":    `has the segment ".."; write the whole key`,
		"a//b":                     `"a//b" has an empty segment; one slash between two names is enough`,
		strings.Repeat("k", 1<<20): "it has 1048576 bytes; the maximum is 512",
		strings.Repeat("k", 200):   "a segment has 200 bytes; the maximum is 160",
		strings.Repeat("k/", 20):   "it has 21 segments; the maximum is 16",
		"a\x00b":                   "it has a character that cannot be printed",
	} {
		if err := CheckKey(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckKey(%.40q) = %v, want %q", key, err, want)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	t.Parallel()
	for prefix, ok := range map[string]bool{
		"": true, "a": true, "a/": true, "a/b": true, "a/.": true, "/": false, "a//": false, "../": false, "a/../b": false,
	} {
		if err := CheckPrefix(prefix); (err == nil) != ok {
			t.Errorf("CheckPrefix(%q) = %v, want ok: %v", prefix, err, ok)
		}
	}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"a": "", "a/b": "a", "a/b/c": "a/b", "a/b/c/d": "a/b"} {
		if got := Namespace(key); got != want {
			t.Errorf("Namespace(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestSegment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"abc-1.2_ä": "abc-1.2_ä", "..": "%2E%2E", ".": "%2E", "a/b": "a%2Fb", "50%": "50%25", "": "%", "a b": "a%20b", "\xff": "%FF",
	} {
		if got := Segment(text); got != want {
			t.Errorf("Segment(%q) = %q, want %q", text, got, want)
		}
	}
}

// A valid key consists of plain segments, and every result of Segment is a valid segment.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"", "a/b/c", "../x", "a//b", "%", "\xff", "..", strings.Repeat("x/", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if CheckKey(s) == nil {
			if len(s) > MaxKey || !utf8.ValidString(s) {
				t.Errorf("CheckKey(%q) passes", s)
			}
			for _, seg := range strings.Split(s, "/") {
				if seg == "" || seg == "." || seg == ".." {
					t.Errorf("CheckKey(%q) passes", s)
				}
			}
			if ns := Namespace(s); ns != "" && !strings.HasPrefix(s, ns+"/") {
				t.Errorf("Namespace(%q) = %q", s, ns)
			}
			if err := CheckPrefix(s); err != nil {
				t.Errorf("CheckPrefix(%q) = %v for a key", s, err)
			}
		}
		if err := CheckKey("session/" + Segment(s) + "/x"); err != nil {
			t.Errorf("Segment(%q) = %q: %v", s, Segment(s), err)
		}
	})
}

func FuzzClip(f *testing.F) {
	f.Add("a  b\nc", 3)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 1 || most > 300 {
			return
		}
		got := Clip(s, most)
		if n := utf8.RuneCountInString(got); n > most || strings.ContainsAny(got, "\n\t") {
			t.Errorf("Clip(%q, %d) = %q with %d characters", s, most, got, n)
		}
	})
}
