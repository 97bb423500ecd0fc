package acts

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// Webhook receives notifications for tests that declare webhook_endpoint.
type Webhook interface {
	// URL returns a new URL that the server can reach.
	URL() string
	// Wait returns the requests to the URL, as an array of objects with header and body. It
	// waits for the first, until ctx ends.
	Wait(ctx context.Context, url string) []any
}

// Runner runs tests against one server.
type Runner struct {
	// Base is the URL above the agent's card; CardURL is the URL of the card.
	Base, CardURL string
	// Card is the decoded card.
	Card any
	// Interface is the interface to test; Caller calls it.
	Interface wire.Interface
	Caller    wire.Caller
	// HTTP sends raw requests.
	HTTP wire.HTTP
	// Webhook receives notifications; nil if the server cannot reach one.
	Webhook Webhook
	// Redactor removes credentials from reports.
	Redactor *wire.Redactor
	// Only lists the ids of suites and tests to run; empty means all.
	Only []string
	// TestTimeout bounds a test. The default is 2 min.
	TestTimeout time.Duration
	// LookupEnv returns environment variables; if nil, there are none.
	LookupEnv func(string) (string, bool)
}

// testTimeout is the TestTimeout of a zero Runner.
const testTimeout = 2 * time.Minute

// Run runs the tests of documents.
func (r *Runner) Run(ctx context.Context, documents []*Document) *Report {
	began := time.Now()
	report := &Report{
		ActsVersion: "1.0", SpecVersion: r.Interface.Version, GeneratedAt: began.UTC().Format(time.RFC3339),
		SDK:         SDK{Name: text(r.Card, "name"), Version: text(r.Card, "version"), Language: "unknown"},
		Transport:   string(r.Interface.Binding),
		Environment: map[string]string{"os": runtime.GOOS, "runner": "parley check"},
	}
	for _, d := range documents {
		report.ActsVersion = d.ActsVersion
		for i := range d.Suites {
			if s := r.suite(ctx, d, &d.Suites[i]); len(s.Tests) > 0 {
				report.Suites = append(report.Suites, s)
			}
		}
	}
	report.summarize(time.Since(began))
	return report
}

func (r *Runner) suite(ctx context.Context, d *Document, s *Suite) SuiteResult {
	result := SuiteResult{ID: s.ID, Name: s.Name}
	for i := range s.Tests {
		t := &s.Tests[i]
		if len(r.Only) == 0 || slices.Contains(r.Only, t.ID) || slices.Contains(r.Only, s.ID) {
			result.Tests = append(result.Tests, r.test(ctx, d, t))
		}
	}
	return result
}

// run is one run of a test.
type run struct {
	*Runner
	test *Test
	scope
	last *wire.Exchange // the exchange that a failure shows
	open map[string]bool
}

// watch records the ids of tasks that a test leaves open.
func (r *run) watch(x *wire.Exchange) {
	root := x.Result
	if task, err := single(root, "task"); err == nil && task.there {
		root = task.v
	}
	id, state := text(root, "id"), text(root, "status.state")
	switch {
	case id == "" || state == "":
	case next[state] != nil || state == "TASK_STATE_SUBMITTED":
		r.open[id] = true
	default:
		delete(r.open, id)
	}
}

// tidy cancels the tasks that a test left open, so that no agent continues to work on them.
func (r *run) tidy(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for id := range r.open {
		r.Caller.Call(ctx, wire.Request{Op: wire.CancelTask, Params: map[string]any{"id": id}})
	}
}

func (r *Runner) test(ctx context.Context, d *Document, t *Test) TestResult {
	result := TestResult{ID: t.ID, Name: t.Name, Level: t.Level, SpecRef: t.SpecRef, Result: Pass}
	if why := r.inapplicable(t); why != "" {
		result.Result, result.SkipReason = Skip, why
		return result
	}
	limit := r.TestTimeout
	if limit <= 0 {
		limit = testTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the test took longer than %v", limit))
	defer cancel()
	began := time.Now()
	one := &run{Runner: r, test: t, open: map[string]bool{}, scope: scope{
		steps: map[string]*answer{}, captured: map[string]any{}, own: d.Variables, hints: r.given(t), env: r.LookupEnv,
	}}
	result.judge(one.steps(ctx, &result), "", r.Redactor)
	one.tidy(ctx)
	if result.Result != Pass {
		result.Evidence = r.Redactor.Text(one.last)
	}
	result.DurationMS = time.Since(began).Milliseconds()
	return result
}

func (t *TestResult) judge(err error, step string, red *wire.Redactor) {
	if t.Result != Pass || err == nil {
		return
	}
	t.Result, t.Failure = outcomeOf(err, red)
	t.Failure.StepID = step
}

// outcomeOf distinguishes a failure of the server from an error of the test.
func outcomeOf(err error, red *wire.Redactor) (Outcome, *Failure) {
	f := &Failure{Message: red.Redact(err.Error())}
	var m *mismatch
	var u unclear
	switch {
	case errors.As(err, &m):
		f.Expected, f.Actual, f.AssertionPath = red.Redact(m.want), red.Redact(m.got), strings.TrimPrefix(m.path, ".")
	case errors.As(err, &u):
		return Error, f
	}
	return Fail, f
}

// steps runs the steps one after the other, until one fails.
func (r *run) steps(ctx context.Context, result *TestResult) error {
	for i := range r.test.Steps {
		s := &r.test.Steps[i]
		began := time.Now()
		err := r.step(ctx, s)
		took := StepResult{ID: s.ID, Result: Pass, DurationMS: time.Since(began).Milliseconds()}
		if err != nil {
			took.Result, took.Failure = outcomeOf(err, r.Redactor)
		}
		result.Steps = append(result.Steps, took)
		result.judge(err, s.ID, r.Redactor)
		if err != nil {
			return nil
		}
	}
	return r.assertions(ctx, r.test.Assertions)
}

// inapplicable returns the reason why a test does not apply; empty if it does.
func (r *Runner) inapplicable(t *Test) string {
	b := r.Interface.Binding
	client := slices.ContainsFunc(t.Steps, func(s step) bool { return s.Client != nil })
	switch {
	case len(t.Transport) > 0 && !slices.Contains(t.Transport, b):
		return fmt.Sprintf("the test is not about %s", b)
	case client && b != wire.JSONRPC:
		return "client steps have payloads of JSON-RPC"
	}
	for _, n := range t.Needs {
		switch {
		case n == "concurrent_streams", n == "stream_disconnect":
			return "this runner opens one stream at a time"
		case n == "webhook_endpoint" && r.Webhook == nil:
			return "there is no address at which the server could reach a webhook"
		case n == "auth_credentials" && r.HTTP.Key == "":
			return "no credential was given"
		}
	}
	if why := r.unmet(t.Preconditions); why != "" {
		return why
	}
	return r.unspoken(t)
}

// unspoken returns a capability that a test uses without declaring it as a precondition, as
// several tests of the draft do; empty if the card declares all of them.
func (r *Runner) unspoken(t *Test) string {
	for i := range t.Steps {
		s := &t.Steps[i]
		capability := ""
		switch op := operations[s.Operation]; {
		case s.ExpectError != nil, expectsError(s.Expect):
		case op.Streams(), s.Stream != nil:
			capability = "streaming"
		case op == wire.CreatePush, op == wire.GetPush, op == wire.ListPush, op == wire.DeletePush:
			capability = "pushNotifications"
		}
		if capability == "" {
			continue
		}
		if got, err := single(r.Card, "capabilities."+capability); err != nil || got.v != true {
			return "the card does not declare " + capability
		}
	}
	return ""
}

// unmet returns the precondition that the card does not meet; empty if it meets all.
func (r *Runner) unmet(p *preconditions) string {
	if p == nil {
		return ""
	}
	for name, want := range p.Capabilities {
		got, err := single(r.Card, "capabilities."+name)
		if err != nil || !got.there && want != false && want != nil || got.there && match("", want, got) != nil {
			return fmt.Sprintf("the card does not have the capability %s: %s", name, shown(want))
		}
	}
	for _, s := range p.Skills {
		if !r.cardHas("skills[*].id", s.ID) {
			return "the card does not have the skill " + s.ID
		}
	}
	for _, e := range p.Extensions {
		if !r.cardHas("capabilities.extensions[*].uri", e) {
			return "the card does not have the extension " + e
		}
	}
	if len(p.Transport) > 0 && !slices.Contains(p.Transport, r.Interface.Binding) {
		return fmt.Sprintf("the test is not about %s", r.Interface.Binding)
	}
	return ""
}

func (r *Runner) cardHas(path, want string) bool {
	found, err := Lookup(r.Card, path)
	return err == nil && slices.Contains(found, any(want))
}

// nowhere is a webhook URL for tests that only register one.
const nowhere = "https://example.com/webhooks/parley-check"

// given returns the variables that the runner defines.
func (r *Runner) given(t *Test) map[string]string {
	hook := nowhere
	if r.Webhook != nil && slices.Contains(t.Needs, "webhook_endpoint") {
		hook = r.Webhook.URL()
	}
	return map[string]string{"baseUrl": r.Base, "SUT_BASE_URL": r.Base, "webhookUrl": hook}
}

func text(v any, path string) string {
	got, err := single(v, path)
	if err != nil {
		return ""
	}
	s, _ := got.v.(string)
	return s
}
