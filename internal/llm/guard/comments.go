package guard

import "strings"

func (s *scanner) commentsIn(open, closing string) {
	text := s.folded.text
	for at := 0; ; {
		i := strings.Index(text[at:], open)
		if i < 0 {
			return
		}
		start := at + i
		body := text[start+len(open):]
		end := len(text)
		if n := strings.Index(body, closing); n >= 0 {
			body, end = body[:n], start+len(open)+n+len(closing)
		}
		if instructionsIn(body) {
			s.noteFolded(Finding{Rule: Comment, Start: start, End: end})
		}
		at = end
	}
}

// instructionsIn reports whether a comment addresses a model. In a comment a single suspect word is
// enough, which would mean nothing in visible text.
func instructionsIn(body string) bool {
	const fewest = 3 // of words: fewer are marks for programs
	if len(strings.Fields(body)) < fewest {
		return false
	}
	f := &folded{text: body}
	found := false
	for _, w := range suspects.words(f) {
		found = found || w.id != 0
	}
	if !found {
		instructions.match(f, func(p *phrase, _, _ int) { found = found || !p.slight })
	}
	return found
}

// suspects are words that are rare in comments for people.
var suspects = func() *vocabulary {
	v := &vocabulary{ids: make(map[string]uint16), scrambled: make(map[string]uint16)}
	for w := range strings.FieldsSeq("ai llm llms chatgpt gpt claude gemini copilot assistant assistants chatbot " +
		"instruction instructions prompt prompts ignore disregard exfiltrate jailbreak password credentials") {
		v.add(w)
	}
	return v
}()
