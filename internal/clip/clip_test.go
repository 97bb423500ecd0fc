package clip_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/clip"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text              string
		bytes, runes, fit string
	}{
		{"", "", "", ""},
		{"abcd", "abcd", "abcd", "abcd"},
		{"abcde", "abcd…", "abcd…", "abc…"},
		{"äöüß", "äö…", "äöüß", "äöüß"},
		{"abcäö", "abc…", "abcä…", "abc…"},
		{"a\xffb", "a\xffb", "a\xffb", "a\xffb"},
		{"a\xffbcde", "abc…", "a�bc…", "a�b…"},
	} {
		if got := clip.Bytes(tt.text, 4); got != tt.bytes {
			t.Errorf("Bytes(%q) = %q, want %q", tt.text, got, tt.bytes)
		}
		if got := clip.Runes(tt.text, 4); got != tt.runes {
			t.Errorf("Runes(%q) = %q, want %q", tt.text, got, tt.runes)
		}
		if got := clip.Fit(tt.text, 4); got != tt.fit {
			t.Errorf("Fit(%q) = %q, want %q", tt.text, got, tt.fit)
		}
	}
}

func TestFitBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		most       int
	}{
		{"abcdef", "abcdef", 6}, {"abcdefg", "abc…", 6}, {"abäcdefg", "ab…", 6}, {"a\xffbcdefg", "a\xffb…", 6},
	} {
		if got := clip.FitBytes(tt.text, tt.most); got != tt.want {
			t.Errorf("FitBytes(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}
