package stdio_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/llm/mcp/stdio"
)

// Ids that the SDK would change are refused, with the id as it was sent; all others pass.
func TestCheckID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		message, id string
		refused     bool
	}{
		{`{"id":1}`, `1`, false},
		{`{"id":-9007199254740991}`, `-9007199254740991`, false},
		{`{"id":"9007199254740993"}`, `"9007199254740993"`, false},
		{`{"method":"x"}`, ``, false},
		{`{"id":1,"params":[1.5]}`, `1`, false},
		{`{"id":1.5}`, `1.5`, true},
		{`{"id":1.0}`, `1.0`, true},
		{`{"id":1e3}`, `1e3`, true},
		{`{"id":-0}`, `-0`, true},
		{`{"id":9007199254740993}`, `9007199254740993`, true},
		{`{"id":12345678901234567890}`, `12345678901234567890`, true},
		{`{"id":1,"params":{"_meta":{"progressToken":1.5}}}`, `1`, true},
		{`{"id":1,"params":{"_meta":{"progressToken":"a"}}}`, `1`, false},
	} {
		if id, wrong := stdio.CheckID([]byte(tt.message)); string(id) != tt.id || (wrong != nil) != tt.refused {
			t.Errorf("%s: id %s, %v; want id %s, refused %v", tt.message, id, wrong, tt.id, tt.refused)
		}
	}
}
