package guard

import "strings"

// images finds images whose URL has a placeholder for data of the reader. A client that
// displays the answer of a model loads such an image, and thereby sends the data away.
func (s *scanner) images() {
	text := s.folded.text
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '!')
		if i < 0 {
			break
		}
		at += i + 1
		if end := markdownImage(text[at:]); end > 0 {
			s.image(at-1, at+end)
		}
	}
	for at := 0; ; {
		i := strings.Index(text[at:], "<img")
		if i < 0 {
			return
		}
		start := at + i
		n := strings.IndexByte(text[start:], '>')
		if n < 0 {
			return
		}
		s.image(start, start+n+1)
		at = start + n + 1
	}
}

// markdownImage returns the end of a Markdown image, given the text after its exclamation mark;
// 0 if it is none.
func markdownImage(s string) int {
	const longest = 1024
	s = s[:min(len(s), longest)]
	if s == "" || s[0] != '[' {
		return 0
	}
	open := strings.Index(s, "](")
	if open < 0 || strings.Contains(s[:open], "\n\n") {
		return 0
	}
	n := strings.IndexAny(s[open:], ")\n")
	if n < 0 {
		return 0
	}
	return open + n + 1
}

// image notes an image if its URL has a placeholder.
func (s *scanner) image(start, end int) {
	text := s.folded.text[start:end]
	query := strings.IndexByte(text, '?')
	address := strings.Index(text, "://")
	if address < 0 {
		return
	}
	rest := text[address:]
	if query > address {
		rest = text[query:]
	}
	if strings.ContainsAny(rest, "{}[$") || strings.Contains(rest, "<") || wanted(rest) {
		s.noteFolded(Finding{Rule: Image, Start: start, End: end})
	}
}

// wanted reports whether the query of a URL asks for data of a model.
func wanted(query string) bool {
	for _, w := range []string{"secret", "conversation", "history", "prompt", "password", "summary", "api_key", "apikey", "your_", "insert", "userdata", "user_data", "chat=", "leak", "exfil", "stolen"} {
		if strings.Contains(query, w) {
			return true
		}
	}
	return false
}
