// Package policyfile reads the rules of a policy, from a file of their own or from a section of
// the configuration.
//
// # Guarantees
//
// A file is accepted completely or not at all. An unknown key, operation or word, a rule
// without subjects, and a file without rules are errors with file, line and key. A truncated or
// empty file therefore never becomes a policy that allows more, or less, than was written.
//
// A watched file ([Live]) changes the policy of a running hub. An invalid or missing file
// changes nothing: the previous rules stay in force. Old and new rules are never in force
// together.
//
// # Non-guarantees
//
// A program that writes a file in several steps, and pauses between them, may leave a text for
// a moment that is valid but incomplete. Replace the file in one step (by renaming another one
// to it) to avoid that.
package policyfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/policy"
)

// maxFile is the largest size of a file in bytes.
const maxFile = 4 << 20

// File is the content of a file.
type File struct {
	// Delegations selects whether the policy applies to calls between agents on behalf of a
	// caller: trusted, where only denials apply, or checked.
	Delegations string `yaml:"delegations" enum:"trusted,checked"`
	// Rules allow and deny. At least one is required.
	Rules []Rule `yaml:"rules"`
	// Tests are expected decisions of the rules.
	Tests []Test `yaml:"tests"`
}

// Rule is one rule. It has either Allow or Deny.
type Rule struct {
	// At is the position of the rule.
	At      string         `yaml:"-"`
	Allow   yamlfile.Names `yaml:"allow"`
	Deny    yamlfile.Names `yaml:"deny"`
	Who     string         `yaml:"who" enum:"anybody,authenticated,anonymous"`
	Callers yamlfile.Names `yaml:"callers"`
	Roles   yamlfile.Names `yaml:"roles"`
	Owners  yamlfile.Names `yaml:"owners"`
	Agents  yamlfile.Names `yaml:"agents"`
	Skills  yamlfile.Names `yaml:"skills"`
}

// Test is one test.
type Test struct {
	// At is the position of the test.
	At     string         `yaml:"-"`
	Want   string         `yaml:"want" enum:"allow,deny"`
	Caller string         `yaml:"caller"`
	Roles  yamlfile.Names `yaml:"roles"`
	Owner  string         `yaml:"owner"`
	Op     string         `yaml:"op"`
	Agent  string         `yaml:"agent"`
	Skill  string         `yaml:"skill"`
	Skills yamlfile.Names `yaml:"skills"`
}

// Load reads the file at path.
func Load(path string) (*policy.Policy, error) {
	src, err := text(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, src, os.LookupEnv)
}

// text returns the content of the file at path.
func text(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("load policy: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("load policy: %s is not a regular file", path)
	}
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("load policy: %w", err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("load policy: %w", err)
	case len(src) > maxFile:
		return nil, fmt.Errorf("load policy: %s is larger than %d bytes", path, maxFile)
	}
	return src, nil
}

// Parse reads src, the content of the file at path. The error is a yamlfile.Errors.
func Parse(path string, src []byte, lookup func(string) (string, bool)) (*policy.Policy, error) {
	d, f := yamlfile.New(path, lookup), new(File)
	d.Decode(src, f)
	if len(d.Problems()) == 0 {
		if p := f.Compile(d, ""); p != nil {
			return p, nil
		}
	}
	return nil, d.Problems()
}

// Compile builds a policy from the section at key. If that is invalid, it reports the problems
// to d and returns nil.
func (f *File) Compile(d *yamlfile.Decoder, key string) *policy.Policy {
	at := yamlfile.Join(key, "rules")
	if len(f.Rules) == 0 {
		d.Problem(nil, at, "is missing: a policy without rules allows nothing")
		return nil
	}
	before := len(d.Problems())
	for i := range f.Rules {
		f.Rules[i].check(d, at+"["+strconv.Itoa(i)+"]")
	}
	for i := range f.Tests {
		f.Tests[i].check(d, yamlfile.Join(key, "tests")+"["+strconv.Itoa(i)+"]")
	}
	if len(d.Problems()) > before {
		return nil
	}
	p, err := f.Policy()
	if err != nil {
		d.Problem(nil, at, "%v", err)
	}
	return p
}

// Policy builds a policy from f.
func (f *File) Policy() (*policy.Policy, error) {
	rules := policy.Rules{CheckDelegations: f.Delegations == "checked"}
	for i := range f.Rules {
		rules.List = append(rules.List, f.Rules[i].rule())
	}
	for i := range f.Tests {
		rules.Tests = append(rules.Tests, f.Tests[i].test())
	}
	return policy.New(rules)
}

func (r *Rule) rule() policy.Rule {
	return policy.Rule{
		At: r.At, Deny: len(r.Deny) > 0, Ops: slices.Concat(r.Allow, r.Deny), Who: r.Who, Callers: r.Callers,
		Roles: r.Roles, Owners: r.Owners, Agents: r.Agents, Skills: r.Skills,
	}
}

// check records the position of the rule, and reports its problems to d.
func (r *Rule) check(d *yamlfile.Decoder, at string) {
	r.At = d.Where(at)
	if r.widened(d, at) {
		return
	}
	switch {
	case len(r.Allow) > 0 && len(r.Deny) > 0:
		d.Problem(nil, at, "has both allow and deny")
		return
	case len(r.Allow)+len(r.Deny) == 0:
		d.Problem(nil, at, "needs allow or deny, followed by operations")
		return
	}
	var wrong *policy.RuleError
	if _, err := policy.New(policy.Rules{List: []policy.Rule{r.rule()}}); errors.As(err, &wrong) {
		if wrong.Key != "" {
			at = yamlfile.Join(at, wrong.Key)
		}
		d.Problem(nil, at, "%v", wrong.Err)
	}
}

// widened reports to d the keys without a value, which would narrow the rule if they had one.
// It returns true if there are any.
func (r *Rule) widened(d *yamlfile.Decoder, at string) bool {
	found := false
	for _, given := range []struct {
		key   string
		names int
	}{
		{"allow", len(r.Allow)},
		{"deny", len(r.Deny)},
		{"who", len(r.Who)},
		{"callers", len(r.Callers)},
		{"roles", len(r.Roles)},
		{"owners", len(r.Owners)},
		{"agents", len(r.Agents)},
		{"skills", len(r.Skills)},
	} {
		if key := yamlfile.Join(at, given.key); given.names == 0 && d.Line(key) > 0 {
			d.Problem(nil, key, "is empty: leave the key out, or name something")
			found = true
		}
	}
	return found
}

func (t *Test) test() policy.Test {
	return policy.Test{
		At: t.At, Caller: t.Caller, Roles: t.Roles, Owner: t.Owner, Op: t.Op, Agent: t.Agent, Skill: t.Skill,
		Skills: t.Skills, Allow: t.Want == "allow",
	}
}

// check records the position of the test, and reports to d if it expects nothing.
func (t *Test) check(d *yamlfile.Decoder, at string) {
	t.At = d.Where(at)
	if t.Want == "" {
		d.Problem(nil, at+".want", "is missing: allow or deny")
	}
	if t.Op == "" {
		d.Problem(nil, at+".op", "is missing")
		return
	}
	p := t.test()
	if _, _, err := p.Subject(); err != nil {
		d.Problem(nil, at, "%v", err)
	}
}
