package policyfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/file/policyfile"
	"github.com/parley-a2a/parley/internal/policy"
)

func noVariables(string) (string, bool) { return "", false }

func TestParse(t *testing.T) {
	t.Parallel()
	const src = `
rules:
  - allow: [send, stream]
    roles: partner
    agents: [translator, "support-*"]
    skills: translate
  - deny: "*"
    callers: ["corp:mallory"]
tests:
  - {want: allow, caller: ann, roles: partner, op: send, agent: support-1, skill: translate}
  - want: allow
    caller: corp:mallory
    roles: [partner]
    op: send
    agent: translator
`
	p, err := policyfile.Parse("team/policy.yaml", []byte(src), noVariables)
	if err != nil {
		t.Fatal(err)
	}
	ann := &auth.Principal{ID: "ann", Roles: []string{"partner"}}
	r := &policy.Request{Op: policy.Stream, Agent: "support-2", Begins: true, Skill: "translate"}
	if v := p.Explain(ann, r); !v.Allowed || v.Reason != "allowed by the rule at policy.yaml:3" {
		t.Errorf("Explain = %+v", v)
	}
	want := []policy.Failure{{
		At:   "policy.yaml:11",
		Text: `send on agent "translator" for "corp:mallory" with the roles partner should be allowed, but is denied: denied by the rule at policy.yaml:7`,
	}}
	if diff := cmp.Diff(want, p.Check()); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}

// An invalid file never becomes a policy, and the error names the position.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"":                         "p.yaml: rules: is missing",
		"# nothing yet":            "p.yaml: rules: is missing",
		"rules:":                   "p.yaml:1: rules: is missing",
		"rules: []":                "p.yaml:1: rules: is missing",
		"rules: {}":                "p.yaml:1: rules: must be a list",
		"allow: send":              "p.yaml:1: allow: unknown key",
		"rules: [":                 "p.yaml:1: ",
		"rules:\n  - allow: send":  "p.yaml:2: rules[0]: needs who",
		"rules:\n  - who: anybody": "p.yaml:2: rules[0]: needs allow or deny",
		"rules:\n  - allow: sent\n    who: anybody":                          `p.yaml:2: rules[0].allow: unknown operation "sent"; did you mean send?`,
		"rules:\n  - allow: send\n    who: me":                               "p.yaml:3: rules[0].who: ",
		"rules:\n  - allow: send\n    deny: get\n    who: anybody":           "p.yaml:2: rules[0]: has both",
		"rules:\n  - allow: send\n    who: anybody\n    roles:":              "p.yaml:4: rules[0].roles: is empty",
		"rules:\n  - allow: send\n    who: anybody\n    agents: []":          "p.yaml:4: rules[0].agents: is empty",
		"rules:\n  - allow: send\n    who: anybody\n    agents: ''":          "p.yaml:4: rules[0].agents: a name is empty",
		"rules:\n  - allow: send\n    who: anybody\n    agents: [a*b]":       "p.yaml:4: rules[0].agents: in \"a*b\"",
		"rules:\n  - allow: send\n    who: anybody\n    agent: a":            "p.yaml:4: rules[0].agent: unknown key; did you mean agents?",
		"rules:\n  - allow: send\n    who: anybody\n    who: anonymous":      "p.yaml:4: rules[0].who: appears twice",
		"rules:\n  - allow: send\n    roles: ${ROLE}":                        "p.yaml:3: rules[0].roles: ",
		"rules:\n  - allow: send\n    roles: ${ROLE:-}":                      "p.yaml:3: rules[0].roles: a name is empty",
		"rules: [{allow: send, who: anybody}]\ndelegations: some":            "p.yaml:2: delegations: ",
		"rules: [{allow: send, who: anybody}]\ntests: [{op: send}]":          "p.yaml:2: tests[0].want: is missing",
		"rules: [{allow: send, who: anybody}]\ntests: [{want: allow}]":       "p.yaml:2: tests[0].op: is missing",
		"rules: [{allow: send, who: anybody}]\ntests: [{want: deny, op: x}]": `p.yaml:2: tests[0]: unknown operation "x"`,
		"rules: [{allow: send, who: anybody}]\n---\nrules: []":               "p.yaml:3: a file must hold one document",
	} {
		p, err := policyfile.Parse("p.yaml", []byte(src), noVariables)
		if p != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v and %v, want %q", src, p, err, want)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	if p, err := policyfile.Load(path); p != nil || err == nil {
		t.Errorf("a file that is not there: %v, %v", p, err)
	}
	if p, err := policyfile.Load(dir); p != nil || err == nil {
		t.Errorf("a folder: %v, %v", p, err)
	}
	if err := os.WriteFile(path, []byte("rules: [{allow: get, who: anybody}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := policyfile.Load(path); err != nil {
		t.Error(err)
	}
}

// FuzzParse looks for files that crash the decoder, or that become a policy without a rule.
func FuzzParse(f *testing.F) {
	f.Add([]byte("rules:\n  - allow: [send]\n    who: anybody\n    agents: [a, 'b*']\n"))
	f.Add([]byte("rules: [{deny: '*', callers: *a}]"))
	f.Add([]byte("tests: [{want: deny, op: send}]\nrules: [{allow: push.*, owners: x, skills: [y]}]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := policyfile.Parse("p.yaml", src, noVariables)
		if (p == nil) == (err == nil) {
			t.Fatalf("got %v and %v", p, err)
		}
		if p != nil {
			p.Check()
			p.Allows(&auth.Principal{ID: "ann"}, &policy.Request{Op: policy.Send, Agent: "a", Begins: true})
			p.Findings(new(policy.Facts))
		}
	})
}
