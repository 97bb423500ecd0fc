package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/check/acts"
	"github.com/parley-a2a/parley/internal/check/wire"
)

// suiteTimeout bounds each call of a suite. Some behaviours take five seconds.
const suiteTimeout = 30 * time.Second

// Suite runs the tests of documents over all interfaces of v1.0 in parallel. It returns a
// report like Run, and a report in the format of ACTS for each interface. Only selects suites
// and tests. The error is as for Run.
func Suite(ctx context.Context, documents []*acts.Document, o Options, env func(string) (string, bool)) (*Report, []*acts.Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(max(o.Timeout, 0), 3*DefaultTimeout), fmt.Errorf("the suite took too long"))
	defer cancel()
	o.Wire.Timeout = cmp.Or(o.Wire.Timeout, suiteTimeout)
	r := &run{options: o, report: &Report{URL: wire.NewRedactor(o.Wire.Key).Redact(o.URL)}}
	began := time.Now()
	if err := r.discover(ctx); err != nil {
		return nil, nil, err
	}
	defer r.close()
	all := r.suites(ctx, documents, env)
	r.report.Duration = time.Since(began).Seconds()
	if cause := context.Cause(ctx); cause != nil {
		return r.report, all, cause
	}
	return r.report, all, nil
}

// suites runs the documents on all interfaces in parallel, because the tests mostly wait.
func (r *run) suites(ctx context.Context, documents []*acts.Document, env func(string) (string, bool)) []*acts.Report {
	reports := make([]*acts.Report, len(r.targets))
	var wg sync.WaitGroup
	for i, f := range r.targets {
		if f.probe != nil && f.iface.Version == version1 {
			wg.Go(func() { reports[i] = r.runner(f, env).Run(ctx, documents) })
		}
	}
	wg.Wait()
	for i, f := range r.targets {
		switch {
		case reports[i] != nil:
			r.adopt(f.iface, reports[i])
		case f.err != nil:
			r.report.Results = append(r.report.Results, Result{
				Requirement: Requirement{ID: "card.reachable", Level: Must, Section: "§8.3.1", Text: "Behind each interface there is a server of that binding."},
				Interface:   f.iface.String(), Outcome: Fail, Detail: r.redact.Redact(f.err.Error()),
			})
		}
	}
	return slices.DeleteFunc(reports, func(one *acts.Report) bool { return one == nil })
}

func (r *run) runner(f *target, env func(string) (string, bool)) *acts.Runner {
	base, _, _ := strings.Cut(r.cardURL, "/.well-known/")
	runner := &acts.Runner{
		Base: base, CardURL: r.cardURL, Card: r.card, Interface: f.iface, Caller: f.probe.caller, HTTP: r.http,
		Redactor: r.redact, Only: r.options.Only, LookupEnv: env,
	}
	if r.hooks != nil {
		runner.Webhook = suiteHooks{r.hooks}
	}
	return runner
}

// adopt converts the outcomes of a suite into results.
func (r *run) adopt(i wire.Interface, report *acts.Report) {
	for _, s := range report.Suites {
		for j := range s.Tests {
			t := &s.Tests[j]
			result := Result{
				Requirement: Requirement{ID: t.ID, Level: Level(strings.ToUpper(t.Level)), Section: cmp.Or(t.SpecRef, s.ID), Text: t.Name},
				Interface:   i.String(), Duration: float64(t.DurationMS) / 1000,
				Outcome: map[acts.Outcome]Outcome{acts.Pass: Pass, acts.Skip: NotOffered}[t.Result], Detail: t.SkipReason,
			}
			if result.Outcome == "" {
				result.Outcome = Fail
				result.Detail = fmt.Sprintf("step %s: %s", t.Failure.StepID, t.Failure.Message)
				if t.Evidence != "" {
					result.Evidence = []string{t.Evidence}
				}
			}
			r.report.Results = append(r.report.Results, result)
		}
	}
}

// suiteHooks gives each test a webhook of its own.
type suiteHooks struct{ *hooks }

func (h suiteHooks) URL() string { return h.base + "/" + unknownID() }

func (h suiteHooks) Wait(ctx context.Context, url string) []any {
	path := strings.TrimPrefix(url, h.base)
	if h.wait(ctx, path, suiteTimeout) == nil {
		return nil
	}
	var all []any
	for _, d := range h.deliveries(path) {
		body, err := wire.Decode(d.body)
		if err != nil {
			body = string(d.body)
		}
		header := map[string]any{}
		for name, values := range d.header {
			header[strings.ToLower(name)] = strings.Join(slices.Clone(values), ", ")
		}
		all = append(all, map[string]any{"header": header, "body": body})
	}
	return all
}
