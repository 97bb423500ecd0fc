package check

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/internal/check/acts"
	"github.com/parley-a2a/parley/internal/check/wire"
)

//go:embed requirements/*.yaml
var documents embed.FS

// groups are the requirements by subject: the card, each interface of v1.0, all interfaces of
// v1.0 together, and each interface of v0.3.
type groups struct {
	card, each, across, legacy []requirement
}

// catalogue returns the requirements of all documents, each group in document order.
var catalogue = sync.OnceValue(func() *groups {
	g := &groups{card: read("card"), across: read("across"), legacy: read("v03")}
	for _, name := range []string{"send", "tasks", "streams", "push", "errors", "wire", "data"} {
		g.each = append(g.each, read(name)...)
	}
	return g
})

// written is a requirement of a document, in the form of an ACTS test. Without steps, programs
// has its function under its id.
type written struct {
	ID            string         `json:"id"`
	Level         string         `json:"level"` // must if empty
	Section       string         `json:"spec_ref"`
	Text          string         `json:"name"`
	Bindings      []wire.Binding `json:"transport"`
	Preconditions struct {
		Capabilities map[string]bool `json:"capabilities"`
	} `json:"preconditions"`
	Steps []step `json:"steps"`
}

// step is one call, or with Given the answer of a fixture, and its assertions.
type step struct {
	ID        string         `json:"id"`
	Given     string         `json:"given"`
	Operation string         `json:"operation"`
	Params    map[string]any `json:"params"`
	Raw       *struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body_raw"`
	} `json:"raw"`
	// Version replaces that of the interface; RequestID replaces the id of the JSON-RPC
	// request.
	Version   string `json:"version"`
	RequestID any    `json:"request_id"`
	// Malformed is set if the message is invalid: its task is excluded from all checks.
	Malformed bool `json:"malformed"`
	// Returns is "task" if the result must have a task, to which the assertions then apply, and
	// "any" if both an error and a result are accepted.
	Returns     string         `json:"returns"`
	ExpectError map[string]any `json:"expect_error"`
	// Required makes the step a prerequisite: if it fails, the requirement is not offered.
	Required   bool        `json:"required"`
	Assertions []assertion `json:"assertions"`
	// Shows lists the steps whose exchanges are also evidence of a failure.
	Shows []string `json:"shows"`
}

// assertion is an ACTS assertion on the result of a step, with the report's sentence if it does
// not hold.
type assertion struct {
	// Source is empty for the result, or "answer" for the status, media_type, headers, body and
	// error of the answer.
	Source string `json:"source"`
	Path   string `json:"path"`
	Match  any    `json:"match"`
	// Each is the path of an array; Assertions then apply to its elements.
	Each       string      `json:"each"`
	Assertions []assertion `json:"assertions"`
	// Reason is the reason of a failure. With NotOffered, the requirement is not offered
	// instead.
	Reason     string `json:"reason"`
	NotOffered string `json:"not_offered"`
}

// read returns the requirements of a document. It panics if the document is invalid, because
// documents are embedded in the program.
func read(name string) []requirement {
	var d struct {
		Messages     []any      `json:"messages"` // for the aliases in Requirements
		Requirements []*written `json:"requirements"`
	}
	data, err := documents.ReadFile("requirements/" + name + ".yaml")
	if err == nil {
		err = acts.Decode(data, &d)
	}
	if err != nil {
		panic(fmt.Sprintf("requirements/%s.yaml: %v", name, err))
	}
	var all []requirement
	for _, w := range d.Requirements {
		r := requirement{
			Requirement: Requirement{w.ID, Must, w.Section, w.Text},
			bindings:    w.Bindings, capabilities: w.Preconditions.Capabilities, check: programs[w.ID],
		}
		if w.Level != "" {
			r.Level = Level(strings.ToUpper(w.Level))
		}
		if (r.check == nil) == (len(w.Steps) == 0) {
			panic(fmt.Sprintf("requirements/%s.yaml: %s needs either steps or a function", name, w.ID))
		}
		if r.check == nil {
			r.check = w.check
		}
		all = append(all, r)
	}
	return all
}

// execution is one check of a written requirement.
type execution struct {
	*probe
	scope acts.Scope
	shown map[string]*wire.Exchange // by step
}

// check executes the steps until one fails.
func (w *written) check(ctx context.Context, p *probe) error {
	e := &execution{probe: p, shown: map[string]*wire.Exchange{}}
	for i := range w.Steps {
		if err := e.step(ctx, &w.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *execution) step(ctx context.Context, s *step) error {
	x, root, err := e.exchange(ctx, s)
	if err != nil {
		return err
	}
	e.shown[s.ID] = x
	if root == nil {
		if root, err = s.judge(x); err != nil && s.ExpectError == nil {
			return err
		}
	}
	if err == nil {
		e.scope.Keep(s.ID, root)
		err = e.assert(s.Assertions, root, x)
	}
	for _, id := range s.Shows {
		err = with(err, e.shown[id])
	}
	return err
}

// exchange executes the call of a step. root is the value of a fixture that has judged the
// answer.
func (e *execution) exchange(ctx context.Context, s *step) (x *wire.Exchange, root any, err error) {
	if s.Given != "" {
		return fixtures[s.Given](ctx, e.probe)
	}
	if s.Raw != nil {
		if e.iface.Binding == wire.JSONRPC {
			return e.raw(ctx, s.Raw.Body), nil, nil
		}
		path, err := e.scope.Fill(s.Raw.Path)
		return e.plainly(ctx, s.Raw.Method, fmt.Sprint(path), s.Raw.Headers["Content-Type"], s.Raw.Body), nil, err
	}
	var params map[string]any
	if s.Params != nil {
		filled, err := e.scope.Fill(s.Params)
		if err != nil {
			return nil, nil, err
		}
		params, _ = filled.(map[string]any)
	}
	x = e.do(ctx, wire.Request{Op: acts.Operation(s.Operation), Params: params, Version: s.Version, ID: s.RequestID})
	if s.Malformed {
		e.disregard(x)
	}
	return x, nil, nil
}

// judge returns the result of an answer, or an error if the answer is not as expected.
func (s *step) judge(x *wire.Exchange) (result any, err error) {
	switch {
	case s.Returns == "task":
		return task(x)
	case s.ExpectError != nil:
		err = refused(x, kinds(s.ExpectError["error_type"])...)
	case s.Returns == "any" && x.Err == nil:
	default:
		err = ok(x)
	}
	if s.Required {
		err = require(err)
	}
	return x.Result, err
}

// kinds returns the kinds of an error_type: a name, or one of several.
func kinds(want any) []wire.Kind {
	if name, ok := want.(string); ok {
		return []wire.Kind{wire.Kind(name)}
	}
	var all []wire.Kind
	for _, name := range list(want, "one_of") {
		all = append(all, wire.Kind(name.(string)))
	}
	return all
}

// assert returns the reason of the first assertion that does not hold for root.
func (e *execution) assert(all []assertion, root any, x *wire.Exchange) error {
	for i := range all {
		if err := e.holds(&all[i], root, x); err != nil {
			return err
		}
	}
	return nil
}

// missing asserts that there is no value. If an assertion refers to an absent value of an
// earlier step, its own value must be absent as well.
var missing = map[string]any{"absent": true}

func (e *execution) holds(a *assertion, root any, x *wire.Exchange) error {
	if a.Source == "answer" {
		root = envelope(x)
	}
	if a.Each != "" {
		items, err := acts.Lookup(root, a.Each+"[*]")
		for i, item := range items {
			e.scope.Keep("number", json.Number(strconv.Itoa(i+1)))
			if err := e.assert(a.Assertions, item, x); err != nil {
				return err
			}
		}
		return err
	}
	e.scope.Keep("it", root)
	want, err := e.scope.Fill(a.Match)
	switch {
	case err != nil:
		return err
	case acts.Match(root, a.Path, want) == nil, want == "" && acts.Match(root, a.Path, missing) == nil:
		return nil
	case a.NotOffered != "":
		return notOffered(e.sentence(a.NotOffered))
	}
	return failf(x, "%s", e.sentence(a.Reason))
}

// envelope returns the properties of an answer besides its result.
func envelope(x *wire.Exchange) map[string]any {
	headers := map[string]any{}
	for name := range x.Header {
		headers[strings.ToLower(name)] = x.Header.Get(name)
	}
	all := map[string]any{
		"status": json.Number(strconv.Itoa(x.Status)), "media_type": wire.MediaType(x.Header), "headers": headers, "body": x.Envelope,
	}
	if f := x.Fault; f != nil {
		fault := map[string]any{"message": f.Message, "reason": f.Reason(), "details": f.Details}
		if f.Data != nil {
			fault["data"] = f.Data
		}
		all["error"] = fault
	}
	return all
}

var placeholder = regexp.MustCompile(`\{\{([\w.\[\]-]+)(\|\w+)?\}\}`)

// sentence fills the placeholders of a reason. A placeholder is replaced by a text or a number,
// and by nothing for other values. With "|json" it is replaced by any value, with "|count" by
// the length of an array. "it" is the object of the assertion.
func (e *execution) sentence(reason string) string {
	return placeholder.ReplaceAllStringFunc(reason, func(ref string) string {
		m := placeholder.FindStringSubmatch(ref)
		v := e.scope.Value(m[1])
		switch m[2] {
		case "|json":
			return compact(v)
		case "|count":
			return strconv.Itoa(len(list(v)))
		}
		switch v := v.(type) {
		case string:
			return v
		case json.Number:
			return v.String()
		}
		return ""
	})
}
