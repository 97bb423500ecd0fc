// Package scripted is a language model that follows a script. It is for tests, for
// demonstrations, and for users without an API key. The script replaces the provider: a request
// gets the first turn that matches.
//
// # Overview
//
// A script is a YAML file. For each request its turns are tried from the first to the last. The
// first one that matches is the model's next message. A turn without when always matches.
//
//	turns:
//	  - when: {role: user, last: 'weather in (\w+)'}
//	    text: Let me ask.
//	    calls:
//	      - {name: agent_run_weather, arguments: {prompt: the weather in $1}}
//	  - when: {role: tool, tool: agent_run_weather}
//	    text: Take an umbrella.
//
// A turn matches if all conditions under when hold: role (user or tool, of the last message),
// last (a pattern for its text), tool (a pattern for the name of the tool whose result is the
// last message), said (a pattern for any message of the user), system (one for the
// instructions), model (one for the name of the model), turn (the number of messages that the
// model has written since the last one of the user, from 0), and offers (the name of a required
// tool). $1 and so on in texts and arguments are the groups of last, or of said without last.
//
// The members of a turn are: text (written word by word), calls (a list of name and arguments,
// or raw for invalid JSON), data (written as a part of its own), usage (input and output in
// tokens; estimated by default), delay (before each piece), finish (the reason, stop), times
// (the number of times that the turn may match in the life of the process), and errors: error
// (status, retry_after and message, after the text), cut (the stream ends after the text
// without a reason) and stall (the stream ends with the request).
//
// # Guarantees
//
// Patterns are regular expressions of package regexp and ignore case. The same request gets the
// same message, except for turns with times.
//
// # Non-guarantees
//
// It understands nothing. A request that no turn matches is refused.
//
// # Concurrency
//
// A Script is safe for concurrent use. It starts no goroutines.
package scripted

import (
	"context"
	"encoding/json"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/llm"
)

// Script is a model that follows a script. The zero Script refuses every request.
type Script struct{ turns []*turn }

var _ llm.Provider = (*Script)(nil)

// turn is a parsed turn.
type turn struct {
	spec
	last, said, system, tool *regexp.Regexp
	model                    *regexp.Regexp
	used                     atomic.Int64
	text                     string
	calls                    []call
	data                     json.RawMessage
	delay, retryAfter        time.Duration
}

// call is a tool call in a turn.
type call struct{ name, arguments string }

// Load reads the script at path.
func Load(path string) (*Script, error) { return yamlfile.Load(path, Parse) }

// Complete implements llm.Provider.
func (s *Script) Complete(ctx context.Context, r *llm.Request) iter.Seq2[*llm.Delta, error] {
	return func(yield func(*llm.Delta, error) bool) {
		at := situationOf(r)
		for _, t := range s.turns {
			if groups, ok := t.fits(at); ok {
				t.play(ctx, r, groups, yield)
				return
			}
		}
		yield(nil, &llm.ProviderError{Message: "no turn of the script matches: the last message is " + strconv.Quote(clip.Bytes(at.last, maxClip)), Final: true})
	}
}

const maxClip = 200

// situation holds the facts about a request that conditions can use.
type situation struct {
	model, system, role, last, tool string
	said                            []string
	turn                            int
	offers                          map[string]bool
}

func situationOf(r *llm.Request) *situation {
	at := &situation{model: r.Model, offers: make(map[string]bool)}
	names := make(map[string]string)
	for i := range r.Messages {
		m := &r.Messages[i]
		at.role, at.last, at.tool = m.Role, m.Content.Text(), ""
		switch m.Role {
		case "system", "developer":
			at.system += at.last + "\n"
		case "user":
			at.said, at.turn = append(at.said, at.last), 0
		case "assistant":
			at.turn++
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Function.Name
			}
		case "tool":
			at.tool = names[m.ToolCallID]
		}
	}
	for i := range r.Tools {
		at.offers[r.Tools[i].Name] = true
	}
	return at
}

func (t *turn) fits(at *situation) (*groups, bool) {
	w := &t.When
	switch {
	case w.Role != "" && w.Role != at.role,
		t.tool != nil && !t.tool.MatchString(at.tool),
		t.system != nil && !t.system.MatchString(at.system),
		t.model != nil && !t.model.MatchString(at.model),
		w.Turn != nil && *w.Turn != at.turn,
		w.Offers != "" && !at.offers[w.Offers]:
		return nil, false
	}
	g := new(groups)
	if t.said != nil && !g.findAny(t.said, at.said) {
		return nil, false
	}
	if t.last != nil && !g.find(t.last, at.last) {
		return nil, false
	}
	if t.Times > 0 && t.used.Add(1) > int64(t.Times) {
		return nil, false
	}
	return g, true
}

// groups are the groups that a pattern has matched.
type groups struct {
	re   *regexp.Regexp
	in   string
	span []int
}

func (g *groups) find(re *regexp.Regexp, in string) bool {
	span := re.FindStringSubmatchIndex(in)
	if span == nil {
		return false
	}
	g.re, g.in, g.span = re, in, span
	return true
}

func (g *groups) findAny(re *regexp.Regexp, texts []string) bool {
	for i := range texts {
		if g.find(re, texts[len(texts)-1-i]) {
			return true
		}
	}
	return false
}

// expand inserts the groups into a text.
func (g *groups) expand(text string) string {
	if g.re == nil {
		return text
	}
	return string(g.re.ExpandString(nil, text, g.in, g.span))
}

// expandJSON inserts the groups into the strings of a JSON value.
func (g *groups) expandJSON(value string) string {
	if g.re == nil || !strings.Contains(value, "$") {
		return value
	}
	var v any
	if json.Unmarshal([]byte(value), &v) != nil {
		return g.expand(value)
	}
	b, err := json.Marshal(g.expandValue(v))
	if err != nil {
		return value
	}
	return string(b)
}

func (g *groups) expandValue(v any) any {
	switch v := v.(type) {
	case string:
		return g.expand(v)
	case []any:
		for i := range v {
			v[i] = g.expandValue(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = g.expandValue(v[k])
		}
	}
	return v
}

// play yields the pieces of a turn.
func (t *turn) play(ctx context.Context, r *llm.Request, g *groups, yield func(*llm.Delta, error) bool) {
	send := func(d *llm.Delta) bool {
		if t.delay > 0 {
			if err := backoff.Sleep(ctx, t.delay); err != nil {
				yield(nil, err)
				return false
			}
		}
		return yield(d, nil)
	}
	text := g.expand(t.text)
	written := len(text)
	for _, word := range strings.SplitAfter(text, " ") {
		if word != "" && !send(&llm.Delta{Text: word}) {
			return
		}
	}
	for i, c := range t.calls {
		arguments := g.expandJSON(c.arguments)
		written += len(arguments)
		half := len(arguments) / 2
		first := llm.CallDelta{Index: i, ID: "call_" + strconv.Itoa(len(r.Messages)) + "_" + strconv.Itoa(i), Name: c.name, Arguments: arguments[:half]}
		if !send(&llm.Delta{Calls: []llm.CallDelta{first}}) ||
			!send(&llm.Delta{Calls: []llm.CallDelta{{Index: i, Arguments: arguments[half:]}}}) {
			return
		}
	}
	if len(t.data) > 0 && !send(&llm.Delta{Parts: []*a2a.Part{t.part(g)}}) {
		return
	}
	t.end(ctx, r, written, yield)
}

func (t *turn) part(g *groups) *a2a.Part {
	var v any
	_ = json.Unmarshal([]byte(g.expandJSON(string(t.data))), &v) // the JSON was encoded from a value
	p := a2a.NewDataPart(v)
	p.MediaType = "application/json"
	return p
}

func (t *turn) end(ctx context.Context, r *llm.Request, written int, yield func(*llm.Delta, error) bool) {
	switch {
	case t.Stall:
		<-ctx.Done()
		yield(nil, context.Cause(ctx))
		return
	case t.Error != nil:
		yield(nil, llm.StatusError(t.Error.Status, t.retryAfter, t.Error.Message))
		return
	case t.Cut:
		return
	}
	finish := t.Finish
	if finish == "" {
		finish = llm.FinishStop
		if len(t.calls) > 0 {
			finish = llm.FinishCalls
		}
	}
	u := &llm.Usage{Input: int64(t.Usage.Input), Output: int64(t.Usage.Output)}
	if u.Input == 0 && u.Output == 0 {
		u.Input, u.Output = tokens(r.Messages), int64(written)/4+1
	}
	yield(&llm.Delta{Finish: finish, Usage: u}, nil)
}

// tokens estimates the number of tokens of a conversation.
func tokens(msgs []llm.ChatMessage) (n int64) {
	for i := range msgs {
		n += int64(len(msgs[i].Content.Text()))/4 + 1
	}
	return n
}
