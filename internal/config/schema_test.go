package config

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// compiled returns the published schema.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("parley.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("parley.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance returns the YAML in src as a JSON value.
func instance(t *testing.T, src []byte) any {
	t.Helper()
	b, err := yaml.YAMLToJSON(src)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchemaAcceptsTheExample(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled(t).Validate(instance(t, src)); err != nil {
		t.Errorf("the schema refuses the example: %v", err)
	}
}

// The schema and the decoder accept the same files.
func TestSchemaAgreesWithTheDecoder(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for src, want := range map[string]bool{
		"idempotency: {header: true, ttl: 36h}": true,
		"store: sqlite":                         true,
		"hub_id: a\nstore: {home: 'postgres://h/a', databases: ['postgres://h/a', 'postgres://h/b']}": true,
		"hub_id: a\nstore: {home: 'postgres://h/a', database: ['postgres://h/a']}":                    false,
		"hub_id: a\nstore: {home: 'postgres://h/a', databases: 'postgres://h/a'}":                     false,
		"idempotency: {ttl: never}":                         false,
		"idempotency: {ttl: 5}":                             false,
		"idempotency: true":                                 false,
		"listen: 127.0.0.1:1":                               true,
		"agents: null":                                      true,
		"union_card: true":                                  true,
		"union_card: ${X:-true}":                            true,
		"union_card: maybe":                                 false,
		"limits: {body: 17}":                                true,
		"limits: {body: 1MiB}":                              true,
		"limits: {body: 1mib}":                              false,
		"limits: {body: '${X:-1}MiB'}":                      true,
		"limits: {streams: 1}":                              true,
		"limits: {streams: -1}":                             false,
		"limits: {streams: 1.5}":                            false,
		"engine: {max_wait: 1h30m}":                         true,
		"engine: {max_wait: 1.5d}":                          true,
		"engine: {max_wait: 0}":                             true,
		"engine: {max_wait: 30}":                            false,
		"engine: {max_wait: soon}":                          false,
		"engine: {max_wait: never}":                         false,
		"engine: {agent_silence: never}":                    true,
		"log: {level: warn, format: json}":                  true,
		"log: {level: loud}":                                false,
		"push: {off: true, allow: [loopback, 10.1.0.0/16]}": true,
		"push: {allow: loopback}":                           false,
		"memory: {outcomes: [echo, '*'], outcome_ttl: 9h, value: 1MiB}": true,
		"memory: {outcomes: echo}":                                      false,
		"memory: {entries: -1}":                                         false,
		"push: {timeout: 5}":                                            false,
		"push: {max_age: 2d, per_endpoint: 4}":                          true,
		"limits: {requests_per_second: 0.5, burst: 3}":                  true,
		"limits: {requests_per_second: '${X:-5}'}":                      true,
		"limits: {requests_per_second: -1}":                             false,
		"limits: {requests_per_second: many}":                           false,
		"limits: {bytes_per_second: 1MiB, tasks_per_caller: 4}":         true,
		"extended_card: {token: 0123456789abcdef}":                      true,
		"extended_card: {token: '${X:-0123456789abcdef}'}":              true,
		"extended_card: {authenticated: true}":                          true,
		"extended_card: {tokens: []}":                                   false,
		"extended_card: {authenticated: true}\nagents: [{name: a, command: b, extended: {description: c, skills: [{id: d}]}}]": true,
		"extended_card: {authenticated: true}\nagents: [{name: a, command: b, extended: {skills: [{}]}}]":                      false,
		"directory: {lists: [a.yaml], allow: [loopback], refresh: 5m, probe: never}":                                           true,
		"directory: {refresh: 5}":      false,
		"directory: {lists: agents.d}": false,
		"mcp_services: [{id: a, summary: b, tools: [{name: c, description: d}]}]":           true,
		"mcp_services: [{summary: b}]":                                                      false,
		"mcp_services: [{id: a, tools: [{description: d}]}]":                                false,
		"broker: {skills: [{id: a, cooldown: 30s, cooldown_key: repository, dedupe: 10s}]}": true,
		"broker: {skills: [{cooldown: 30s}]}":                                               false,
		"log: []":                                                                           false,
		"unknown: 1":                                                                        false,
		"auth:":                                                                             true,
		"auth: {api_keys: {}}":                                                              true,
		"auth: {api_keys: null}":                                                            true,
		"policy: rules.yaml":                                                                true,
		"policy: ''":                                                                        false,
		"policy: null":                                                                      false,
		"policy: {}":                                                                        false,
		"policy: {rules: []}":                                                               false,
		"policy: {rules: [{allow: send, who: anybody}]}":                                    true,
		"policy: {rules: [{allow: [send], roles: a, agents: [b, 'c*'], skills: d}], tests: []}": true,
		"policy: {rules: [{allow: send}]}":                                                               false,
		"policy: {rules: [{who: anybody}]}":                                                              false,
		"policy: {rules: [{allow: send, deny: get, who: anybody}]}":                                      false,
		"policy: {rules: [{allow: send, who: somebody}]}":                                                false,
		"policy: {rules: [{allow: send, who: anybody, agents: []}]}":                                     false,
		"policy: {rules: [{deny: '*', owners: x}], tests: [{want: deny, op: send, caller: a}]}":          true,
		"policy: {rules: [{deny: '*', owners: x}], tests: [{op: send}]}":                                 false,
		"policy: {delegations: some, rules: [{allow: send, who: anybody}]}":                              false,
		"auth: {api_keys: {0123456789abcdef: {agent_id: a, owners: [b, c]}}}":                            true,
		"auth: {api_keys: [0123456789abcdef]}":                                                           false,
		"auth: {bearer_tokens: {0123456789abcdef: {}}}":                                                  false,
		"auth: {api_keys: {0123456789abcdef: a}}":                                                        false,
		"auth: {api_keys: {0123456789abcdef: {agent_id: a, display_name: A, roles: [admin], owner: o}}}": true,
		"auth: {api_keys: {0123456789abcdef: {agentId: a, displayName: A}}}":                             true,
		"auth: {api_keys: {0123456789abcdef: {AgentId: a, DisplayName: A, Roles: [admin], Owner: o}}}":   true,
		"auth: {api_keys: {0123456789abcdef: {agent_id: a, claims: {}}}}":                                false,
		"auth: {api_keys: {0123456789abcdef: {agent_id: a, dialect: v1.0}}}":                             true,
		"auth: {api_keys: {0123456789abcdef: {AgentId: a, Dialect: v0.3}}}":                              true,
		"auth: {api_keys: {0123456789abcdef: {agent_id: a, dialect: morse}}}":                            false,
		"agents: [{name: a, command: b, dialect: v0.3}]":                                                 true,
		"agents: [{name: a, command: b, dialect: v1}]":                                                   false,
		"agents: [{name: a}]":                                                                                                       false,
		"agents: [{name: a, queue: b}]":                                                                                             true,
		"agents: [{name: a, queue: b, url: 'https://x.example'}]":                                                                   true,
		"agents: [{name: a, queue: b, command: c}]":                                                                                 false,
		"agents: [{name: a, place: B}]":                                                                                             true,
		"agents: [{name: a, place: B, queue: c, command: d}]":                                                                       false,
		"agents: [{name: echo}]":                                                                                                    true,
		"agents: [{name: a, url: 'https://x.example'}]":                                                                             true,
		"agents: [{name: a, url: 'https://x.example', command: b}]":                                                                 false,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: 'https://x.example'}}]":                                              true,
		"agents: [{name: a, endpoint: {base_url: 'https://x.example'}}]":                                                            false,
		"agents: [{name: a, endpoint: {backend: soap, base_url: 'https://x.example'}}]":                                             false,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: 'https://x.example', auth: {type: bearer, token: t}}}]":              true,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: 'https://x.example', auth: {type: basic, token: t}}}]":               false,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: 'https://x.example', timeout_ms: 5, options: {history_length: 0}}}]": true,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: 'https://x.example', options: {poll_interval_ms: -1}}}]":             false,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: 'https://x.example', options: {poll_max_ms: -1}}}]":                  false,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: 'https://x.example', options: {poll_initial_ms: 1}}}]":               true,
		"agents: [{command: a}]":                                                                                                    false,
		"agents: [{name: a, command: b}]":                                                                                           true,
		"agents: [{name: a, command: [b, 1]}]":                                                                                      true,
		"agents: [{name: a, command: []}]":                                                                                          false,
		"agents: [{name: a, command: ''}]":                                                                                          false,
		"agents: [{name: a, command: b, env: {A: 1}}]":                                                                              true,
		"agents: [{name: a, command: b, version: 1.0}]":                                                                             true,
		"agents: [{name: a, command: b, skills: [{}]}]":                                                                             false,
		"agents: [{name: a, command: b, inputModes: a/b}]":                                                                          false,
	} {
		err := s.Validate(instance(t, []byte(src)))
		if (err == nil) != want {
			t.Errorf("schema on %q: %v, want valid to be %v", src, err, want)
		}
		_, err = Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
		if (err == nil) != want {
			t.Errorf("decoder on %q: %v, want valid to be %v", src, err, want)
		}
	}
}

// Every field has a property with the right type and a description, and every property has a
// field.
func TestSchemaMatchesTheStructs(t *testing.T) {
	t.Parallel()
	var doc struct {
		node
		Defs map[string]node `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	compare(t, "Config", doc.node, reflect.TypeFor[Config]())
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Agent](), reflect.TypeFor[Skill](), reflect.TypeFor[Limits](), reflect.TypeFor[Engine](), reflect.TypeFor[Log](),
		reflect.TypeFor[Auth](), reflect.TypeFor[TLS](), reflect.TypeFor[CertificateRule](), reflect.TypeFor[Caller](), reflect.TypeFor[Push](), reflect.TypeFor[Memory](),
		reflect.TypeFor[ExtendedCard](), reflect.TypeFor[Extended](), reflect.TypeFor[Telemetry](), reflect.TypeFor[Trust](), reflect.TypeFor[FrontDesk](),
		reflect.TypeFor[Directory](), reflect.TypeFor[MCPService](), reflect.TypeFor[MCPTool](),
		reflect.TypeFor[MCP](), reflect.TypeFor[MCPServer](), reflect.TypeFor[MCPTools](),
		reflect.TypeFor[ModelProvider](), reflect.TypeFor[Model](), reflect.TypeFor[ModelChoice](),
		reflect.TypeFor[Broker](), reflect.TypeFor[BrokerSkill](),
		reflect.TypeFor[Endpoint](), reflect.TypeFor[EndpointAuth](), reflect.TypeFor[EndpointTLS](), reflect.TypeFor[EndpointOptions](), reflect.TypeFor[Identity](),
	} {
		compare(t, typ.Name(), doc.Defs[typ.Name()], typ)
	}
}

// node is a part of the schema.
type node struct {
	Ref         string          `json:"$ref"`
	Description string          `json:"description"`
	Properties  map[string]node `json:"properties"`
	Additional  any             `json:"additionalProperties"`
	Items       *node           `json:"items"`
	AnyOf       []struct {
		Enum []any `json:"enum"`
	} `json:"anyOf"`
}

func compare(t *testing.T, name string, n node, typ reflect.Type) {
	t.Helper()
	if n.Additional != false {
		t.Errorf("%s: the schema lets other keys pass", name)
	}
	var keys []string
	fields := yamlfile.FieldsOf(typ)
	if x, ok := reflect.New(typ).Interface().(yamlfile.Extended); ok {
		for _, p := range x.Extensions() {
			fields = append(fields, yamlfile.FieldsOf(reflect.TypeOf(p).Elem())...)
		}
	}
	for _, f := range fields {
		key := f.Tag.Get("yaml")
		keys = append(keys, key)
		p, ok := n.Properties[key]
		if !ok {
			t.Errorf("%s: the schema lacks %s", name, key)
			continue
		}
		if diff := cmp.Diff(expected(f), shape(p)); diff != "" {
			t.Errorf("%s.%s has another type in the schema (-struct +schema):\n%s", name, key, diff)
		}
		if p.Description == "" && !strings.HasPrefix(p.Ref, "#/$defs/") {
			t.Errorf("%s.%s has no description", name, key)
		}
	}
	for key, p := range n.Properties {
		if !slices.Contains(keys, key) && !alias(n, key, p) {
			t.Errorf("%s: the schema has %s, which is no field", name, key)
		}
	}
}

// alias reports whether a property is another spelling of an earlier one.
func alias(n node, key string, p node) bool {
	name, ok := strings.CutPrefix(p.Description, "The same as ")
	first, there := n.Properties[strings.TrimSuffix(name, ".")]
	return ok && there && first.Ref == p.Ref && yamlfile.PlainKey(strings.TrimSuffix(name, ".")) == yamlfile.PlainKey(key)
}

// expected returns the required shape of a field's property.
func expected(f reflect.StructField) string {
	if enum := f.Tag.Get("enum"); enum != "" {
		return "one of " + enum
	}
	switch f.Type {
	case reflect.TypeFor[string]():
		return "text"
	case reflect.TypeFor[bool](), reflect.TypeFor[*bool]():
		return "switch"
	case reflect.TypeFor[int](), reflect.TypeFor[*int]():
		return "count"
	case reflect.TypeFor[float64](), reflect.TypeFor[*float64]():
		return "number"
	case reflect.TypeFor[Size]():
		return "size"
	case reflect.TypeFor[Store]():
		return "store"
	case reflect.TypeFor[Command]():
		return "command"
	case reflect.TypeFor[[]string]():
		return "texts"
	case reflect.TypeFor[map[string]string]():
		return "mapping"
	case reflect.TypeFor[Duration]():
		if f.Tag.Get("never") != "" {
			return "durationOrNever"
		}
		return "duration"
	}
	if f.Type == reflect.TypeFor[ProfileName]() {
		return "one of " + strings.Join(profileNames(), ",")
	}
	if f.Type == reflect.TypeFor[DialectName]() {
		return "one of " + strings.Join(dialect.Names(), ",")
	}
	if f.Type == reflect.TypeFor[Callers]() {
		return "callers"
	}
	if f.Type.Kind() == reflect.Slice {
		return "list of " + f.Type.Elem().Name()
	}
	return f.Type.Name()
}

// shape returns the shape of a property.
func shape(p node) string {
	switch {
	case p.Ref != "":
		return strings.TrimPrefix(p.Ref, "#/$defs/")
	case p.Items != nil:
		return "list of " + strings.TrimPrefix(p.Items.Ref, "#/$defs/")
	case p.Additional != nil:
		return "mapping"
	case len(p.AnyOf) > 0:
		var names []string
		for _, v := range p.AnyOf[0].Enum {
			if s, ok := v.(string); ok {
				names = append(names, s)
			}
		}
		return "one of " + strings.Join(names, ",")
	}
	return "unknown"
}

func TestSchemaIsACopy(t *testing.T) {
	t.Parallel()
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("a caller can change the schema")
	}
}
