package config

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/internal/file/policyfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/policy"
)

// Policy configures the permissions of callers: the path of a file with rules, or the rules
// themselves. Without it, every accepted caller may use every agent.
type Policy struct {
	// File is the path of the file; empty if the rules are inline, or if there are none.
	File string
	// Rules are the inline rules; nil if there are none.
	Rules *policyfile.File
}

// DecodeNode implements yamlfile.Node.
func (p *Policy) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	if _, ok := node.(ast.MapNode); ok {
		p.Rules = new(policyfile.File)
		d.Value(node, reflect.ValueOf(p.Rules).Elem(), key, "")
		return
	}
	path, _ := d.Text(node, key)
	p.File = d.Path(path)
}

// On reports whether a policy is configured.
func (p *Policy) On() bool { return p.File != "" || p.Rules != nil }

// Load returns the policy; nil if there is none. On error the result must not be used.
func (p *Policy) Load() (*policy.Policy, error) {
	switch {
	case p.File != "":
		return policyfile.Load(p.File)
	case p.Rules != nil:
		return p.Rules.Policy()
	}
	return nil, nil
}

// checkPolicy reports the problems of a policy. A key without a value does not mean "no
// policy".
func checkPolicy(d *yamlfile.Decoder, p *Policy) {
	switch {
	case p.Rules != nil:
		p.Rules.Compile(d, "policy")
	case p.File == "" && d.Line("policy") > 0:
		d.Problem(nil, "policy", "is empty: name a file or list rules, or remove the key")
	}
}
