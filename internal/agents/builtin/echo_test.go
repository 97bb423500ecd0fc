package builtin_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

func TestEchoStreamsWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"hello", []string{"hello"}},
		{"hello, world", []string{"hello, ", "world"}},
		{"  two\n\n words\t", []string{"  two\n\n ", "words\t"}},
		{" \n ", []string{" \n "}},
		{"größe\u00a0日本 語", []string{"größe\u00a0", "日本 ", "語"}},
	} {
		events := run(t, "echo", asking(a2a.NewTextPart(tt.text)))
		all := artifacts(t, events)
		if len(all) != 1 {
			t.Fatalf("echo %q made %d artifacts, want 1", tt.text, len(all))
		}
		if diff := cmp.Diff(tt.want, texts(all[0].Parts)); diff != "" {
			t.Errorf("echo %q chunks mismatch (-want +got):\n%s", tt.text, diff)
		}
		final(t, events, a2a.TaskStateCompleted)
	}
}

func TestEchoKeepsOtherParts(t *testing.T) {
	t.Parallel()
	data := a2a.NewDataPart(map[string]any{"n": 1.0})
	file := a2a.NewRawPart([]byte{0, 1, 2})
	file.Filename, file.MediaType = "a.bin", "application/octet-stream"
	link := a2a.NewFileURLPart("https://example.com/x", "image/png")
	note := a2a.NewTextPart("a text with a name")
	note.Filename = "note.txt"
	tagged := a2a.NewTextPart("a text with metadata")
	tagged.Metadata = map[string]any{"k": "v"}
	html := a2a.NewTextPart("<b> bold")
	html.MediaType = "text/html"

	for _, tt := range []struct {
		name  string
		parts a2a.ContentParts
		want  a2a.ContentParts
	}{
		{"only other parts", a2a.ContentParts{data, file, link}, a2a.ContentParts{data, file, link}},
		{"text that is content", a2a.ContentParts{note, tagged}, a2a.ContentParts{note, tagged}},
		{
			"mixed",
			a2a.ContentParts{a2a.NewTextPart("a b"), data, html},
			a2a.ContentParts{
				a2a.NewTextPart("a "), a2a.NewTextPart("b"), data,
				{Content: a2a.Text("<b> "), MediaType: "text/html"},
				{Content: a2a.Text("bold"), MediaType: "text/html"},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events := run(t, "echo", asking(tt.parts...))
			all := artifacts(t, events)
			if len(all) != 1 {
				t.Fatalf("%d artifacts, want 1", len(all))
			}
			if diff := cmp.Diff(tt.want, all[0].Parts); diff != "" {
				t.Errorf("parts mismatch (-want +got):\n%s", diff)
			}
			final(t, events, a2a.TaskStateCompleted)
		})
	}
}

func TestEchoBoundsTheChunksOfALongText(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a ", 1<<18)
	all := artifacts(t, run(t, "echo", asking(a2a.NewTextPart(text))))
	if n := len(all[0].Parts); n < 1<<14 || n > 1<<16 {
		t.Errorf("%d chunks for %d words, want at most %d and still many", n, 1<<18, 1<<16)
	}
	if got := strings.Join(texts(all[0].Parts), ""); got != text {
		t.Error("the joined chunks are not the text")
	}
}

func FuzzEchoIsExact(f *testing.F) {
	for _, seed := range []string{"", " ", "a b", "\n a\u2003b ", "日本 語"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		all := artifacts(t, run(t, "echo", asking(a2a.NewTextPart(text))))
		if got := strings.Join(texts(all[0].Parts), ""); got != text {
			t.Errorf("echo %q = %q", text, got)
		}
		for i, p := range all[0].Parts {
			if !utf8.ValidString(p.Text()) {
				t.Errorf("chunk %d of %q is cut within a rune", i, text)
			}
		}
	})
}

// TestEchoAllocations limits the allocations for a word, because benchmarks of the hub use this
// agent.
func TestEchoAllocations(t *testing.T) {
	cost := func(text string) float64 {
		ec := asking(a2a.NewTextPart(text))
		echo := find(t, "echo").Executor
		return testing.AllocsPerRun(100, func() {
			for range echo.Execute(t.Context(), ec) {
			}
		})
	}
	one, hundred := cost("word"), cost(strings.Repeat("word ", 100))
	if one > 10 {
		t.Errorf("one word costs %v allocations, want at most 10", one)
	}
	if perWord := (hundred - one) / 99; perWord > 3.1 {
		t.Errorf("a word costs %v allocations, want at most 3", perWord)
	}
}

func BenchmarkEcho(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"1 word", "hello"},
		{"1000 words", strings.Repeat("hello ", 1000)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			ec := asking(a2a.NewTextPart(bench.text))
			echo := find(b, "echo").Executor
			b.ReportAllocs()
			for b.Loop() {
				for range echo.Execute(b.Context(), ec) {
				}
			}
		})
	}
}
