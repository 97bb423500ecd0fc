package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/registry"
)

// Keys are keys of parley.yaml that a part adds.
type Keys struct {
	// In is the mapping that gets the keys: directory, telemetry, agents[], or none for the file itself.
	In string
	// New returns a pointer to a struct with the keys as its fields.
	New func() any
	// Schema has the properties of the keys in the JSON Schema, separated by commas.
	Schema string
	// Definitions has what Schema refers to, separated by commas.
	Definitions string
	// Kind is the key in agents[] that says where the agent is. The struct of the keys is an
	// OnExchange then.
	Kind string
}

// OnExchange are keys of an agent that may be on the exchange of a part.
type OnExchange interface {
	// OnExchange returns the name of the agent on the exchange; empty if it is not there.
	OnExchange() string
}

// Secrets are keys with secrets.
type Secrets interface{ Secrets() []string }

// Check reports problems of a valid file that has the keys of a part.
type Check func(d *yamlfile.Decoder, c *Config)

// Openings returns the settings of a part that widen access.
type Openings func(c *Config) []doctor.Opening

// CallerFamily is the prefix of the ids of callers that a part authenticates.
type CallerFamily string

// Added are the values of the keys that parts have added to a mapping. Its items are pointers to
// the structs of [Keys].
type Added []any

// in returns the values of the keys that parts add to the mapping with a name.
func (a *Added) in(mapping string) []any {
	if *a == nil {
		for _, k := range registry.Added[Keys]() {
			if k.In == mapping {
				*a = append(*a, k.New())
			}
		}
	}
	return *a
}

// Get returns the keys in the struct T, which a part of the program has added to a mapping.
func Get[T any](mapping yamlfile.Extended) *T {
	for _, v := range mapping.Extensions() {
		if t, ok := v.(*T); ok {
			return t
		}
	}
	panic(fmt.Sprintf("config: no part has added %T", *new(T)))
}

// Extensions implements yamlfile.Extended.
func (a *Agent) Extensions() []any { return a.Added.in("agents[]") }

// Extensions implements yamlfile.Extended.
func (t *Telemetry) Extensions() []any { return t.Added.in("telemetry") }

// Exchange returns the name of the agent on the exchange of a part; empty if it is not there.
func (a *Agent) Exchange() string {
	for _, added := range a.Added {
		if x, ok := added.(OnExchange); ok {
			return x.OnExchange()
		}
	}
	return ""
}

// enumerated returns the keys that say where an agent is, and those that parts add, as in "a, b and c".
func enumerated(kinds ...string) string {
	kinds = append(kinds, addedKinds()...)
	last := len(kinds) - 1
	return strings.Join(kinds[:last], ", ") + " and " + kinds[last]
}

// addedKinds returns the keys of parts that say where an agent is.
func addedKinds() (kinds []string) {
	for _, k := range registry.Added[Keys]() {
		if k.Kind != "" {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

// Flags are flags of "parley serve" that a part adds: a pointer to a struct with tags of kong.
type Flags interface {
	// Settings writes the flags into the configuration, where they take precedence.
	Settings(c *Config)
}

// NewFlags makes the flags of a part.
type NewFlags func() Flags

// Sources returns the files with agents that a part reads. They precede the agents that have
// announced themselves.
type Sources func(c *Config, o agentfile.Options) []directory.Source

// NamesAgentFiles reports whether the configuration names a file of a part with agents.
type NamesAgentFiles func(c *Config) bool

// Profile is a value of the key profile that a part adds.
type Profile struct {
	Name string
	// Interfaces are the bindings that cards list if the configuration names none.
	Interfaces []string
}

// ProfileName is the name of a Profile.
type ProfileName string

// SetText implements yamlfile.Scalar.
func (p *ProfileName) SetText(text string, _ reflect.StructTag) error {
	names := profileNames()
	switch problem := absent("profile=" + text); {
	case slices.Contains(names, text):
		*p = ProfileName(text)
		return nil
	case problem != "":
		return errors.New(problem)
	case len(names) == 0:
		return errors.New("this program was built without profiles")
	}
	return fmt.Errorf("%q is not one of %s", yamlfile.Clip(text), strings.Join(names, ", "))
}

// DialectName is the name of a dialect of JSON-RPC.
type DialectName string

// SetText implements yamlfile.Scalar.
func (n *DialectName) SetText(text string, _ reflect.StructTag) error {
	names := dialect.Names()
	if slices.Contains(names, text) {
		*n = DialectName(text)
		return nil
	}
	if problem := absent("agents[].dialect=" + text); problem != "" {
		return errors.New(problem)
	}
	return fmt.Errorf("%q is not one of %s", yamlfile.Clip(text), strings.Join(names, ", "))
}

// profileNames returns the values of the key profile.
func profileNames() []string {
	var names []string
	for _, p := range registry.Added[Profile]() {
		names = append(names, p.Name)
	}
	return names
}

// index matches the index of an item.
var index = regexp.MustCompile(`\[\d+\]`)

// absent explains a key of a part that the program does not have; a value follows an equals sign. The
// result is empty for other keys.
func absent(key string) string { return registry.Absent(index.ReplaceAllString(key, "[]")) }

//go:embed schema/parley.schema.json.tmpl
var schema string

// Schema returns the JSON Schema (draft 2020-12) of the file.
func Schema() []byte {
	t := template.Must(template.New("").Funcs(template.FuncMap{"keys": schemaKeys, "kinds": addedKinds, "definitions": schemaDefinitions, "profiles": schemaProfiles, "dialects": schemaDialects}).Parse(schema))
	var b bytes.Buffer
	if err := t.Execute(&b, nil); err != nil {
		panic(fmt.Sprintf("schema of parley.yaml: %v", err)) // it is part of the program
	}
	return b.Bytes()
}

// schemaProfiles returns the values of the key profile, each followed by a comma.
func schemaProfiles() string {
	var b strings.Builder
	for _, name := range profileNames() {
		fmt.Fprintf(&b, "%q, ", name)
	}
	return b.String()
}

// schemaDialects returns the names of dialects, each followed by a comma.
func schemaDialects() string {
	var b strings.Builder
	for _, name := range dialect.Names() {
		fmt.Fprintf(&b, "%q, ", name)
	}
	return b.String()
}

// schemaDefinitions returns the definitions that parts add, each followed by a comma.
func schemaDefinitions() string {
	var b strings.Builder
	for _, k := range registry.Added[Keys]() {
		if k.Definitions != "" {
			b.WriteString(k.Definitions + ",\n    ")
		}
	}
	return b.String()
}

// schemaKeys returns the properties that parts add to a mapping, each followed by a comma.
func schemaKeys(mapping string) string {
	var b strings.Builder
	for _, k := range registry.Added[Keys]() {
		if k.In == mapping {
			b.WriteString(k.Schema + ",\n        ")
		}
	}
	return b.String()
}
