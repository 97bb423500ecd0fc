// Package scripted is an agent that answers by a list of patterns. It is for tests, for
// demonstrations, and for questions that always have the same answer.
//
// A script is a YAML file. Its patterns are tried from the first to the last. The first one
// that matches the text of the message provides the answer, with $1 and so on for the groups of
// the pattern. If none matches, the answer is otherwise; without otherwise the task is
// rejected.
//
//	answers:
//	  - match: what is your name
//	    answer: Ada
//	  - match: 'question (\d+)'
//	    answer: Nothing about $1.
//	otherwise: I do not know.
//
// # Guarantees
//
// Patterns are regular expressions of package regexp, which take linear time; they ignore case.
// Only the question that a hub passes on is matched, not the conversation before it (package
// internal/inbox/question). Runs may be repeated.
//
// # Non-guarantees
//
// It understands nothing.
package scripted

import (
	"context"
	"iter"
	"regexp"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// Script is an agent that answers by patterns. The zero Script rejects every message.
type Script struct {
	rules     []rule
	otherwise string
}

type rule struct {
	match  *regexp.Regexp
	answer string
}

var (
	_ a2asrv.AgentExecutor = (*Script)(nil)
	_ agent.Described      = (*Script)(nil)
)

// file is a script in its YAML form.
type file struct {
	Answers   []answer `yaml:"answers"`
	Otherwise string   `yaml:"otherwise"`
}

type answer struct {
	Match  string `yaml:"match"`
	Answer string `yaml:"answer"`
}

// Load reads the script at path.
func Load(path string) (*Script, error) { return yamlfile.Load(path, Parse) }

// Parse parses src, which was read from the file at path. Errors name the file, line and key.
func Parse(path string, src []byte) (*Script, error) {
	var f file
	s := new(Script)
	err := yamlfile.Parse(path, src, &f, func(d *yamlfile.Decoder) {
		s.otherwise = f.Otherwise
		for i, a := range f.Answers {
			key := "answers[" + strconv.Itoa(i) + "]"
			switch {
			case a.Match == "":
				d.Problem(nil, key+".match", "is missing")
			case a.Answer == "":
				d.Problem(nil, key+".answer", "is missing")
			default:
				s.rules = append(s.rules, rule{d.Pattern(key+".match", a.Match), a.Answer})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Traits implements agent.Described. A script resumes without a checkpoint: it answers however
// often the hub crashed before.
func (s *Script) Traits() agent.Traits { return agent.Traits{AfterCrash: agent.Resume} }

// Kind returns "scripted", the kind of the agent for people.
func (s *Script) Kind() string { return "scripted" }

// Execute implements a2asrv.AgentExecutor.
func (s *Script) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text, ok := s.answer(asked(ec.Message))
		state := a2a.TaskStateCompleted
		if !ok {
			state, text = a2a.TaskStateRejected, "the script has no answer to this"
		}
		yield(agent.Status(ec, state, a2a.NewTextPart(text)), nil)
	}
}

// Cancel implements a2asrv.AgentExecutor. It has no work to stop.
func (s *Script) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return agent.ConfirmCancel(ec)
}

// askedKey is the metadata with the question that a hub passes on (package internal/inbox/question).
const askedKey = "parley.asked"

// asked returns the question that a hub passes on with a message, or else the text of the
// message.
func asked(m *a2a.Message) string {
	if m != nil {
		if q, ok := m.Metadata[askedKey].(map[string]any); ok {
			if text, ok := q["text"].(string); ok {
				return text
			}
		}
	}
	return agent.Text(m)
}

// answer returns the answer to a question; false if there is none.
func (s *Script) answer(question string) (string, bool) {
	for _, r := range s.rules {
		if at := r.match.FindStringSubmatchIndex(question); at != nil {
			return string(r.match.ExpandString(nil, r.answer, question, at)), true
		}
	}
	return s.otherwise, s.otherwise != ""
}
