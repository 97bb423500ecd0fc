package mcpclient

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/llm/guard"
)

// The keywords of a JSON Schema that a model receives, by the type of their values. All texts
// are removed: models read them with the description of the tool, in its label.
var (
	schemaKeywords = strings.Fields(`items additionalProperties additionalItems contains propertyNames not if then else
		unevaluatedItems unevaluatedProperties`)
	listKeywords = strings.Fields("anyOf oneOf allOf prefixItems")
	mapKeywords  = strings.Fields("properties $defs definitions dependentSchemas")
	// plainKeywords have a number, a flag or a name, or a list of these.
	plainKeywords = strings.Fields(`type enum const default format required $ref
		minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems
		minProperties maxProperties minContains maxContains uniqueItems readOnly writeOnly deprecated nullable`)
	textKeywords = strings.Fields("title description examples pattern patternProperties")
)

// maxNested is the largest depth of a schema. Below it anything is valid.
const maxNested = 32

// schemaTexts are the texts of a schema, one on each line.
type schemaTexts struct{ lines strings.Builder }

// bare returns a schema without its texts, which it adds to d. path names the schema.
func (d *schemaTexts) bare(schema any, path string, depth int) any {
	from, ok := schema.(map[string]any)
	if !ok || depth > maxNested {
		flag, isFlag := schema.(bool)
		return flag || !isFlag
	}
	to := make(map[string]any)
	for _, keyword := range slices.Sorted(maps.Keys(from)) {
		v := from[keyword]
		if list, ok := v.([]any); ok && slices.Contains(listKeywords, keyword) || ok && keyword == "items" {
			var all []any
			for _, one := range list {
				all = append(all, d.bare(one, path, depth+1))
			}
			to[keyword] = all
			continue
		}
		switch {
		case slices.Contains(schemaKeywords, keyword):
			to[keyword] = d.bare(v, path+"[]", depth+1)
		case slices.Contains(mapKeywords, keyword):
			if object, ok := v.(map[string]any); ok {
				to[keyword] = d.members(object, to, path, depth)
			}
		case keyword == "required":
			to[keyword] = names(v)
		case slices.Contains(plainKeywords, keyword) && plainValue(v):
			to[keyword] = v
		case slices.Contains(plainKeywords, keyword), slices.Contains(textKeywords, keyword):
			d.add(path, keyword, v)
		}
	}
	return to
}

// members returns the schemas of an object without their texts. A member whose name is not plain
// is described by the texts alone, and parent then accepts further members.
func (d *schemaTexts) members(object, parent map[string]any, path string, depth int) map[string]any {
	to := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		schema := d.bare(object[name], at, depth+1)
		if guard.IsName(name) {
			to[name] = schema
			continue
		}
		d.add(at, "also accepted", schema)
		delete(parent, "additionalProperties") // keywords are sorted: it is there already
	}
	return to
}

func (d *schemaTexts) add(path, keyword string, v any) {
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return
		}
		text = string(b)
	}
	if path == "" {
		path = "arguments"
	}
	if keyword != "description" {
		path += " (" + keyword + ")"
	}
	d.lines.WriteString(path + ": " + text + "\n")
}

// names returns the plain names of a list.
func names(v any) []any {
	list, _ := v.([]any)
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool { s, ok := v.(string); return !ok || !guard.IsName(s) })
}

// plainValue reports whether a value consists of numbers, flags and names, which give no order
// together either.
func plainValue(v any) bool {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var words []string
	for _, one := range list {
		switch one := one.(type) {
		case nil, bool, float64:
		case string:
			if one != "" && !guard.IsName(one) {
				return false
			}
			words = append(words, one)
		default:
			return false
		}
	}
	return !guard.IsOrder(words)
}
