package guard

import (
	"cmp"
	"slices"
)

// MaxText is how many bytes of a text are screened, and how many of one a Guard shows.
const MaxText = 4 << 20

// Rule names what a Finding is.
type Rule string

// The rules of the screen.
const (
	// Override orders the reader to drop the instructions that it has.
	Override Rule = "override"
	// Task gives the reader a new task, or instructions that replace others.
	Task Rule = "task"
	// Persona makes the reader somebody who has no rules.
	Persona Rule = "persona"
	// Secrets asks for the reader's instructions, credentials or conversations.
	Secrets Rule = "secrets"
	// Conceal orders the reader to keep something from the person.
	Conceal Rule = "conceal"
	// Address speaks to whatever model reads it.
	Address Rule = "address"
	// Authority claims to speak for those who made or own the reader, or that the person
	// has agreed.
	Authority Rule = "authority"
	// Tool orders the use of tools.
	Tool Rule = "tool"
	// Steer orders a judgement.
	Steer Rule = "steer"
	// Role has the marks by which models tell who speaks.
	Role Rule = "role"
	// Syntax has the marks by which models call tools, or read their results.
	Syntax Rule = "syntax"
	// Hidden has characters or styles that people do not see.
	Hidden Rule = "hidden"
	// Comment has orders where people do not see them.
	Comment Rule = "comment"
	// Encoded has orders that must be decoded first.
	Encoded Rule = "encoded"
	// Image has an image or link whose address carries away what the reader knows.
	Image Rule = "image"
	// Unread is what lies beyond MaxText.
	Unread Rule = "unread"
)

// Finding is what looks like an order to the reader.
type Finding struct {
	// Rule is what it is.
	Rule Rule
	// Start and End are where it stands: offsets of bytes in the text.
	Start, End int
	// Slight says that it has harmless uses, so that it alone is no reason to withhold
	// anything.
	Slight bool
}

// Screen returns what in text looks like orders to its reader, in the order in which it
// stands there. Findings may overlap.
func Screen(text string) []Finding {
	return screen(text, 0)
}

// maxDepth is how often what was decoded is decoded again.
const maxDepth = 2

func screen(text string, depth int) []Finding {
	s := scan{depth: depth}
	if len(text) > MaxText {
		s.note(Finding{Rule: Unread, Start: MaxText, End: len(text), Slight: true})
		text = text[:MaxText]
	}
	s.source = text
	s.folded = fold(text)
	s.phrases()
	s.marks()
	s.hidden()
	s.comments()
	s.images()
	s.encoded()
	if depth == 0 && !Grave(s.findings) {
		s.joined()
	}
	return s.sorted()
}

// scan is the screening of one text.
type scan struct {
	source   string
	folded   *folded
	depth    int
	findings []Finding
}

func (s *scan) note(f Finding) {
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

// noteFolded notes a finding whose offsets are those of the folded text.
func (s *scan) noteFolded(f Finding) {
	f.Start, f.End = s.folded.span(f.Start, f.End)
	s.note(f)
}

func (s *scan) phrases() {
	orders.find(s.folded, func(p *phrase, start, end int) {
		s.noteFolded(Finding{Rule: p.rule, Start: start, End: end, Slight: p.slight})
	})
}

// sorted returns the findings in their order, without those within another of the same
// rule.
func (s *scan) sorted() []Finding {
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

// grave sorts grave findings before slight ones.
func grave(a, b Finding) int {
	switch {
	case a.Slight == b.Slight:
		return 0
	case a.Slight:
		return 1
	}
	return -1
}

// Grave reports whether one of findings is not slight.
func Grave(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return !f.Slight })
}
