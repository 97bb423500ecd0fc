package adminapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-a2a/parley/internal/front/adminapi"
)

var update = flag.Bool("update", false, "write openapi.json and docs/reference/api.md again")

const apiPage = "../../../docs/reference/api.md"

// TestDescription checks that the description of the API has all routes and no others, with the
// types of the handlers.
func TestDescription(t *testing.T) {
	t.Parallel()
	doc := describe(t)
	want, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		write(t, "openapi.json", want)
		write(t, apiPage, []byte(page(t, doc)))
		return
	}
	if diff := cmp.Diff(string(want), string(adminapi.OpenAPI)); diff != "" {
		t.Errorf("openapi.json is not that of the routes; write it with go test -run TestDescription -update (-want +got):\n%s", diff)
	}
	got, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page(t, doc), string(got)); diff != "" {
		t.Errorf("docs/reference/api.md is not that of the routes; write it with go test -run TestDescription -update (-want +got):\n%s", diff)
	}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDescriptionIsForAll checks that a request without a principal gets the description, and
// nothing else.
func TestDescriptionIsForAll(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub()}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		got := send(h, httptest.NewRequestWithContext(t.Context(), method, adminapi.Description, nil))
		if method == http.MethodGet && got.body != string(adminapi.OpenAPI) || got.code != 200 || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s = %d %.80s", method, got.code, got.body)
		}
	}
	got := send(h, httptest.NewRequestWithContext(t.Context(), "GET", adminapi.Root+"/status", nil))
	got.failure(t, 401, "UNAUTHENTICATED", "UNAUTHENTICATED")
	got = send(h, httptest.NewRequestWithContext(t.Context(), "POST", adminapi.Description, nil))
	if got.code != 405 || got.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST = %d, allow %q", got.code, got.header.Get("Allow"))
	}
}

// TestDescriptionHasSchemas checks that every schema of the description is one.
func TestDescriptionHasSchemas(t *testing.T) {
	t.Parallel()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(adminapi.OpenAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("api.json", v); err != nil {
		t.Fatal(err)
	}
	all := v.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	if len(all) < 30 {
		t.Errorf("%d schemas, want more", len(all))
	}
	for name := range all {
		if _, err := c.Compile("api.json#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
}

// queryNames matches how handlers read a parameter of the query.
var queryNames = regexp.MustCompile(`(?:\b(?:q|v|values|Query\(\))\.(?:Get|Has)\(|\b(?:q|v|values|Query\(\))\[|\bnumberOf\(\w+, )"(\w+)"`)

// TestDescriptionHasParameters checks that every parameter of the query which the handlers read is
// in the description, and no other.
func TestDescriptionHasParameters(t *testing.T) {
	t.Parallel()
	read, described := map[string]bool{"since": true, "until": true}, make(map[string]bool)
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range queryNames.FindAllStringSubmatch(string(src), -1) {
			read[m[1]] = true
		}
	}
	for _, r := range adminapi.Routes() {
		for _, p := range paramsOf(t, &r) {
			if p["in"] == "query" {
				described[p["name"].(string)] = true
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(read)), slices.Sorted(maps.Keys(described))); diff != "" {
		t.Errorf("parameters (-read by handlers +described):\n%s", diff)
	}
}

type object = map[string]any

// describe returns the description of all routes.
func describe(t *testing.T) object {
	t.Helper()
	s := &schemas{t: t, made: make(map[string]map[string]any), docs: readDocs(t)}
	paths, left := make(object), maps.Clone(operations)
	for _, r := range adminapi.Routes() {
		pattern := r.Method + " " + strings.TrimPrefix(r.Path, adminapi.Root)
		o, ok := operations[pattern]
		if !ok {
			t.Errorf("%s is not described; add it to operations", pattern)
			continue
		}
		delete(left, pattern)
		p, _ := paths[r.Path].(object)
		if p == nil {
			p = make(object)
			paths[r.Path] = p
		}
		p[strings.ToLower(r.Method)] = s.operation(&r, &o)
	}
	for pattern := range left {
		t.Errorf("%s is described and not served", pattern)
	}
	paths[adminapi.Description] = object{"get": ownOperation}
	for _, o := range s.made {
		delete(o, "x-go")
	}
	all := object{"Error": errorSchema, "TaskState": object{"type": "string", "enum": taskStates, "description": "The state of a task, by the name of the protocol."}}
	for name, o := range s.made {
		all[name] = o
	}
	responses := object{"Error": object{"description": commonErrors, "content": object{"application/json": object{"schema": ref("Error")}}}}
	return object{
		"openapi": "3.1.1", "paths": paths,
		"info": object{
			"title": "Parley", "version": "v1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "The hub's own interface beside the A2A protocol, for its operators and its command line. " +
				"The description is the same for every hub: a hub without one of its parts answers the operations of that part with 404.",
		},
		"servers":  []any{object{"url": "../..", "description": "This hub."}},
		"security": []any{object{"bearer": []any{}}, object{"apiKey": []any{}}, object{}},
		"components": object{
			"schemas": all, "responses": responses,
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer", "description": "An API key, or a token of a configured issuer."},
				"apiKey": object{"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key."},
			},
		},
	}
}

// ownOperation is the operation that returns the description.
var ownOperation = object{
	"operationId": "getDescription", "tags": []any{"openapi.json"}, "summary": "Returns this description.", "security": []any{object{}},
	"description": "Every caller may use it, without credentials.",
	"responses":   object{"200": object{"description": "OK", "content": object{"application/json": object{"schema": object{"type": "object"}}}}},
}

// errorSchema is the shape of errors.
var errorSchema = object{
	"type": "object", "required": []any{"error"}, "description": "An error, a google.rpc.Status in the form of the protocol's HTTP+JSON binding.",
	"properties": object{"error": object{
		"type": "object", "required": []any{"code", "status", "message", "details"},
		"properties": object{
			"code":    object{"type": "integer", "description": "The HTTP status."},
			"status":  object{"type": "string", "description": "The name of the gRPC status."},
			"message": object{"type": "string", "description": "The error for people."},
			"details": object{"type": "array", "minItems": 1, "items": object{
				"type": "object", "required": []any{"@type"},
				"properties": object{
					"@type":  object{"type": "string", "description": "`type.googleapis.com/google.rpc.ErrorInfo`, `.BadRequest` or `.RetryInfo`."},
					"reason": object{"type": "string", "description": "The error for programs, such as `TASK_NOT_FOUND`."}, "domain": object{"type": "string"},
					"metadata": object{"type": "object", "additionalProperties": object{"type": "string"}},
					"fieldViolations": object{"type": "array", "items": object{"type": "object", "properties": object{
						"field": object{"type": "string"}, "description": object{"type": "string"},
					}}},
					"retryDelay": object{"type": "string"},
				},
			}},
		},
	}},
}

// operation describes a route.
func (s *schemas) operation(r *adminapi.Route, o *operation) object {
	family, _, _ := strings.Cut(strings.TrimPrefix(r.Path, adminapi.Root+"/"), "/")
	callers := map[string]string{"administrators": "Only administrators may use it.", "every caller": "Every caller may use it."}[r.Callers]
	if r.Scoped {
		callers += " `scope=all` needs an administrator."
	}
	d := object{
		"operationId": o.id, "tags": []any{family}, "summary": o.text, "description": strings.TrimSpace(o.more + " " + callers),
		"responses": s.responses(r, o),
	}
	if p := paramsOf(s.t, r); len(p) > 0 {
		d["parameters"] = p
	}
	if r.In != nil {
		d["requestBody"] = object{"content": object{"application/json": object{"schema": s.of(r.In, true)}}, "description": "JSON; an empty body is an empty object."}
	}
	return d
}

// responses describes the answers of a route.
func (s *schemas) responses(r *adminapi.Route, o *operation) object {
	content := object{"text/event-stream": object{"schema": object{"type": "string"}}}
	text := "OK"
	if o.event != nil {
		content["text/event-stream"].(object)["x-parley-event"] = s.of(o.event, false)
		text = "A stream of events, each with `data` as JSON. A comment every 15 s keeps the connection open."
		if o.ended {
			text += " The event `end` ends a complete stream; a stream without it may be requested again."
		}
	} else {
		content = object{"application/json": object{"schema": s.of(r.Out, false)}}
	}
	all := object{"200": object{"description": text, "content": content}}
	all["default"] = object{"$ref": "#/components/responses/Error"}
	reasons := make(map[string][]string)
	for _, e := range o.errors {
		code, reason, _ := strings.Cut(e, " ")
		reasons[code] = append(reasons[code], reason)
	}
	for code, list := range reasons {
		all[code] = object{"description": statuses[code] + ": " + strings.Join(list, ", ") + ".", "x-parley-reasons": list, "content": object{"application/json": object{"schema": ref("Error")}}}
	}
	return all
}

// bounds matches the default and the maximum of a parameter.
var bounds = regexp.MustCompile(`^(\w+)=(\d+)\.\.(\d*)$`)

// paramsOf returns the parameters of a route.
func paramsOf(t *testing.T, r *adminapi.Route) []object {
	t.Helper()
	var all []object
	if strings.Contains(r.Path, "{id}") {
		all = append(all, object{"name": "id", "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	list := operations[r.Method+" "+strings.TrimPrefix(r.Path, adminapi.Root)].params
	if r.Scoped {
		list = append([]string{"scope"}, list...)
	}
	for _, text := range list {
		all = append(all, queryParam(t, text))
	}
	return all
}

// queryParam returns a parameter of the query from its short form: "!" marks a required one, "*"
// one that may be repeated.
func queryParam(t *testing.T, text string) object {
	t.Helper()
	required, repeated := strings.HasSuffix(text, "!"), strings.HasSuffix(text, "*")
	key := strings.TrimRight(text, "!*")
	schema := object(nil)
	if m := bounds.FindStringSubmatch(key); m != nil {
		key, schema = m[1], integer(1)
		if most, err := strconv.Atoi(m[3]); err == nil {
			normal, _ := strconv.Atoi(m[2])
			schema["default"], schema["maximum"] = normal, most
		}
	}
	p, ok := parameters[key]
	if !ok {
		t.Fatalf("the parameter %q is not described", key)
	}
	if schema == nil {
		schema = p.schema
	}
	if schema == nil {
		schema = object{"type": "string"}
	}
	name, _, _ := strings.Cut(key, ":")
	d := object{"name": name, "in": "query", "description": p.text, "schema": schema}
	if required {
		d["required"] = true
	}
	if repeated {
		d["schema"], d["explode"] = object{"type": "array", "items": schema}, true
	}
	return d
}

// page returns the page of the documentation.
func page(t *testing.T, doc object) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(pageHead)
	family := ""
	for _, r := range adminapi.Routes() {
		o := doc["paths"].(object)[r.Path].(object)[strings.ToLower(r.Method)].(object)
		if f := o["tags"].([]any)[0].(string); f != family {
			family = f
			fmt.Fprintf(&b, "\n## %s\n\n", f)
			b.WriteString("| Operation | Query | Body → answer | Errors |\n|---|---|---|---|\n")
		}
		mark := map[bool]string{true: " \\*"}[r.Callers == "administrators"]
		fmt.Fprintf(&b, "| `%s %s`%s %s | %s | %s | %s |\n", r.Method, r.Path, mark, o["summary"], queryCell(t, &r), typeCell(o), errorCell(o))
	}
	return b.String()
}

const pageHead = `# HTTP API

` + "`/api/v1`" + ` is the hub's own API beside A2A, for operators, the ` + "`parley`" + ` command and the
[console](../console.md). ` + "`GET /api/v1/openapi.json`" + ` describes it in OpenAPI 3.1, without credentials, so that
you can generate a client for any language; this page is generated from it.

[Callers](../callers.md) authenticate as for A2A, and a [policy](../policy.md) can grant and deny each operation. An
administrator is a caller whose key has the role ` + "`admin`" + `, or a caller on the hub's machine while callers need no
key; operations marked \* are for administrators. Requests of browsers from other origins are rejected. The hub
[records](../audit.md) each change before it makes it.

- **Bodies** are JSON of at most 64 KiB, 8 MiB for a note, with the type ` + "`application/json`" + `. An unknown member is
  an error. Responses may get further members in later versions.
- **Errors** have the shape of A2A's HTTP+JSON binding: ` + "`{\"error\": {\"code\", \"status\", \"message\", \"details\"}}`" + `,
  with the error's name in ` + "`details[0].reason`" + `. Every operation can return 401 ` + "`UNAUTHENTICATED`" + `, 403
  ` + "`UNAUTHORIZED`" + `, 404 ` + "`METHOD_NOT_FOUND`" + ` (the hub has no such part), 429 ` + "`RESOURCE_EXHAUSTED`" + `, 500 and 503; with
  parameters or a body 400 ` + "`INVALID_PARAMS`" + `, with a body 413 and 415. The tables list the others.
- **Streams** have the type ` + "`text/event-stream`" + `, with JSON in ` + "`data`" + ` and a comment every 15 s. The event ` + "`end`" + `
  ends a complete stream of a tree or a log; request a stream that ends without it again, with the id of the last event
  in ` + "`Last-Event-ID`" + `.
`

// queryCell lists the parameters of the query.
func queryCell(t *testing.T, r *adminapi.Route) string {
	t.Helper()
	var list []string
	for _, p := range paramsOf(t, r) {
		if p["in"] == "query" {
			list = append(list, "`"+p["name"].(string)+"`")
		}
	}
	return strings.Join(list, ", ")
}

// typeCell names the types of the body and of the answer.
func typeCell(o object) string {
	var list []string
	name := func(schema any) string {
		s, _ := schema.(object)["$ref"].(string)
		return s[strings.LastIndexByte(s, '/')+1:]
	}
	if body, ok := o["requestBody"].(object); ok {
		schema := body["content"].(object)["application/json"].(object)["schema"]
		if name(schema) != "" {
			list = append(list, name(schema))
		}
	}
	content := o["responses"].(object)["200"].(object)["content"].(object)
	if stream, ok := content["text/event-stream"].(object); ok {
		return strings.Join(append(list, "stream of "+name(stream["x-parley-event"])), " → ")
	}
	return strings.Join(append(list, name(content["application/json"].(object)["schema"])), " → ")
}

// errorCell lists the errors that not every operation has.
func errorCell(o object) string {
	var list []string
	responses := o["responses"].(object)
	for _, code := range slices.Sorted(maps.Keys(responses)) {
		reasons, _ := responses[code].(object)["x-parley-reasons"].([]string)
		for _, reason := range reasons {
			list = append(list, code+" `"+reason+"`")
		}
	}
	return strings.Join(list, ", ")
}
