package hubtools

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-a2a/parley/internal/adminjson"
)

var results sync.Map // of json.RawMessage by the type of the result

// resultOf returns the schema of the data part of a result. A member with omitempty is optional.
func resultOf[A any]() json.RawMessage {
	return once(&results, reflect.TypeFor[A](), func() json.RawMessage {
		s, err := jsonschema.For[A](resultTypes())
		if err != nil {
			panic(err) // the types are our own
		}
		simplify(s)
		return schemaJSON(s)
	})
}

// resultTypes returns the schemas of types that their kind in Go does not describe.
func resultTypes() *jsonschema.ForOptions {
	service, err := jsonschema.For[adminjson.Result](nil)
	if err != nil {
		panic(err) // the type is our own
	}
	service.Properties["type"].Enum = []any{"a2a", "mcp"}
	return &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():        {Type: "string", Format: "date-time"},
		reflect.TypeFor[adminjson.Result](): service,
	}}
}

// simplify removes null for slices, which no result has, and allows the further members of later
// versions.
func simplify(s *jsonschema.Schema) {
	if len(s.Types) > 0 {
		s.Type, s.Types = s.Types[len(s.Types)-1], nil
	}
	s.AdditionalProperties = nil
	if s.Items != nil {
		simplify(s.Items)
	}
	for _, p := range s.Properties {
		simplify(p)
	}
}
