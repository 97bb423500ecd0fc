package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

const allPaths = `
data: data
parts: {threshold: 1MiB, dir: parts}
policy: policy.yaml
trust: {file: trust.json}
questions: {answering_agent: clerk, script: script.yaml}
audit: {dir: /var/audit}
tls: {cert: cert.pem, key: key.pem, client_ca: ../ca.pem, client_crl: crl.pem}
bus: {listen: "0.0.0.0:4222", tls: {cert: bus.pem, key: bus.key}}
cards: {signing_keys: [sign.pem], trusted_keys: [a.pem, /b.pem]}
directory: {lists: [agents.yaml]}
auth:
  tokens: [{name: t, issuer: "https://issuer.example", audiences: [a], keys_file: keys.json}]
  certificates: [{ca: org.pem, each: dns, name: n}]
model_providers: [{name: m, script: model.yaml}]
mcp_servers: [{name: s, command: [x]}, {name: t, command: [x], dir: tools}]
agents:
  - {name: a, command: x}
  - {name: b, command: x, dir: sub}
  - {name: c, endpoint: {backend: a2a, base_url: "https://a.example", tls: {cert: c.pem, key: c.key, ca: c.ca}}}
`

// Every path is relative to the folder of the file, at any position.
func TestPathsCountFromTheFile(t *testing.T) {
	t.Parallel()
	c, err := Parse("/etc/parley/parley.yaml", []byte(allPaths), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"policy": c.Policy.File}
	tagged(reflect.ValueOf(c).Elem(), "", got)
	want := map[string]string{
		"data": "data", "parts.dir": "parts", "policy": "policy.yaml", "trust.file": "trust.json",
		"questions.script": "script.yaml", "audit.dir": "/var/audit",
		"tls.cert": "cert.pem", "tls.key": "key.pem", "tls.client_ca": "/etc/ca.pem", "tls.client_crl": "crl.pem",
		"bus.tls.cert": "bus.pem", "bus.tls.key": "bus.key",
		"cards.signing_keys.": "sign.pem", "cards.trusted_keys.": "a.pem", "cards.trusted_keys..": "/b.pem",
		"directory.lists.":       "agents.yaml",
		"auth.tokens..keys_file": "keys.json", "auth.certificates..ca": "org.pem",
		"model_providers..script": "model.yaml", "mcp_servers..dir": "", "mcp_servers...dir": "tools",
		"agents..dir": "", "agents...dir": "sub", "agents....dir": "",
		"agents....endpoint.tls.cert": "c.pem", "agents....endpoint.tls.key": "c.key", "agents....endpoint.tls.ca": "c.ca",
	}
	for key, path := range want {
		if !strings.HasPrefix(path, "/") {
			want[key] = strings.TrimSuffix("/etc/parley/"+path, "/")
		}
	}
	delete(want, "agents....dir") // it is not a program
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// tagged collects the fields with the tag path that are set; the number of dots of a key is the
// number of its item.
func tagged(v reflect.Value, key string, found map[string]string) {
	switch v.Kind() {
	case reflect.Struct:
		if x, ok := v.Addr().Interface().(yamlfile.Extended); ok {
			for _, p := range x.Extensions() {
				tagged(reflect.ValueOf(p).Elem(), key, found)
			}
		}
		for _, f := range reflect.VisibleFields(v.Type()) {
			name := f.Tag.Get("yaml")
			if name == "" || name == "-" {
				continue
			}
			field, at := v.FieldByIndex(f.Index), strings.TrimPrefix(key+"."+name, ".")
			switch {
			case f.Tag.Get("path") == "":
				tagged(field, at, found)
			case field.Kind() == reflect.String && field.String() != "":
				found[at] = field.String()
			case field.Kind() == reflect.Slice:
				for i := range field.Len() {
					found[at+strings.Repeat(".", i+1)] = field.Index(i).String()
				}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			tagged(v.Index(i), key+strings.Repeat(".", i+1), found)
		}
	}
}
