package console

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/front/console/pages"
)

const (
	// markdownDepth is how deep lists, quotes and emphasis may be in each other; deeper ones are text.
	markdownDepth = 8
	// markdownTries is how many possible ends of an emphasis are examined.
	markdownTries = 8
	// markdownColumns is how many cells a row of a table may have.
	markdownColumns = 32
	// maxAddress is the maximum length of an address in bytes; a longer one is text with its brackets.
	maxAddress = 2 << 10
)

// markdown returns a text in Markdown as elements: headings, paragraphs, lists, quotes, tables,
// code, emphasis and rules. HTML is text, and so is the address of a link or an image, because
// pages lead to no address of others. The time is linear in the length of the text.
func markdown(s string) pages.HTML {
	w := new(markdownWriter)
	w.document(s)
	return pages.HTML(w.String()) //nolint:gosec // text is escaped by put, and elements are constants
}

// markdownWriter collects elements.
type markdownWriter struct {
	strings.Builder
	// searched is the number of bytes in which ends of spans were searched for.
	searched int
}

// document adds a whole text.
func (w *markdownWriter) document(s string) {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, s := range lines {
		if inner := strings.TrimLeft(s, "\t"); inner != s && marker(inner).width > 0 {
			lines[i] = strings.Repeat("    ", len(s)-len(inner)) + inner
		}
	}
	w.blocks(lines, 0)
}

// put adds text of others.
func (w *markdownWriter) put(s string) { w.WriteString(html.EscapeString(clean(s))) }

// open and close add the tags of an element. Its name is a constant.
//
//go:noinline // it is called often, and a copy of it is longer than a call
func (w *markdownWriter) open(name string) { w.WriteString("<" + name + ">") }

//go:noinline // as open
func (w *markdownWriter) close(name string) { w.WriteString("</" + name + ">") }

// text adds an element with text of others. Its name is a constant.
func (w *markdownWriter) text(name, s string) {
	w.open(name)
	w.put(s)
	w.close(name)
}

// line adds an element with inline text. Its name is a constant.
func (w *markdownWriter) line(name, s string, depth int) {
	w.open(name)
	w.inline(s, depth)
	w.close(name)
}

// blocks adds the blocks of some lines.
func (w *markdownWriter) blocks(lines []string, depth int) {
	for len(lines) > 0 {
		lines = lines[w.block(lines, depth):]
	}
}

// block adds the block that begins with the first line, and returns the number of its lines.
func (w *markdownWriter) block(lines []string, depth int) int {
	line := strings.TrimSpace(lines[0])
	nested := depth < markdownDepth
	switch {
	case line == "":
		return 1
	case fence(line) != "":
		return w.code(lines)
	case heading(line) > 0:
		level := heading(line)
		w.line([]string{"h3", "h4", "h5"}[min(level, 3)-1], strings.Trim(line[level:], "# \t"), 0)
		return 1
	case isRule(line):
		w.WriteString("<hr>")
		return 1
	case line[0] == '>' && nested:
		return w.quote(lines, depth)
	case nested && marker(lines[0]).width > 0:
		return w.list(lines, depth)
	case len(lines) > 1 && strings.Contains(line, "|") && isDelimiterRow(lines[1]):
		return w.table(lines)
	}
	n := 1
	for n < len(lines) && !interrupts(lines[n]) {
		n++
	}
	w.line("p", strings.Join(lines[:n], "\n"), 0)
	return n
}

// interrupts reports whether a line ends the paragraph before it.
func interrupts(s string) bool {
	line := strings.TrimSpace(s)
	return line == "" || fence(line) != "" || heading(line) > 0 || isRule(line) || line[0] == '>' || marker(s).width > 0
}

// fence returns the characters that begin and end a block of code, or nothing.
func fence(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 && !strings.Contains(line[n:], "`") {
			return line[:n]
		}
	}
	return ""
}

// heading returns the level of a heading, or 0.
func heading(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n > 6 || n < len(line) && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

// isRule reports whether a line is a rule: three or more of one of three characters.
func isRule(line string) bool {
	line = strings.ReplaceAll(line, " ", "")
	return len(line) >= 3 && strings.Contains("-*_", line[:1]) && strings.Trim(line, line[:1]) == ""
}

// code adds a block of code.
func (w *markdownWriter) code(lines []string) int {
	mark, n := fence(strings.TrimSpace(lines[0])), 1
	for n < len(lines) {
		if line := strings.TrimSpace(lines[n]); strings.HasPrefix(line, mark) && strings.Trim(line, mark[:1]) == "" {
			break
		}
		n++
	}
	w.text("pre", strings.Join(lines[1:n], "\n"))
	return min(n+1, len(lines))
}

// quote adds a quote.
func (w *markdownWriter) quote(lines []string, depth int) int {
	var inner []string
	for _, s := range lines {
		line := strings.TrimLeftFunc(s, unicode.IsSpace) // as block does
		if !strings.HasPrefix(line, ">") {
			break
		}
		inner = append(inner, strings.TrimPrefix(line[1:], " "))
	}
	w.open("blockquote")
	w.blocks(inner, depth+1)
	w.close("blockquote")
	return len(inner)
}

// listMarker is the beginning of an item of a list.
type listMarker struct {
	// indent is the column of the marker, and width that of the text after it; 0 for no marker.
	indent, width int
	numbered      bool
}

// marker returns the marker at the beginning of a line.
func marker(s string) (m listMarker) {
	line := strings.TrimLeft(s, " ")
	m.indent = len(s) - len(line)
	n := 0
	switch digits := len(line) - len(strings.TrimLeft(line, "0123456789")); {
	case line == "":
		return m
	case strings.ContainsRune("-*+", rune(line[0])):
		n = 1
	case digits > 0 && digits < 10 && digits < len(line) && strings.ContainsRune(".)", rune(line[digits])):
		n, m.numbered = digits+1, true
	}
	if n > 0 && n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		m.width = m.indent + n + 1
	}
	return m
}

// list adds the items of a list.
func (w *markdownWriter) list(lines []string, depth int) int {
	first, n := marker(lines[0]), 0
	name := "ul"
	if first.numbered {
		name = "ol"
	}
	w.open(name)
	for n < len(lines) {
		m := marker(lines[n])
		if m.width == 0 || m.numbered != first.numbered || m.indent > first.indent+3 || isRule(lines[n]) {
			break
		}
		item := itemLines(lines[n:], m)
		n += len(item)
		item[0] = item[0][m.width:]
		w.open("li")
		w.item(item, depth+1)
		w.close("li")
		for n < len(lines)-1 && strings.TrimSpace(lines[n]) == "" && marker(lines[n+1]).width > 0 {
			n++
		}
	}
	w.close(name)
	return n
}

// item adds the content of an item: text, and blocks after it.
func (w *markdownWriter) item(lines []string, depth int) {
	n := 0
	for n < len(lines) && !interrupts(lines[n]) {
		n++
	}
	w.inline(strings.Join(lines[:n], "\n"), 0)
	w.blocks(lines[n:], depth)
}

// itemLines returns the lines of an item: the first one, and those that are indented below it. The
// first line keeps its marker.
func itemLines(lines []string, m listMarker) []string {
	item := []string{lines[0]}
	for i, s := range lines[1:] {
		indent := len(s) - len(strings.TrimLeft(s, " "))
		switch blank := strings.TrimSpace(s) == ""; {
		case blank && i+2 < len(lines) && strings.HasPrefix(lines[i+2], strings.Repeat(" ", m.indent+2)):
			item = append(item, "")
		case !blank && indent > m.indent+1:
			item = append(item, s[min(indent, m.width):])
		case !blank && !interrupts(s) && item[len(item)-1] != "":
			item = append(item, s) // the text continues without an indent
		default:
			return item
		}
	}
	return item
}

// isDelimiterRow reports whether a line separates the head of a table from its rows.
func isDelimiterRow(s string) bool {
	line := strings.TrimSpace(s)
	return strings.Contains(line, "-") && strings.Contains(line, "|") && strings.Trim(line, "|:- \t") == ""
}

// cells returns the cells of a row.
func cells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	return strings.SplitN(line, "|", markdownColumns)
}

// table adds a table.
func (w *markdownWriter) table(lines []string) int {
	n := 2
	for n < len(lines) && strings.Contains(lines[n], "|") {
		n++
	}
	w.open(`div class="scroll"`)
	w.open("table")
	w.open("thead")
	w.row("th", lines[0])
	w.close("thead")
	w.open("tbody")
	for _, line := range lines[2:n] {
		w.row("td", line)
	}
	w.WriteString("</tbody></table></div>")
	return n
}

// row adds a row of a table.
func (w *markdownWriter) row(name, line string) {
	w.open("tr")
	for _, c := range cells(line) {
		w.line(name, strings.TrimSpace(c), 0)
	}
	w.close("tr")
}

// emphases are the characters around emphasis, the longer ones first, and their elements.
var emphases = []struct{ mark, element string }{
	{"**", "strong"}, {"__", "strong"}, {"~~", "del"}, {"*", "em"}, {"_", "em"},
}

// inlineText is a text with emphasis, code and links.
type inlineText struct {
	text string
	// next has the position of the next occurrence of a mark, or -1 if there is none, so that each
	// mark is searched for once.
	next     map[string]int
	searched *int
}

// find returns the position of a mark after a position, or -1.
func (l *inlineText) find(at int, mark string) int {
	n, ok := l.next[mark]
	if ok && (n < 0 || n > at) {
		return n
	}
	if n = strings.Index(l.text[at+1:], mark); n >= 0 {
		n += at + 1
		*l.searched += n - at
	} else {
		*l.searched += len(l.text) - at
	}
	l.next[mark] = n
	return n
}

// inline adds the text of a block.
func (w *markdownWriter) inline(s string, depth int) {
	l := &inlineText{s, make(map[string]int), &w.searched}
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], "\\`*_~![<\n")
		if n < 0 {
			w.put(s[i:])
			return
		}
		w.put(s[i : i+n])
		i += n
		if n = 0; depth < markdownDepth {
			n = w.span(l, i, depth)
		}
		if n == 0 {
			w.put(s[i : i+1])
			n = 1
		}
		i += n
	}
}

// span adds the span that begins at a position, and returns its length; 0 if none begins there.
func (w *markdownWriter) span(l *inlineText, at, depth int) int {
	rest := l.text[at:]
	switch rest[0] {
	case '\n':
		if strings.HasSuffix(l.text[:at], "  ") {
			w.WriteString("<br>")
		}
		return 0
	case '\\':
		if len(rest) > 1 && rest[1] < utf8.RuneSelf && unicode.In(rune(rest[1]), unicode.P, unicode.S) {
			w.put(rest[1:2])
			return 2
		}
		return 0
	case '`':
		return w.codeSpan(l, at)
	case '<':
		return w.autolink(l, at)
	case '!':
		if strings.HasPrefix(rest, "![") {
			if n := w.link(l, at+1, depth); n > 0 {
				return n + 1
			}
		}
		return 0
	case '[':
		return w.link(l, at, depth)
	}
	return w.emphasis(l, at, depth)
}

// codeSpan adds code within a line.
func (w *markdownWriter) codeSpan(l *inlineText, at int) int {
	rest := l.text[at:]
	ticks := 1
	for ticks < min(3, len(rest)) && rest[ticks] == '`' {
		ticks++
	}
	mark := rest[:ticks]
	end := l.find(at+len(mark)-1, mark)
	if end <= at+len(mark) {
		return 0
	}
	code := l.text[at+len(mark) : end]
	w.text("code", strings.TrimSpace(strings.ReplaceAll(code, "\n", " ")))
	return end + len(mark) - at
}

// autolink adds an address in angle brackets.
func (w *markdownWriter) autolink(l *inlineText, at int) int {
	end := l.find(at, ">")
	if end < 0 || end-at > maxAddress {
		return 0
	}
	address := l.text[at+1 : end]
	if !strings.Contains(address, "://") || strings.ContainsAny(address, " \n<") {
		return 0
	}
	w.text("code", address)
	return end + 1 - at
}

// link adds the text of a link or an image, and its address as text.
func (w *markdownWriter) link(l *inlineText, at, depth int) int {
	middle := l.find(at, "]")
	if middle < 0 || !strings.HasPrefix(l.text[middle:], "](") {
		return 0
	}
	end := l.find(middle+1, ")")
	if end < 0 || end-middle > maxAddress {
		return 0
	}
	label := l.text[at+1 : middle]
	address, _, _ := strings.Cut(strings.TrimSpace(l.text[middle+2:end]), " ")
	if label != "" && label != address {
		w.inline(label, depth+1)
		w.WriteByte(' ')
	}
	w.text("code", strings.Trim(address, "<>"))
	return end + 1 - at
}

// emphasis adds emphasized text.
func (w *markdownWriter) emphasis(l *inlineText, at, depth int) int {
	for _, e := range emphases {
		from := at + len(e.mark)
		if !strings.HasPrefix(l.text[at:], e.mark) || from >= len(l.text) || strings.ContainsRune(" \n", rune(l.text[from])) ||
			e.mark[0] == '_' && at > 0 && isWord(l.text[at-1]) {
			continue
		}
		if end := l.closing(from, e.mark); end > 0 {
			w.line(e.element, l.text[from:end], depth+1)
			return end + len(e.mark) - at
		}
	}
	return 0
}

// closing returns the position of the mark that ends an emphasis, or 0.
func (l *inlineText) closing(from int, mark string) int {
	at := from
	for range markdownTries {
		n := l.find(at, mark)
		if n < 0 {
			return 0
		}
		after := l.text[n+len(mark):]
		double := len(mark) == 1 && (strings.HasPrefix(after, mark) || l.text[n-1] == mark[0])
		if !double && !strings.ContainsRune(" \n", rune(l.text[n-1])) && (mark[0] != '_' || after == "" || !isWord(after[0])) {
			return n
		}
		at = n
	}
	return 0
}

// isWord reports whether a byte is a part of a word.
func isWord(c byte) bool {
	return c >= utf8.RuneSelf || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
