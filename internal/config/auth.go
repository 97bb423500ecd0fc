package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/auth"
)

// Auth says who may call, beside those who have keys in the data folder. As soon as
// it names a key, every caller needs one, unless allow_anonymous is set.
type Auth struct {
	// APIKeys are keys with the callers that they stand for.
	APIKeys Callers `yaml:"api_keys"`
	// BearerTokens are more of them: every key is taken in either header.
	BearerTokens Callers `yaml:"bearer_tokens"`
}

// Callers is written as a mapping of keys to callers. A key is a text of at least 16
// bytes, or sha256: with the hash of one; variables are put in. No error tells one.
type Callers []Caller

// Caller is whom a key stands for. The keys of its mapping may also be written like
// agentId and AgentId.
type Caller struct {
	// AgentID identifies the caller. It is required, and must not be "local".
	AgentID string `yaml:"agent_id"`
	// DisplayName is for people: the agent_id.
	DisplayName string `yaml:"display_name"`
	// Roles are names that policies refer to. An admin may change the hub.
	Roles []string `yaml:"roles"`
	// Owner is the organisation that owns the caller's tasks instead of the caller;
	// local gives the caller the tasks of those without credentials.
	Owner string `yaml:"owner"`
	// Dialect is how requests of the caller are read where they do not say it
	// themselves.
	Dialect string `yaml:"dialect" enum:"v1.0,v0.3,promptkit,rockbot"`

	// key is the text in front of the caller.
	key string
}

// Keys returns the keys, which were checked when the file was read.
func (a *Auth) Keys() []auth.Key {
	var keys []auth.Key
	for _, c := range slices.Concat(a.APIKeys, a.BearerTokens) {
		if k, err := c.authKey(); err == nil {
			keys = append(keys, *k)
		}
	}
	return keys
}

// Dialects returns the dialects of callers by their agent_id; of several keys of a
// caller the last one counts.
func (a *Auth) Dialects() map[string]string {
	var all map[string]string
	for _, c := range slices.Concat(a.APIKeys, a.BearerTokens) {
		if c.Dialect == "" {
			continue
		}
		if all == nil {
			all = make(map[string]string)
		}
		all[c.AgentID] = c.Dialect
	}
	return all
}

func (c *Caller) authKey() (*auth.Key, error) {
	return auth.ConfiguredKey(c.key, auth.Principal{
		ID: c.AgentID, DisplayName: c.DisplayName, Org: c.Owner, Roles: c.Roles,
	})
}

// callers decodes a mapping of keys to callers. Its problems name a caller by its
// number, since what stands in front of it is secret.
func (d *decoder) callers(node ast.Node, c *Callers, key string) {
	if _, ok := node.(ast.MapNode); !ok {
		d.problem(node, key, "must be a mapping of keys to callers")
		return
	}
	pairs, ok := d.pairs(node, key)
	if !ok {
		return
	}
	for i, p := range pairs {
		at := key + "[" + strconv.Itoa(i) + "]"
		d.lines[at] = lineOf(p.at)
		caller := Caller{key: d.secret(p, at)}
		d.caller(p.value, &caller, at)
		*c = append(*c, caller)
	}
}

// secret returns the key of p with its variables put in.
func (d *decoder) secret(p pair, at string) string {
	text, err := interpolate(p.name, d.lookup)
	if err == nil {
		return text
	}
	// A text that is one variable as a whole is not secret, only its value is.
	if name, ok := strings.CutPrefix(p.name, "${"); ok && isName(strings.TrimSuffix(name, "}")) {
		d.problem(p.at, at, "%s", err.Error())
	} else {
		d.problem(p.at, at, "the key has a ${…} that cannot be put in; write $$ for a dollar sign")
	}
	return ""
}

// caller decodes the caller behind a key.
func (d *decoder) caller(node ast.Node, c *Caller, key string) {
	if a, ok := node.(*ast.AliasNode); ok {
		d.alias(a, func(target ast.Node) { d.caller(target, c, key) })
		return
	}
	if a, ok := node.(*ast.AnchorNode); ok {
		node = a.Value
	}
	const form = "a caller is a mapping with agent_id, and if you like display_name, roles and owner"
	if _, ok := node.(ast.MapNode); !ok {
		d.problem(node, key, form)
		return
	}
	pairs, ok := d.pairs(node, key)
	if !ok {
		return
	}
	v, known := reflect.ValueOf(c).Elem(), fieldsOf(reflect.TypeFor[Caller]())
	seen := make(map[string]bool)
	for _, p := range pairs {
		f, ok := known.spelled(p.name)
		name := f.Tag.Get("yaml")
		switch {
		case !ok:
			d.problem(p.at, key, "there is a key that is not known here; %s", form)
			continue
		case seen[name]:
			d.problem(p.at, join(key, name), "is given twice")
			continue
		}
		seen[name] = true
		d.lines[join(key, name)] = lineOf(p.at)
		d.value(p.value, v.FieldByIndex(f.Index), join(key, name), f.Tag)
	}
}

// spelled returns the field with a name in any way of writing, such as agentId for
// agent_id.
func (fs fields) spelled(name string) (reflect.StructField, bool) {
	for _, f := range fs {
		if plainKey(f.Tag.Get("yaml")) == plainKey(name) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// checkAuth notes keys that cannot be used and those that are there twice.
func checkAuth(d *decoder, a *Auth) {
	seen := make(map[[32]byte]string)
	check := func(key string, callers Callers) {
		for i := range callers {
			at := key + "[" + strconv.Itoa(i) + "]"
			k, err := callers[i].authKey()
			if err != nil {
				d.problem(nil, at, "%s", err.Error())
				continue
			}
			if first, ok := seen[k.Hash]; ok {
				d.problem(nil, at, "is the same key as %s", first)
				continue
			}
			seen[k.Hash] = at
		}
	}
	check("auth.api_keys", a.APIKeys)
	check("auth.bearer_tokens", a.BearerTokens)
}
