package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/policy"
)

// Auth configures the accepted credentials, in addition to the keys in the data folder. If it
// names a key, an issuer of tokens or a certificate, every caller needs one of these, unless
// allow_anonymous is set.
type Auth struct {
	// APIKeys maps keys to callers.
	APIKeys Callers `yaml:"api_keys"`
	// BearerTokens are further keys. The hub accepts every key in either header.
	BearerTokens Callers `yaml:"bearer_tokens"`
	// Roles are the names of roles beside admin and those in rules of the policy, for agents and
	// other systems that receive the roles of callers. A key with another role is refused.
	Roles []string `yaml:"roles"`
	// MinKeyLength is the smallest length of a key in bytes. The default is 16. Shorter keys
	// can be guessed.
	MinKeyLength int `yaml:"min_key_length"`
	// Tokens are issuers whose tokens are accepted in addition to keys.
	Tokens []TokenIssuer `yaml:"tokens"`
	// Certificates map certificates of tls.client_ca to callers, for requests without a key or
	// a token. The first matching rule counts; a certificate without a rule identifies no
	// caller.
	Certificates []CertificateRule `yaml:"certificates"`

	// Sections are the callers in the sections of parts.
	Sections []CallerSection `yaml:"-"`
}

// Callers is written as a mapping of keys to callers. A key is a text of at least 16 bytes, or
// sha256: followed by the hash of one; variables are expanded. Errors never contain a key.
type Callers []Caller

// Caller is the caller that a key identifies. The keys of its mapping may also be written like
// agentId and AgentId.
type Caller struct {
	// AgentID identifies the caller. It is required, and must not be "local".
	AgentID string `yaml:"agent_id"`
	// DisplayName is shown to users. The default is the agent_id.
	DisplayName string `yaml:"display_name"`
	// Roles are roles that the hub knows, see Config.KnownRoles. An admin may change the hub.
	Roles []string `yaml:"roles"`
	// Owner is the organisation that owns the caller's tasks instead of the caller. With local,
	// the caller owns the tasks of callers without credentials.
	Owner string `yaml:"owner"`
	// Owners are the organisations of the caller, as an alternative to Owner. Each request
	// selects one with X-Parley-Owner; the default is the first.
	Owners []string `yaml:"owners"`
	// Dialect is the dialect of the caller's requests that do not indicate one themselves.
	Dialect DialectName `yaml:"dialect"`

	// key is the key of the caller's entry in the mapping.
	key string
}

// Asks reports whether the configuration requires credentials of callers, regardless of the
// hub's own keys.
func (a *Auth) Asks() bool { return len(a.Keys())+len(a.Tokens)+len(a.Certificates) > 0 }

// Keys returns the keys, which were checked when the file was loaded.
func (a *Auth) Keys() []auth.Key {
	var keys []auth.Key
	for _, c := range a.callers() {
		if k, err := c.authKey(a.MinKeyLength); err == nil {
			keys = append(keys, *k)
		}
	}
	return keys
}

func (a *Auth) callers() Callers {
	all := slices.Concat(a.APIKeys, a.BearerTokens)
	for _, s := range a.Sections {
		all = append(all, s.Callers...)
	}
	return all
}

// CallerSection is a section of the file with callers, such as that of a part.
type CallerSection struct {
	Key     string
	Callers Callers
}

// HasCallers are keys of a part with further callers, like those of Auth.APIKeys.
type HasCallers interface{ CallerSection() CallerSection }

// CallerKeys returns the keys of the file that have callers.
func (a *Auth) CallerKeys() []string {
	keys := []string{"auth.api_keys", "auth.bearer_tokens"}
	for _, s := range a.Sections {
		keys = append(keys, s.Key)
	}
	return keys
}

// SetCallers replaces the callers by those of another configuration.
func (c *Config) SetCallers(from *Config) {
	c.Auth.APIKeys, c.Auth.BearerTokens, c.Auth.Sections = from.Auth.APIKeys, from.Auth.BearerTokens, from.Auth.Sections
	c.Added = slices.Clone(c.Extensions())
	for i, added := range from.Extensions() {
		if _, ok := added.(HasCallers); ok {
			c.Added[i] = added
		}
	}
}

// Dialects returns the dialects of callers by their agent_id. If a caller has several keys, the
// last one counts.
func (a *Auth) Dialects() map[string]string {
	var all map[string]string
	for _, c := range a.callers() {
		if c.Dialect == "" {
			continue
		}
		if all == nil {
			all = make(map[string]string)
		}
		all[c.AgentID] = string(c.Dialect)
	}
	return all
}

func (c *Caller) authKey(shortest int) (*auth.Key, error) {
	p := auth.Principal{ID: c.AgentID, DisplayName: c.DisplayName, Org: c.Owner, Roles: c.Roles}
	if err := belongs(&p, c.Owners); err != nil {
		return nil, err
	}
	return auth.ConfiguredKeyOf(c.key, p, shortest)
}

// belongs adds the organisations of a caller to p, if there are any.
func belongs(p *auth.Principal, owners []string) error {
	switch {
	case len(owners) == 0:
		return nil
	case p.Org != "":
		return errors.New("owners: cannot be given together with owner")
	case len(owners) > 1:
		p.Orgs = owners
	}
	p.Org = owners[0]
	return nil
}

// DecodeNode decodes a mapping of keys to callers. Its problems name a caller by its number,
// because the keys are secret.
func (c *Callers) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	if _, ok := node.(ast.MapNode); !ok {
		d.Problem(node, key, "must be a mapping of keys to callers")
		return
	}
	pairs, ok := d.Pairs(node, key)
	if !ok {
		return
	}
	for i, p := range pairs {
		at := key + "[" + strconv.Itoa(i) + "]"
		d.Mark(at, p.At)
		caller := Caller{key: secretOf(d, p, at)}
		caller.decode(d, p.Value, at)
		*c = append(*c, caller)
	}
}

// secretOf returns the key of p with its variables expanded.
func secretOf(d *yamlfile.Decoder, p yamlfile.Pair, at string) string {
	text, err := d.Expand(p.Name)
	if err == nil {
		return text
	}
	// The name of a variable or file is not secret, only its value is.
	if yamlfile.IsReference(p.Name) {
		d.Problem(p.At, at, "%s", err.Error())
	} else {
		d.Problem(p.At, at, "the key has a ${…} that cannot be put in; write $$ for a dollar sign")
	}
	return ""
}

func (c *Caller) decode(d *yamlfile.Decoder, node ast.Node, key string) {
	if a, ok := node.(*ast.AliasNode); ok {
		d.Alias(a, func(target ast.Node) { c.decode(d, target, key) })
		return
	}
	if a, ok := node.(*ast.AnchorNode); ok {
		node = a.Value
	}
	const form = "a caller needs agent_id, and may have display_name, roles, and owner or owners"
	if _, ok := node.(ast.MapNode); !ok {
		d.Problem(node, key, form)
		return
	}
	pairs, ok := d.Pairs(node, key)
	if !ok {
		return
	}
	v, known := reflect.ValueOf(c).Elem(), yamlfile.FieldsOf(reflect.TypeFor[Caller]())
	seen := make(map[string]bool)
	for _, p := range pairs {
		f, ok := spelled(known, p.Name)
		name := f.Tag.Get("yaml")
		switch {
		case !ok:
			d.Problem(p.At, key, "%s is not known here; %s", unknownKey(p.Name), form)
			continue
		case seen[name]:
			d.Problem(p.At, yamlfile.Join(key, name), "appears twice")
			continue
		}
		seen[name] = true
		d.Mark(yamlfile.Join(key, name), p.At)
		d.Value(p.Value, v.FieldByIndex(f.Index), yamlfile.Join(key, name), f.Tag)
	}
}

// spelled returns the field with a name in any spelling, such as agentId for agent_id.
func spelled(fs yamlfile.Fields, name string) (reflect.StructField, bool) {
	for _, f := range fs {
		if yamlfile.PlainKey(f.Tag.Get("yaml")) == yamlfile.PlainKey(name) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// KnownRoles returns the roles that keys may have besides admin: those of auth.roles, of rules,
// which may be nil, and those that issuers of tokens and certificates give to callers.
func (c *Config) KnownRoles(rules *policy.Policy) []string {
	all := slices.Concat(c.Auth.Roles, rules.Roles())
	for i := range c.Auth.Tokens {
		t := &c.Auth.Tokens[i]
		all = slices.AppendSeq(slices.AppendSeq(all, maps.Values(t.Roles)), maps.Values(t.Scopes))
	}
	for i := range c.Auth.Certificates {
		all = append(all, c.Auth.Certificates[i].Roles...)
	}
	return all
}

// unknownKey names a key for an error, unless it may be an API key in the place of one.
func unknownKey(name string) string {
	if len(name) > 24 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") != "" {
		return "a key, which is not shown because it may be a secret,"
	}
	return fmt.Sprintf("the key %q", name)
}

// checkRoles reports roles of keys that the hub does not know. A policy that cannot be read is
// reported elsewhere: it stops the start of the hub.
func checkRoles(d *yamlfile.Decoder, c *Config) {
	for i, role := range c.Auth.Roles {
		if p := (&auth.Principal{ID: "role", Roles: []string{role}}); p.Check() != nil || strings.HasPrefix(role, auth.RoleBus) {
			d.Problem(nil, "auth.roles["+strconv.Itoa(i)+"]", "invalid role %q", yamlfile.Clip(role))
		}
	}
	rules, err := c.Policy.Load()
	if err != nil {
		return
	}
	known := c.KnownRoles(rules)
	check := func(key string, callers Callers) {
		for i := range callers {
			if err := auth.CheckRoles(callers[i].Roles, known); err != nil && !slices.Contains(callers[i].Roles, "") {
				d.Problem(nil, key+"["+strconv.Itoa(i)+"].roles", "%s", err.Error())
			}
		}
	}
	check("auth.api_keys", c.Auth.APIKeys)
	check("auth.bearer_tokens", c.Auth.BearerTokens)
	for _, s := range c.Auth.Sections {
		check(s.Key, s.Callers)
	}
}

// checkAuth reports keys that are invalid or occur twice.
func checkAuth(d *yamlfile.Decoder, a *Auth) {
	seen := make(map[[32]byte]string)
	check := func(key string, callers Callers) {
		for i := range callers {
			at := key + "[" + strconv.Itoa(i) + "]"
			k, err := callers[i].authKey(a.MinKeyLength)
			switch {
			case errors.Is(err, auth.ErrShortKey):
				d.Problem(nil, at, "%s; auth.min_key_length says how short a key may be", err.Error())
				continue
			case err != nil:
				d.Problem(nil, at, "%s", err.Error())
				continue
			}
			if first, ok := seen[k.Hash]; ok {
				d.Problem(nil, at, "is the same key as %s", first)
				continue
			}
			seen[k.Hash] = at
		}
	}
	check("auth.api_keys", a.APIKeys)
	check("auth.bearer_tokens", a.BearerTokens)
	for _, s := range a.Sections {
		check(s.Key, s.Callers)
	}
}
