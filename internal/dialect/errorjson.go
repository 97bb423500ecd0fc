package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// AppendRPC appends the JSON-RPC response with this error.
func (r *Report) AppendRPC(dst, id []byte) []byte {
	dst = append(appendEnvelope(dst, id), `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(r.Code), 10)
	dst = rawjson.AppendString(append(dst, `,"message":`...), r.Message)
	dst = r.AppendDetails(append(dst, `,"data":`...))
	return append(dst, '}', '}')
}

// AppendREST appends the HTTP+JSON body of this error, a google.rpc.Status. Its
// code is the HTTP status.
func (r *Report) AppendREST(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"error":{"code":`...), int64(r.HTTP), 10)
	dst = rawjson.AppendString(append(dst, `,"status":`...), r.GRPC.String())
	dst = rawjson.AppendString(append(dst, `,"message":`...), r.Message)
	dst = r.AppendDetails(append(dst, `,"details":`...))
	return append(dst, '}', '}')
}

const (
	typeErrorInfo  = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":`
	typeBadRequest = `{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[`
	typeRetryInfo  = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`
)

// AppendDetails appends the list of details: an ErrorInfo, a BadRequest if fields are wrong,
// and a RetryInfo if the report has a retry delay. FieldsFirst swaps the first two.
func (r *Report) AppendDetails(dst []byte) []byte {
	dst = append(dst, '[')
	first := r.FieldsFirst && len(r.Violations) > 0
	if first {
		dst = append(r.appendBadRequest(dst), ',')
	}
	dst = append(dst, typeErrorInfo...)
	dst = rawjson.AppendString(dst, r.Reason)
	dst = rawjson.AppendString(append(dst, `,"domain":`...), a2a.ProtocolDomain)
	if len(r.Meta) > 0 {
		dst = appendStringMap(append(dst, `,"metadata":`...), r.Meta)
	}
	dst = append(dst, '}')
	if len(r.Violations) > 0 && !first {
		dst = r.appendBadRequest(append(dst, ','))
	}
	if r.RetryAfter > 0 {
		dst = append(append(dst, ','), typeRetryInfo...)
		dst = append(appendDuration(dst, r.RetryAfter), `"}`...)
	}
	return append(dst, ']')
}

func (r *Report) appendBadRequest(dst []byte) []byte {
	return append(r.appendViolations(append(dst, typeBadRequest...)), ']', '}')
}

func (r *Report) appendViolations(dst []byte) []byte {
	for i, v := range r.Violations {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(append(dst, `{"field":`...), v.Field)
		dst = rawjson.AppendString(append(dst, `,"description":`...), v.Problem)
		dst = append(dst, '}')
	}
	return dst
}

func appendStringMap(dst []byte, m map[string]string) []byte {
	dst = append(dst, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, k), ':')
		dst = rawjson.AppendString(dst, m[k])
	}
	return append(dst, '}')
}

// appendDuration writes d in seconds with at most three digits after the point,
// as ProtoJSON wants them: none or three.
func appendDuration(dst []byte, d time.Duration) []byte {
	ms := (d + time.Millisecond - 1).Milliseconds()
	if ms%1000 == 0 {
		return append(strconv.AppendInt(dst, ms/1000, 10), 's')
	}
	return fmt.Appendf(dst, "%d.%03ds", ms/1000, ms%1000)
}

// RetrySeconds returns the value of the Retry-After header, or the empty string.
func (r *Report) RetrySeconds() string {
	if r.RetryAfter <= 0 {
		return ""
	}
	return strconv.FormatInt(int64((r.RetryAfter+time.Second-1)/time.Second), 10)
}
