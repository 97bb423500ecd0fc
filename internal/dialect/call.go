package dialect

import (
	"bytes"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// maxRPCID is the largest length of a request id in bytes. The id is repeated in each frame of
// a stream.
const maxRPCID = 1024

// Call is a JSON-RPC request (specification §9.1). Its slices alias the body.
type Call struct {
	// ID is the id byte for byte as the caller wrote it: a string, an integer or null. It is
	// nil if the request has no id or an invalid one; responses then carry null.
	ID []byte
	// Method is the name of the method; Lookup returns its operation.
	Method string
	// Params is a JSON object, or nil if the request has no params.
	Params []byte
}

// Call reads a JSON-RPC request. Its errors wrap a2a.ErrParseError if body is not exactly one
// JSON value, a2a.ErrInvalidRequest if it is not a request, and a2a.ErrInvalidParams if params
// is not an object. A2A defines no batches, so a batch is not a request. A2A defines no
// notifications either: the hub executes and answers a request without an id. On error the Call
// still has the id if it could be read, so that the response can carry it.
func (d *Decoder) Call(body []byte) (Call, error) {
	if err := d.check(body); err != nil {
		return Call{}, err
	}
	switch rawjson.KindOf(body) {
	case rawjson.Object:
	case rawjson.Array:
		return Call{}, apierror.New(a2a.ErrInvalidRequest, "batches are not supported; send one request at a time")
	default:
		return Call{}, apierror.New(a2a.ErrInvalidRequest, "a request must be a JSON object")
	}
	var e envelope
	if err := e.read(body); err != nil {
		return Call{}, err
	}
	return e.call()
}

// envelope holds the raw members of a request.
type envelope struct {
	version, id, method, params []byte
}

func (e *envelope) read(body []byte) error {
	for name, v := range rawjson.Fields(body) {
		var member *[]byte
		switch name {
		case "jsonrpc":
			member = &e.version
		case "id":
			member = &e.id
		case "method":
			member = &e.method
		case "params":
			member = &e.params
		default:
			continue
		}
		if *member != nil {
			return apierror.Field(a2a.ErrInvalidRequest, name, "appears twice")
		}
		*member = v
	}
	return nil
}

func (e *envelope) call() (Call, error) {
	var c Call
	if e.id != nil && !validID(e.id) {
		return c, apierror.Field(a2a.ErrInvalidRequest, "id",
			"must be a string, an integer or null, of at most %d bytes", maxRPCID)
	}
	c.ID = e.id
	if !isText(e.version, "2.0") {
		return c, apierror.Field(a2a.ErrInvalidRequest, "jsonrpc", `must be "2.0"`)
	}
	if c.Method = methodOf(e.method); c.Method == "" {
		return c, apierror.Field(a2a.ErrInvalidRequest, "method", "must be the name of a method")
	}
	switch rawjson.KindOf(e.params) {
	case rawjson.Object:
		c.Params = e.params
	case rawjson.Null, rawjson.Invalid:
	default:
		return c, a2ajson.Under("params", a2ajson.Invalid("must be an object"))
	}
	return c, nil
}

// isText reports whether v is the JSON string s.
func isText(v []byte, s string) bool {
	if len(v) == len(s)+2 && string(v[1:len(v)-1]) == s {
		return v[0] == '"'
	}
	got, ok := rawjson.String(v)
	return ok && got == s
}

// methodOf returns the name of a method, or the empty string. Method names of the protocol are
// returned without an allocation.
func methodOf(v []byte) string {
	if len(v) > 2 && v[0] == '"' {
		if o, ok := operations[string(v[1:len(v)-1])]; ok && methods[o] == string(v[1:len(v)-1]) {
			return methods[o]
		}
	}
	name, _ := rawjson.String(v)
	return name
}

func validID(id []byte) bool {
	if len(id) > maxRPCID {
		return false
	}
	switch rawjson.KindOf(id) {
	case rawjson.Text, rawjson.Null:
		return true
	case rawjson.Number:
		return !bytes.ContainsAny(id, ".eE")
	}
	return false
}
