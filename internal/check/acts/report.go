package acts

import "time"

// Outcome is the outcome of a test or a step.
type Outcome string

// The outcomes.
const (
	Pass  Outcome = "pass"
	Fail  Outcome = "fail"
	Skip  Outcome = "skip"
	Error Outcome = "error" // the test is invalid
)

// Report is the outcome of all tests over one binding, in the format of the draft.
type Report struct {
	ActsVersion string            `json:"acts_version"`
	SpecVersion string            `json:"spec_version"`
	GeneratedAt string            `json:"generated_at"`
	SDK         SDK               `json:"sdk"`
	Transport   string            `json:"transport"`
	Environment map[string]string `json:"environment,omitempty"`
	Summary     Summary           `json:"summary"`
	Suites      []SuiteResult     `json:"suites"`
}

// SDK names the tested server.
type SDK struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Language   string `json:"language"`
	Repository string `json:"repository,omitempty"`
}

// Count counts tests by their outcome.
type Count struct {
	Total   int `json:"total"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	Errors  int `json:"errors"`
}

// Summary counts the tests of a report.
type Summary struct {
	Count
	DurationMS int64            `json:"duration_ms"`
	ByLevel    map[string]Count `json:"by_level"`
}

// SuiteResult is the outcome of a suite.
type SuiteResult struct {
	ID    string       `json:"id"`
	Name  string       `json:"name"`
	Tests []TestResult `json:"tests"`
}

// TestResult is the outcome of a test.
type TestResult struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Level      string       `json:"level"`
	Result     Outcome      `json:"result"`
	DurationMS int64        `json:"duration_ms"`
	SkipReason string       `json:"skip_reason,omitempty"`
	Failure    *Failure     `json:"failure,omitempty"`
	Steps      []StepResult `json:"steps,omitempty"`

	// SpecRef is the section of the specification; the draft's report has no member for it.
	SpecRef string `json:"-"`
	// Evidence is the exchange that shows a failure, without credentials.
	Evidence string `json:"-"`
}

// StepResult is the outcome of a step.
type StepResult struct {
	ID         string   `json:"id"`
	Result     Outcome  `json:"result"`
	DurationMS int64    `json:"duration_ms"`
	Failure    *Failure `json:"failure,omitempty"`
}

// Failure describes the expected and the actual value.
type Failure struct {
	Message       string `json:"message"`
	StepID        string `json:"step_id,omitempty"`
	Expected      string `json:"expected,omitempty"`
	Actual        string `json:"actual,omitempty"`
	AssertionPath string `json:"assertion_path,omitempty"`
}

// summarize counts the results.
func (r *Report) summarize(took time.Duration) {
	r.Summary = Summary{DurationMS: took.Milliseconds(), ByLevel: map[string]Count{}}
	for _, level := range levels {
		r.Summary.ByLevel[level] = Count{}
	}
	for _, s := range r.Suites {
		for i := range s.Tests {
			level := r.Summary.ByLevel[s.Tests[i].Level]
			level.add(s.Tests[i].Result)
			r.Summary.ByLevel[s.Tests[i].Level] = level
			r.Summary.add(s.Tests[i].Result)
		}
	}
}

func (c *Count) add(o Outcome) {
	c.Total++
	switch o {
	case Pass:
		c.Passed++
	case Fail:
		c.Failed++
	case Skip:
		c.Skipped++
	case Error:
		c.Errors++
	}
}
