package stdio

import (
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// CheckID returns an error for a message whose id, or token of progress, the SDK cannot keep: it reads
// numbers as float64 and sends them back as int64. id is the id of the message, or nil.
func CheckID(message []byte) (id json.RawMessage, wrong *jsonrpc.Error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil, nil // the SDK reports the error
	}
	if !kept(m.ID) {
		return m.ID, unkept("id", m.ID)
	}
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &params) == nil && !kept(params.Meta.Token) {
		return m.ID, unkept("params._meta.progressToken", params.Meta.Token)
	}
	return m.ID, nil
}

// mostSafe is the largest integer up to which a float64 has all integers.
const mostSafe = 1<<53 - 1

// kept reports whether a value comes back unchanged: any value but a number, and the usual spelling of a
// safe integer.
func kept(value json.RawMessage) bool {
	if len(value) == 0 || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return true
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	return err == nil && -mostSafe <= n && n <= mostSafe && strconv.FormatInt(n, 10) == string(value)
}

func unkept(field string, value json.RawMessage) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidRequest,
		Message: field + ": " + string(value) + " is not an integer from -(2^53-1) to 2^53-1; use one, or a string",
	}
}
