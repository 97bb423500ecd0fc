package check

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Outcome is the outcome of a requirement.
type Outcome string

// The outcomes.
const (
	Pass       Outcome = "pass"
	Fail       Outcome = "fail"
	NotOffered Outcome = "not offered"
)

// Result is the outcome of a requirement on one interface.
type Result struct {
	Requirement
	// Interface is "card" for requirements on the whole agent, or a binding with its version,
	// such as "jsonrpc 1.0".
	Interface string  `json:"interface"`
	Outcome   Outcome `json:"outcome"`
	// Detail describes the problem, or why there is nothing to judge.
	Detail string `json:"detail,omitempty"`
	// Evidence are the exchanged bytes without credentials, ">" before sent and "<" before
	// received data.
	Evidence []string `json:"evidence,omitempty"`
	// Known is the reason why a failure was accepted.
	Known string `json:"known,omitempty"`
	// Unexpected is set if the requirement was known to fail, and passed.
	Unexpected bool `json:"unexpectedPass,omitempty"`
	// Duration is in seconds.
	Duration float64 `json:"seconds"`
}

// Report is the outcome of a run.
type Report struct {
	URL string `json:"url"`
	// Interfaces are the tested interfaces: binding, version and URL.
	Interfaces []string `json:"interfaces"`
	// LeftOut are interfaces of the card that could not be tested, each with the reason.
	LeftOut []string `json:"leftOut,omitempty"`
	Results []Result `json:"results"`
	// Duration is in seconds.
	Duration float64 `json:"seconds"`
	// Exact is set if known failures were given: then every other failure counts, regardless of
	// its level.
	Exact bool `json:"exact,omitempty"`
}

// bad reports whether a result counts against the server. Without known failures, a SHOULD or a
// MAY does not.
func (r *Report) bad(result *Result) bool {
	return result.Unexpected || result.Outcome == Fail && result.Known == "" && (r.Exact || result.Level == Must)
}

// OK reports whether the server complies with the specification, or has exactly the known
// failures.
func (r *Report) OK() bool {
	for i := range r.Results {
		if r.bad(&r.Results[i]) {
			return false
		}
	}
	return true
}

// mark returns the word before a result.
func (r *Report) mark(result *Result) string {
	switch {
	case result.Unexpected:
		return "PASSES AFTER ALL"
	case result.Outcome == Fail && result.Known != "":
		return "known"
	case result.Outcome == Fail && !r.bad(result):
		return "warn"
	case result.Outcome == Fail:
		return "FAIL"
	}
	return string(result.Outcome)
}

// Text writes the report for terminals: problems with their evidence, and one line for each
// other result. Passes are only listed if all is set.
func (r *Report) Text(w io.Writer, all bool) error {
	var b strings.Builder
	for _, i := range r.Interfaces {
		fmt.Fprintf(&b, "interface  %s\n", i)
	}
	for _, i := range r.LeftOut {
		fmt.Fprintf(&b, "left out   %s\n", i)
	}
	if len(r.Interfaces)+len(r.LeftOut) > 0 {
		b.WriteString("\n")
	}
	for i := range r.Results {
		r.line(&b, &r.Results[i], all)
	}
	r.summary(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) line(b *strings.Builder, result *Result, all bool) {
	loud := result.Outcome == Fail || result.Unexpected
	if !loud && !all {
		return
	}
	fmt.Fprintf(b, "%-11s %-11s %-24s %-6s %s (%s)\n", r.mark(result), result.Interface, result.ID, result.Level, result.Text, result.Section)
	if result.Detail != "" {
		fmt.Fprintf(b, "    %s\n", indented(result.Detail))
	}
	if result.Known != "" {
		fmt.Fprintf(b, "    known: %s\n", indented(result.Known))
	}
	if loud && result.Known == "" {
		for _, e := range result.Evidence {
			fmt.Fprintf(b, "\n    %s\n\n", indented(e))
		}
	}
}

func indented(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") }

func (r *Report) summary(b *strings.Builder) {
	for _, level := range []Level{Must, Should, May} {
		count := map[string]int{}
		total := 0
		for i := range r.Results {
			if r.Results[i].Level == level {
				count[r.mark(&r.Results[i])]++
				total++
			}
		}
		if total == 0 {
			continue
		}
		fmt.Fprintf(b, "%-7s %d of %d passed", level+":", count["pass"], total-count["not offered"])
		for _, m := range []string{"FAIL", "warn", "known", "PASSES AFTER ALL", string(NotOffered)} {
			if count[m] > 0 {
				fmt.Fprintf(b, ", %d %s", count[m], strings.ToLower(m))
			}
		}
		b.WriteString("\n")
	}
}

// JSON writes the report as one JSON object.
func (r *Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
