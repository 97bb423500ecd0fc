package hubclient_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-a2a/parley/internal/llm"
)

// compiled returns the schema of a tool, and checks that it is valid.
func compiled(t *testing.T, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("tool.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("tool.json")
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s
}

// valid returns the error of validating JSON against a schema.
func valid(t *testing.T, schema *jsonschema.Schema, raw []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// checkOutput validates the first part of a result against the schema of its tool.
func checkOutput(t *testing.T, tool *llm.Tool, r *llm.Result) {
	t.Helper()
	raw, err := json.Marshal(r.Parts[0].Data())
	if err == nil {
		err = valid(t, compiled(t, tool.Output), raw)
	}
	if err != nil {
		t.Errorf("the result of %s does not fit its schema: %v\n%s", tool.Name, err, raw)
	}
}
