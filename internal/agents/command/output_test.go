package command

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
)

// collect pushes pieces. It returns the texts that were passed on, and the last part.
func collect(o *output, pieces ...[]byte) ([]string, *a2a.Part) {
	ec := &a2asrv.ExecutorContext{TaskID: "task-1", ContextID: "context-1"}
	var texts []string
	for _, p := range pieces {
		if text := o.push(p); text != "" {
			texts = append(texts, text)
			o.chunk(ec, text)
		}
	}
	if text := o.end(); text != "" {
		texts = append(texts, text)
		o.chunk(ec, text)
	}
	last := o.last(ec)
	if last == nil {
		return texts, nil
	}
	return texts, last.Artifact.Parts[0]
}

// bytewise splits s into single bytes.
func bytewise(s string) [][]byte {
	var pieces [][]byte
	for i := range len(s) {
		pieces = append(pieces, []byte{s[i]})
	}
	return pieces
}

func TestOutputHoldsBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		texts []string
		last  string
	}{
		{"ab", []string{"a"}, "b"},
		{"a\n", nil, "a\n"},
		{"a\n\nb", []string{"a"}, "\n\nb"},
		{"aé€😀", []string{"a", "é", "€"}, "😀"},
		{"a" + strings.Repeat("\n", maxHeld+2), []string{"a", "\n"}, strings.Repeat("\n", maxHeld+1)},
	} {
		texts, last := collect(new(output), bytewise(tt.in)...)
		if diff := cmp.Diff(tt.texts, texts); diff != "" {
			t.Errorf("push %q mismatch (-want +got):\n%s", tt.in, diff)
		}
		if last.Text() != tt.last {
			t.Errorf("push %q: last = %q, want %q", tt.in, last.Text(), tt.last)
		}
	}
}

func TestWholeRunes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want int
	}{
		{"", 0},
		{"a", 1},
		{"ä", 2},
		{"a\xc3", 1},
		{"\xe2\x82", 0},
		{"\xf0\x9f\x98", 0},
		{"a\xf0\x9f\x98", 1},
		{"\x80", 1},
		{"\x80\x80\x80\x80", 4},
		{"a\xff", 2},
	} {
		if got := wholeRunes([]byte(tt.in)); got != tt.want {
			t.Errorf("wholeRunes(%q) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var w tail
	for i := range 3 * maxTail {
		if n, err := w.Write([]byte{byte('a' + i%26)}); n != 1 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if len(w.b) != maxTail {
		t.Errorf("tail keeps %d bytes, want %d", len(w.b), maxTail)
	}
	big := strings.Repeat("x", maxTail) + strings.Repeat("é", maxTail/2) + "!"
	if n, err := w.Write([]byte(big)); n != len(big) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	if got, want := w.text(), strings.Repeat("é", maxTail/2-1)+"!"; got != want {
		t.Errorf("text = %.20q… (%d bytes), want it to begin with a whole rune", got, len(got))
	}
}

// For any output in any pieces, text never ends within a rune, and nothing is lost.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("hello\n"), uint8(3))
	f.Add([]byte("a\xc3\xa4\n\n\x00"), uint8(1))
	f.Add([]byte("\xff\xfe"), uint8(2))
	f.Add([]byte("\xf0\x9f\x98\x80"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		var pieces [][]byte
		for p := range slices.Chunk(in, int(size)+1) {
			pieces = append(pieces, p)
		}
		o := new(output)
		texts, last := collect(o, pieces...)
		if last == nil {
			if len(in) != 0 {
				t.Fatalf("%q has no last part", in)
			}
			return
		}
		got := []byte(strings.Join(texts, "") + last.Text())
		got = append(got, last.Raw()...)
		if !bytes.Equal(got, in) {
			t.Errorf("%q came out as %q", in, got)
		}
		for _, text := range append(texts, last.Text(), o.question()) {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Errorf("%q gave %q, which is not text", in, text)
			}
		}
		if isText(in) != (last.Raw() == nil) {
			t.Errorf("%q: raw is %v", in, last.Raw() != nil)
		}
	})
}
