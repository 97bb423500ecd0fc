package guard

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
)

// attempt is a text that gives orders to its reader, in one disguise.
type attempt struct {
	text    string
	heldOut bool
}

// isHeldOut reports whether the screen must not be changed because of a text: a third of the texts, in
// all their disguises.
func isHeldOut(text string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()%3 == 0
}

// disguise is a way to write a text.
type disguise struct {
	name string
	// every selects each text, or each text of that number.
	every int
	// fits selects the texts that can be written so; nil selects all.
	fits  func(text string) bool
	write func(text string, n int) string
	// found reports whether the screen finds an order; nil means Screen.
	found func(text string) bool
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

func isShort(text string) bool {
	return isASCII(text) && len(text) < 100 && !strings.ContainsAny(text, "<>[]{}()")
}

// disguises are all ways, in the order of the table in internal/e2e/threats.md.
var disguises = []disguise{
	{name: "plain", every: 1, write: func(text string, _ int) string { return text }},
	{name: "base64, also in lines or without padding", every: 7, write: writeBase64},
	{name: "hexadecimal", every: 11, write: func(text string, _ int) string { return "0x" + hex.EncodeToString([]byte(text)) }},
	{name: "ROT13", every: 8, fits: isASCII, write: func(text string, _ int) string { return strings.Map(rot, text) }},
	{name: "percent-encoded", every: 9, write: func(text string, n int) string {
		if n%2 == 0 {
			return "https://example.org/?q=" + url.QueryEscape(text)
		}
		return "%" + strings.ReplaceAll(fmt.Sprintf("% x", text), " ", "%")
	}},
	{name: "HTML entities", every: 9, write: func(text string, n int) string {
		return each(text, func(r rune) string { return fmt.Sprintf([]string{"&#%d;", "&#x%x;"}[n%2], r) })
	}},
	{name: "escapes of JSON", every: 9, write: func(text string, _ int) string {
		return each(text, func(r rune) string {
			var b strings.Builder
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
			return b.String()
		})
	}},
	{name: "encoded twice", every: 11, write: func(text string, n int) string { return writeBase64(writeBase64(text, n), n+1) }},
	{name: "letters of other scripts", every: 7, fits: isASCII, write: func(text string, n int) string {
		return each(text, func(r rune) string { return string(lookAlike(r, n)) })
	}},
	{name: "letters of mathematics, or of full width", every: 9, fits: isASCII, write: writeWide},
	{name: "invisible characters", every: 7, write: func(text string, n int) string {
		return each(text, func(r rune) string {
			return string(r) + []string{"\u200b", "\u00ad", "\u2060", "\u200d", "\ufe0f"}[n%5]
		})
	}},
	{name: "invisible letters (tags)", every: 11, fits: isASCII, write: func(text string, _ int) string {
		return "A fine day." + each(text, func(r rune) string { return string(0xe0000 + r) })
	}},
	{name: "reversed, with a mark of direction", every: 9, fits: isASCII, write: func(text string, n int) string {
		return []string{"\u202e", "\u2067\u202e"}[n%2] + backwards(text) + "\u202c"
	}},
	{name: "letters apart", every: 9, fits: isShort, write: func(text string, n int) string {
		return strings.TrimSpace(each(text, func(r rune) string { return string(r) + []string{" ", ".", "-", "_"}[n%4] }))
	}},
	{name: "digits for letters", every: 9, fits: isShort, write: func(text string, _ int) string {
		return strings.NewReplacer("o", "0", "i", "1", "e", "3", "a", "4", "s", "5").Replace(text)
	}},
	{name: "split over parts of a message", every: 5, write: func(text string, n int) string { return strings.Join(pieces(text, 2+n%3), "\n") }},
	{name: "split over members of JSON, or cells of a table", every: 6, write: writeMembers},
	{name: "quoted, as in replies to mail", every: 8, write: func(text string, n int) string {
		return "Hello,\n\n> " + strings.Join(pieces(text, 3+n%3), "\n> ") + "\n\nBest\nAnn"
	}},
	{name: "names of files, tools and agents", every: 4, fits: isShort, write: writeName, found: func(name string) bool { return !IsName(name) }},
	{name: "metadata of images and documents", every: 6, write: writeImage, found: func(raw string) bool { return Grave(ScreenFile([]byte(raw))) }},
	{name: "through memory: in a note among others", every: 6, write: func(text string, _ int) string {
		return "# Notes of the week\n\n- water the tulips\n- " + text + "\n- dentist on Tuesday at nine\n"
	}},
	{name: "through delegation: repeated by another agent", every: 6, write: writeRepeated},
	{name: "in a comment of a program or page", every: 8, fits: func(text string) bool { return !strings.Contains(text, "-->") }, write: writeComment},
	{name: "at the end of a long text", every: 9, write: func(text string, _ int) string {
		return strings.Repeat("The museum opens at nine and closes at six. Children pay half. ", 400) + text
	}},
}

func each(text string, f func(r rune) string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteString(f(r))
	}
	return b.String()
}

func writeBase64(text string, n int) string {
	switch n % 3 {
	case 0:
		return base64.StdEncoding.EncodeToString([]byte(text))
	case 1:
		return "Attachment: " + base64.RawURLEncoding.EncodeToString([]byte(text)) + " (report)"
	}
	var lines []string
	for s := base64.StdEncoding.EncodeToString([]byte(text)); s != ""; {
		lines, s = append(lines, s[:min(76, len(s))]), s[min(76, len(s)):]
	}
	return strings.Join(lines, "\r\n")
}

func rot(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

// lookAlike returns a letter of Cyrillic, Greek or Armenian that looks like r.
func lookAlike(r rune, n int) rune {
	from, to := []rune("aceopxyijsABEHKMOPTX"), []rune("асеорхуіјѕАВЕНКМОРТХ")
	if n%2 == 1 {
		from, to = []rune("aoviuHTABEKMNOPX"), []rune("αονιυΗΤΑΒΕΚΜΝΟΡΧ")
	}
	for i := range from {
		if from[i] == r {
			return to[i]
		}
	}
	return r
}

func writeWide(text string, n int) string {
	return each(text, func(r rune) string {
		switch {
		case n%2 == 0 && r > ' ' && r <= '~':
			return string(r - '!' + 0xff01)
		case n%2 == 1 && r >= 'a' && r <= 'z':
			return string(0x1d41a + r - 'a')
		case n%2 == 1 && r >= 'A' && r <= 'Z':
			return string(0x1d400 + r - 'A')
		}
		return string(r)
	})
}

func backwards(text string) string {
	runes := []rune(text)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// pieces splits a text into n pieces between words, or between characters if it has no blanks.
func pieces(text string, n int) []string {
	words, separator := strings.Fields(text), " "
	if len(words) < n {
		words, separator = strings.Split(text, ""), ""
	}
	var out []string
	for i := range n {
		out = append(out, strings.Join(words[len(words)*i/n:len(words)*(i+1)/n], separator))
	}
	return out
}

func writeMembers(text string, n int) string {
	parts := pieces(text, 3)
	switch n % 3 {
	case 0:
		b, _ := json.Marshal([]map[string]string{{"title": parts[0]}, {"title": parts[1]}, {"title": parts[2]}})
		return string(b)
	case 1:
		return "| a | b | c |\n|---|---|---|\n| " + strings.Join(parts, " | ") + " |\n"
	}
	return "city,state,remark\n" + strings.Join(parts, ",") + "\n"
}

func writeName(text string, n int) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch n % 4 {
	case 0:
		return strings.ToLower(strings.Join(words, "_")) + ".pdf"
	case 1:
		return strings.ToLower(strings.Join(words, "-"))
	case 2:
		return strings.Join(words, ".") + ".txt"
	}
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func writeImage(text string, n int) string {
	noise := "\x00\x01\xfe\x80\x93\x11\x7f\xd8\x03"
	switch n % 5 {
	case 0: // a chunk of text of PNG
		return "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR" + noise + "\x00\x00\x00\x40tEXtDescription\x00" + text + noise + "IEND"
	case 1: // a comment of JPEG
		return "\xff\xd8\xff\xfe\x00\x40" + text + "\xff\xda" + noise
	case 2: // a user comment of EXIF in UTF-16
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(text)) {
			b.WriteString(string([]byte{byte(u), byte(u >> 8)}))
		}
		return "\xff\xd8\xff\xe1\x00\x80Exif\x00\x00UNICODE\x00" + b.String() + "\xff\xda" + noise
	case 3:
		return `<svg xmlns="http://www.w3.org/2000/svg"><desc>` + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text) + `</desc><rect width="9"/></svg>`
	}
	return "%PDF-1.7\n1 0 obj\n<< /Title (A report) /Subject (" + text + ") >>\nendobj\nstream\n" + noise + "\nendstream"
}

func writeRepeated(text string, n int) string {
	inner, _ := json.Marshal(map[string]any{"agent": "far", "state": "completed", "reply": text})
	if n%2 == 0 {
		return string(inner)
	}
	outer, _ := json.Marshal(map[string]string{"response": "The agent \"far\" answered: " + string(inner)})
	return string(outer)
}

func writeComment(text string, n int) string {
	switch n % 4 {
	case 0:
		return "package main\n\n// " + text + "\nfunc main() {}\n"
	case 1:
		return "<h1>Opening hours</h1>\n<!-- " + text + " -->\n<p>Nine to six</p>"
	case 2:
		return "def run():\n    \"\"\"Runs it.\n\n    " + text + "\n    \"\"\"\n    return 1\n"
	}
	return "name: app\n# " + text + "\nport: 8080\n"
}

// bases returns the texts of testdata/attempts.txt.
func bases(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, line := range dataLines(t, "testdata/attempts.txt") {
		_, text, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("testdata/attempts.txt: %q has no tab", line)
		}
		all = append(all, text)
	}
	return all
}

// dataLines returns the lines of a file without comments.
func dataLines(t testing.TB, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	_, text, ok := strings.Cut(string(b), "\n%%\n")
	if !ok {
		t.Fatalf("%s has no line %%%% after its description", file)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		all = append(all, line)
	}
	return all
}

// attempts returns the texts in a disguise.
func (d *disguise) attempts(all []string) []attempt {
	var out []attempt
	n := 0
	for _, text := range all {
		if d.fits != nil && !d.fits(text) {
			continue
		}
		if n++; n%d.every == 0 {
			out = append(out, attempt{d.write(text, n/d.every), isHeldOut(text)})
		}
	}
	return out
}
