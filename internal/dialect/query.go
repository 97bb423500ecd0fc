package dialect

import (
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// queryObject converts the parameters of a query that s knows into a JSON object, so that the
// rules for params apply to them (specification §11.3). It refuses a parameter that is repeated
// or cannot be unescaped.
func queryObject(s *a2ajson.Schema, query string) ([]byte, error) {
	if query == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, apierror.New(a2a.ErrInvalidParams, "query: %v", err)
	}
	obj := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := s.Index(name)
		if i == a2ajson.Unknown {
			continue
		}
		if len(values[name]) > 1 {
			return nil, a2ajson.Under(name, a2ajson.Invalid("appears twice"))
		}
		if len(obj) > 1 {
			obj = append(obj, ',')
		}
		obj = append(rawjson.AppendString(obj, name), ':')
		obj = appendParameter(obj, values[name][0], s == listSchema && i == listArtifacts)
	}
	return append(obj, '}'), nil
}

// appendParameter writes a parameter as a string, which is also valid for numbers and enums, or
// as a boolean if truth is set and s is one.
func appendParameter(dst []byte, s string, truth bool) []byte {
	if b, err := strconv.ParseBool(s); truth && err == nil {
		return strconv.AppendBool(dst, b)
	}
	return rawjson.AppendString(dst, s)
}
