package guard

import (
	"cmp"
	"slices"
)

// MaxText is the number of bytes of a text that are screened, and that a Guard shows at most.
const MaxText = 4 << 20

// Rule is the kind of a Finding.
type Rule string

// The rules of the screen.
const (
	// Override: the text orders the reader to drop its instructions.
	Override Rule = "override"
	// Task: the text gives the reader a new task, or replaces its instructions.
	Task Rule = "task"
	// Persona: the text gives the reader a role without rules.
	Persona Rule = "persona"
	// Secrets: the text asks for the reader's instructions, credentials or conversations.
	Secrets Rule = "secrets"
	// Conceal: the text orders the reader to hide something from the user.
	Conceal Rule = "conceal"
	// Address: the text addresses any model that reads it.
	Address Rule = "address"
	// Authority: the text claims the authority of the reader's maker or owner, or the user's
	// consent.
	Authority Rule = "authority"
	// Tool: the text orders the use of tools.
	Tool Rule = "tool"
	// Steer: the text orders a particular judgment.
	Steer Rule = "steer"
	// Role: the text has the markers that separate speakers for models.
	Role Rule = "role"
	// Syntax: the text has the markers of tool calls or of their results.
	Syntax Rule = "syntax"
	// Hidden: the text has characters or styles that people do not see.
	Hidden Rule = "hidden"
	// Comment: the text has instructions in a place that people do not see.
	Comment Rule = "comment"
	// Encoded: the text has encoded instructions.
	Encoded Rule = "encoded"
	// Image: the text has an image or a link whose URL carries data of the reader away.
	Image Rule = "image"
	// Unread: the part of the text beyond MaxText.
	Unread Rule = "unread"
)

// Finding is a passage that looks like an instruction to the reader.
type Finding struct {
	// Rule is the kind of the finding.
	Rule Rule
	// Start and End are its byte offsets in the text.
	Start, End int
	// Slight is set if the passage also has harmless uses. Alone it is no reason to withhold
	// anything.
	Slight bool
}

// Screen returns the findings in text, in order of their positions. Findings may overlap.
func Screen(text string) []Finding {
	return screen(text, 0)
}

// maxDepth is the largest number of nested decodings.
const maxDepth = 2

// screen screens a text that was decoded depth times.
func screen(text string, depth int) []Finding {
	s := scan(text, depth)
	if depth == 0 && !Grave(s.findings) {
		s.joined()
	}
	return s.sorted()
}

// scan returns the screening of an unchanged text. Beyond maxDepth nothing is decoded, and no cue is read.
func scan(text string, depth int) *scanner {
	s := &scanner{depth: depth}
	if len(text) > MaxText {
		s.note(Finding{Rule: Unread, Start: MaxText, End: len(text), Slight: true})
		text = text[:MaxText]
	}
	s.source = text
	s.folded = fold(text)
	instructions.match(s.folded, func(p *phrase, start, end int) {
		s.noteFolded(Finding{Rule: p.rule, Start: start, End: end, Slight: p.slight})
	})
	s.marks()
	s.hidden()
	for _, pair := range [][2]string{{"<!--", "-->"}, {"[//]: #", "\n"}, {"[comment]: ", "\n"}} {
		s.commentsIn(pair[0], pair[1])
	}
	s.images()
	s.encoded()
	if depth <= maxDepth {
		s.cues()
	}
	return s
}

// scanner is the screening of one text.
type scanner struct {
	source   string
	folded   *folded
	depth    int
	findings []Finding
}

func (s *scanner) note(f Finding) {
	if f.Start >= f.End {
		return
	}
	if n := len(s.findings); n > 0 {
		if last := &s.findings[n-1]; last.Rule == Hidden && f.Rule == Hidden && last.Slight == f.Slight && last.End == f.Start {
			last.End = f.End
			return
		}
	}
	s.findings = append(s.findings, f)
}

// noteFolded notes a finding with offsets into the folded text.
func (s *scanner) noteFolded(f Finding) {
	f.Start, f.End = int(s.folded.at[f.Start]), int(s.folded.at[f.End])
	s.note(f)
}

// sorted returns the findings in order, without those within another one of the same rule.
func (s *scanner) sorted() []Finding {
	slices.SortFunc(s.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(a.Rule, b.Rule), grave(a, b))
	})
	ends := make(map[Rule]int)
	weights := make(map[Rule]bool)
	return slices.DeleteFunc(s.findings, func(f Finding) bool {
		end, seen := ends[f.Rule]
		if seen && f.End <= end && (f.Slight || !weights[f.Rule]) {
			return true
		}
		ends[f.Rule], weights[f.Rule] = max(end, f.End), f.Slight
		return false
	})
}

// grave compares two findings: grave ones sort before slight ones.
func grave(a, b Finding) int {
	switch {
	case a.Slight == b.Slight:
		return 0
	case a.Slight:
		return 1
	}
	return -1
}

// Grave reports whether any finding is not slight.
func Grave(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return !f.Slight })
}

// Orders returns the grave findings in words of the caller or of a model.
func Orders(text string) []Finding { return graveOnly(Screen(text)) }

func graveOnly(findings []Finding) []Finding {
	return slices.DeleteFunc(findings, func(f Finding) bool { return f.Slight })
}

// Rules returns the names of the rules of the grave findings, in the order of the alphabet.
func Rules(findings []Finding) string { return rules(findings) }
