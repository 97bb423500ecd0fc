package doctor

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/policy"
)

func rules(f *Facts) []Finding {
	const subject = "rules"
	if f.NoPolicy != "" {
		return []Finding{{Wrong, subject, "the hub will not start: " + f.NoPolicy, "correct the policy"}}
	}
	if f.Policy == nil {
		return nil
	}
	var out []Finding
	for _, t := range f.Policy.Check() {
		out = append(out, Finding{Wrong, subject, t.At + ": " + t.Text, "correct the rules or the test"})
	}
	for _, r := range f.Policy.Findings(&f.World) {
		out = append(out, remark(subject, &r))
	}
	if len(out) > 0 {
		return out
	}
	return []Finding{{OK, subject, fmt.Sprintf("no rule of the policy is too broad, and its %d tests pass", f.Policy.Tests()), ""}}
}

func remark(subject string, r *policy.Finding) Finding {
	text, advice := r.Text, "remove the rule, or correct the name"
	if r.At != "" {
		text = r.At + ": " + text
	}
	switch {
	case r.Wide:
		return Finding{Weak, subject, text, "name only those that need it"}
	case r.Unsure:
		return Finding{Unknown, subject, text + "; it may be known from elsewhere", ""}
	case r.At == "":
		advice = "add a rule, or remove the agent"
	}
	return Finding{Weak, subject, text, advice}
}
