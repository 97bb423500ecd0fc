package dialect

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
)

// DefaultPageSize is the number of tasks of a page if the caller sets no page size
// (specification §3.1.4).
const DefaultPageSize = 50

const maxPageSize = 100

// Decoder converts v1.0 requests into operations. The zero Decoder is ready to use, and strict
// where the specification is. Its methods are safe for concurrent use.
//
// Methods with a params argument require a JSON object that Call or Body has checked. Nil
// params count as an empty object. Methods whose names end in At serve HTTP+JSON: their
// arguments are the values of the path and the unparsed query or body. Errors wrap
// a2a.ErrInvalidParams and name the field as the caller spelled it, unless documented
// otherwise.
type Decoder struct {
	// MaxParts is the largest number of parts of a message; zero means
	// a2ajson.DefaultMaxParts.
	MaxParts int
	// MaxDepth is the largest nesting depth of JSON; zero means a2ajson.DefaultMaxDepth.
	MaxDepth int
	// PageSize is the default page size of ListTasks; zero means DefaultPageSize.
	PageSize int
	// Fill completes a message that lacks its id or its role instead of refusing it. The zero
	// value refuses it.
	Fill bool
}

// Body checks the body of an HTTP+JSON request. Its errors wrap a2a.ErrParseError if b is not
// JSON, and a2a.ErrInvalidRequest if it is not an object.
func (d *Decoder) Body(b []byte) error {
	if err := d.check(b); err != nil {
		return err
	}
	if rawjson.KindOf(b) != rawjson.Object {
		return apierror.New(a2a.ErrInvalidRequest, "the body must be a JSON object")
	}
	return nil
}

// Members checks the body of a request of another protocol like Body, and visits its members, except for
// those that are null. It refuses repeated members.
func (d *Decoder) Members(body []byte, visit func(name string, v []byte) error) error {
	if err := d.Body(body); err != nil {
		return err
	}
	seen := map[string]bool{}
	for name, v := range rawjson.Fields(body) {
		if seen[name] {
			return apierror.Field(a2a.ErrInvalidParams, name, "appears twice")
		}
		seen[name] = true
		if rawjson.KindOf(v) == rawjson.Null {
			continue
		}
		if err := visit(name, v); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) check(b []byte) error {
	depth := d.MaxDepth
	if depth == 0 {
		depth = a2ajson.DefaultMaxDepth
	}
	if err := rawjson.Check(b, depth); err != nil {
		return apierror.New(a2a.ErrParseError, "%v", err)
	}
	return nil
}

// optionalBody is Body for operations that need no body. White space and null count as no body:
// the official Go SDK sends null for operations without parameters.
func (d *Decoder) optionalBody(b []byte) ([]byte, error) {
	if b = rawjson.Trim(b); len(b) == 0 || string(b) == "null" {
		return nil, nil
	}
	return b, d.Body(b)
}

var noParams = []byte("{}")

// each visits the fields of params, which may be nil.
func each(s *a2ajson.Schema, params []byte, visit func(i int, name string, v []byte) error) error {
	if len(params) == 0 {
		params = noParams
	}
	return s.Each(params, visit)
}

func required(field string) error {
	return a2ajson.Under(field, a2ajson.Invalid("is required"))
}

// readInto reads a string into *to.
func readInto(to *string, v []byte) (err error) {
	*to, err = a2ajson.ReadString(v)
	return err
}

// readTenant reads the routing string, which some clients call agentId.
func readTenant(t *op.Target, v []byte) error {
	s, err := a2ajson.ReadString(v)
	if err != nil {
		return err
	}
	if t.Tenant != "" && s != "" && t.Tenant != s {
		return a2ajson.Invalid("contradicts another name of the tenant, %q", clip(t.Tenant))
	}
	if s != "" {
		t.Tenant = s
	}
	return nil
}

// readTaskID reads the id of a task. On HTTP+JSON id already holds the path's value, and a
// different one in the payload is refused.
func readTaskID(id *a2a.TaskID, v []byte) error {
	s, err := a2ajson.ReadString(v)
	if err != nil {
		return err
	}
	if *id != "" && s != "" && string(*id) != s {
		return a2ajson.Invalid("differs from the id in the path")
	}
	if s != "" {
		*id = a2a.TaskID(s)
	}
	return nil
}

// readHistory reads historyLength. Zero and absent differ (specification §3.2.4).
func readHistory(n **int, v []byte) error {
	i, err := readCount(v)
	if err != nil {
		return err
	}
	*n = &i
	return nil
}

func readCount(v []byte) (int, error) {
	n, err := a2ajson.ReadInt(v)
	if err == nil && n < 0 {
		err = a2ajson.Invalid("must not be negative")
	}
	return n, err
}
