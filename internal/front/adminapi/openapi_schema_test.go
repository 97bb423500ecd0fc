package adminapi_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// schemas builds the schemas of Go types, with the comments of their source.
type schemas struct {
	t    *testing.T
	made map[string]map[string]any
	docs map[string]*typeDoc // by package and name
}

// typeDoc are the comments of a struct.
type typeDoc struct {
	text   string
	fields map[string]string
}

// sources are the folders of the packages whose types are in the API.
var sources = []string{
	".", "../../adminjson", "../../inbox", "../../trust", "../../audit", "../../agents/queue", "../../engine", "../../events", "../../directory",
	"../../directory/broker",
}

// names are the names of types that would be ambiguous without their package.
var names = map[string]string{
	"trust.Entry": "TrustEntry", "queue.Letter": "DeadLetter", "adminapi.DeadLetter": "Undelivered", "directory.Skill": "NewSkill",
	"audit.Mark": "AuditMark", "inbox.Item": "InboxItem", "adminapi.Operation": "TaskOperation", "adminapi.Status": "HubStatus",
}

// fieldSchemas are the schemas of fields whose Go type does not state their values.
var fieldSchemas = map[string]map[string]any{
	"TaskInfo.state": ref("TaskState"), "TreeTask.state": ref("TaskState"), "LogEntry.state": ref("TaskState"), "Operated.state": ref("TaskState"),
	"Traits.afterCrash": {"enum": []any{"fail", "repeat", "repeat after output", "resume"}},
	"LogEntry.kind":     {"enum": []any{"created", "message", "status", "artifact", "other"}},
	"InboxItem.kind":    {"enum": []any{"question", "approval", "notice"}},
	"InboxItem.state":   {"enum": []any{"open", "answered", "approved", "refused", "expired"}},
	"Key.state":         {"enum": []any{"active", "expired", "revoked"}},
	"MadeKey.state":     {"enum": []any{"active", "expired", "revoked"}},
	"Webhook.state":     {"enum": []any{"current", "delivering", "waiting", "retrying", "settled"}},
	"Curve.values":      {"type": "array", "items": map[string]any{"type": []any{"number", "null"}}},
	"Health.state":      {"enum": []any{"up", "down", "unknown", "gone"}},
	"Agent.state":       {"enum": []any{"up", "down", "unknown", "gone"}},
	"Result.type":       {"enum": []any{"a2a", "mcp"}},
	"TrustEntry.level":  {"enum": []any{"observe", "learn", "propose", "act"}},
	"Turn.role":         {"enum": []any{"caller", "agent", "hub"}},
	"Waiting.code":      {"enum": waitingCodes()},
}

func waitingCodes() (all []any) {
	for _, code := range adminjson.WaitingCodes {
		all = append(all, code)
	}
	return all
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }

// readDocs reads the comments of all structs of the packages.
func readDocs(t *testing.T) map[string]*typeDoc {
	t.Helper()
	docs := make(map[string]*typeDoc)
	for _, dir := range sources {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					readTypes(f.Name.Name, g, docs)
				}
			}
		}
	}
	return docs
}

// readTypes adds the comments of a declaration of types.
func readTypes(pkg string, g *ast.GenDecl, docs map[string]*typeDoc) {
	for _, s := range g.Specs {
		spec := s.(*ast.TypeSpec)
		body, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		d := &typeDoc{text: g.Doc.Text(), fields: make(map[string]string)}
		last := ""
		for _, field := range body.Fields.List {
			text := field.Doc.Text() + field.Comment.Text()
			for _, n := range field.Names {
				if text == "" && regexp.MustCompile(`\b`+n.Name+`\b`).MatchString(last) {
					text = last // one comment for several fields
				}
				d.fields[n.Name] = text
				last = text
			}
		}
		docs[pkg+"."+spec.Name.Name] = d
	}
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type, closed bool) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem(), closed)
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{"type": "object"}
	case t.Implements(textMarshaler):
		return map[string]any{"type": "string"}
	case t.Name() == "CredentialsUpdate":
		return map[string]any{"oneOf": []any{s.of(reflect.New(t).Elem().FieldByName("NewCredentials").Type(), closed), map[string]any{"type": "null"}}}
	case t.Implements(marshaler):
		s.t.Fatalf("%v encodes itself; the test must know its schema", t)
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer", "format": "int64"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem(), closed)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem(), closed)}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		return s.object(t, closed)
	}
	s.t.Fatalf("%v has no schema", t)
	return nil
}

// object returns a reference to the schema of a struct. A closed one has no further members.
func (s *schemas) object(t reflect.Type, closed bool) map[string]any {
	if t.NumField() == 0 {
		return map[string]any{"type": "object", "additionalProperties": false}
	}
	name := t.Name()
	if n, ok := names[t.String()]; ok {
		name = n
	}
	if old, made := s.made[name]; made {
		if old["x-go"] != t.String() {
			s.t.Fatalf("%s is the name of %s and of %s; name one of them in names", name, old["x-go"], t)
		}
		return ref(name)
	}
	o := map[string]any{"type": "object", "x-go": t.String()}
	s.made[name] = o
	doc := s.docs[t.String()]
	if doc == nil || doc.text == "" {
		s.t.Fatalf("%v has no comment; add its package to sources", t)
	}
	o["description"] = oneLine(strings.Replace(doc.text, t.Name(), name, 1))
	if closed {
		o["additionalProperties"] = false
	}
	properties, required := make(map[string]any), []any{}
	for _, f := range reflect.VisibleFields(t) {
		member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || member == "-" || !f.IsExported() {
			continue
		}
		if member == "" {
			s.t.Fatalf("%v.%s has no name in JSON", t, f.Name)
		}
		p := s.of(f.Type, closed)
		if v, ok := fieldSchemas[name+"."+member]; ok {
			p = cloneOf(v)
		}
		if text := s.fieldDoc(t, f); text != "" {
			p["description"] = text
		}
		properties[member] = p
		if !strings.Contains(options, "omit") {
			required = append(required, member)
		}
	}
	o["properties"] = properties
	if len(required) > 0 {
		o["required"] = required
	}
	return ref(name)
}

func cloneOf(m map[string]any) map[string]any {
	c := make(map[string]any, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

// fieldDoc returns the comment of a field, with the names that members have in JSON.
func (s *schemas) fieldDoc(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	doc := s.docs[t.String()]
	if doc == nil {
		return ""
	}
	text := oneLine(doc.fields[f.Name])
	for _, other := range reflect.VisibleFields(t) {
		if member, _, _ := strings.Cut(other.Tag.Get("json"), ","); member != "" {
			text = regexp.MustCompile(fmt.Sprintf(`(^|[^\w."/-])%s\b`, other.Name)).ReplaceAllString(text, "${1}`"+member+"`")
		}
	}
	return text
}

// oneLine joins the lines of a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
