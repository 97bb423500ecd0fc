package manual

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// kind is the use of a block of code in a page.
type kind int

const (
	shown kind = iota // not run
	output
	commands
	background
	elsewhere
	file
)

// block is a block of code in a page.
type block struct {
	kind kind
	line int    // of the fence
	name string // of a file
	text string
	lead string // the text of the page before it, up to the block before
}

var fence = regexp.MustCompile("^```(\\w*) ?(.*)$")

// blocks returns the blocks of a page.
func blocks(page string) ([]block, error) {
	var all []block
	var lead strings.Builder
	lines := strings.SplitAfter(page, "\n")
	for n := 0; n < len(lines); n++ {
		m := fence.FindStringSubmatch(strings.TrimSuffix(lines[n], "\n"))
		if m == nil {
			lead.WriteString(lines[n])
			continue
		}
		end := slices.Index(lines[n+1:], "```\n")
		if end < 0 {
			return nil, fmt.Errorf("line %d: the block has no end", n+1)
		}
		b := block{line: n + 1, text: strings.Join(lines[n+1:n+1+end], ""), lead: lead.String()}
		var err error
		if b.kind, b.name, err = kindOf(m[1], m[2]); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		all = append(all, b)
		lead.Reset()
		n += end + 1
	}
	return all, nil
}

// kindOf returns the kind of a block with a language and the words after it.
func kindOf(language, info string) (kind, string, error) {
	switch {
	case language == "text" && info == "":
		return output, "", nil
	case language == "sh" && info == "":
		return commands, "", nil
	case language == "sh" && info == "background":
		return background, "", nil
	case language == "sh" && info == "elsewhere":
		return elsewhere, "", nil
	case language == "sh" || language == "text" || language == "":
		return 0, "", fmt.Errorf("a block is sh, sh background, sh elsewhere, text, or a language and a file, not %q", language+" "+info)
	case info != "":
		return file, info, nil
	}
	return shown, "", nil
}

// matches reports whether got is the output that a page shows: "…" is any text of a line, and a
// line "…" any number of lines.
func matches(want, got string) bool {
	var p strings.Builder
	p.WriteString(`\A`)
	for line := range strings.Lines(want) {
		line = strings.TrimRight(line, "\n")
		if line == "…" {
			p.WriteString(`(?:.*\n)*?`)
			continue
		}
		pieces := strings.Split(line, "…")
		for i := range pieces {
			pieces[i] = regexp.QuoteMeta(pieces[i])
		}
		p.WriteString(strings.Join(pieces, ".*?") + `\n`)
	}
	return regexp.MustCompile(p.String() + `\z`).MatchString(trimmed(got))
}

// trimmed returns text without spaces at the ends of lines, and with an end of the last line.
func trimmed(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return regexp.MustCompile(`[ \t\r]+(\n|\z)`).ReplaceAllString(text, "$1")
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	got, err := blocks("# A\n```sh\nls\n```\n\n```text\na\n…\n```\nNow `b.yaml`:\n```yaml b.yaml\nx: 1\n```\n")
	if err != nil || len(got) != 3 || got[0].kind != commands || got[0].text != "ls\n" || got[1].kind != output ||
		got[2].kind != file || got[2].name != "b.yaml" || got[2].lead != "Now `b.yaml`:\n" || got[2].line != 11 {
		t.Errorf("blocks = %+v, %v", got, err)
	}
	for _, wrong := range []string{"```sh\nls\n", "```sh background now\nls\n```\n", "```\nls\n```\n"} {
		if _, err := blocks(wrong); err == nil {
			t.Errorf("blocks(%q) has no error", wrong)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\n", "a\n", true},
		{"a\n", "a  \n", true},
		{"a\n", "a", true},
		{"a\n", "a\nb\n", false},
		{"a\n", "", false},
		{"a\n…\n", "a\nb\nc\n", true},
		{"…\nc\n", "a\nb\nc\n", true},
		{"id … done\n", "id 1.2+ done\n", true},
		{"id … done\n", "id 1 2\ndone\n", false},
		{"1.2\n", "1x2\n", false},
	} {
		if got := matches(c.want, c.got); got != c.ok {
			t.Errorf("matches(%q, %q) = %t, want %t", c.want, c.got, got, c.ok)
		}
	}
}
