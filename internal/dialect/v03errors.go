package dialect

import (
	"strconv"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// AppendV03 appends the JSON-RPC response with this error for callers of v0.3. Its data is one
// object, because some decoders of v0.3 refuse the list of v1.0.
func (r *Report) AppendV03(dst, id []byte) []byte {
	dst = append(appendEnvelope(dst, id), `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(r.Code), 10)
	dst = rawjson.AppendString(append(dst, `,"message":`...), r.Message)
	dst = rawjson.AppendString(append(dst, `,"data":{"reason":`...), r.Reason)
	if len(r.Meta) > 0 {
		dst = appendStringMap(append(dst, `,"metadata":`...), r.Meta)
	}
	if len(r.Violations) > 0 {
		dst = append(dst, `,"fieldViolations":[`...)
		dst = append(r.appendViolations(dst), ']')
	}
	if r.RetryAfter > 0 {
		dst = append(appendDuration(append(dst, `,"retryDelay":"`...), r.RetryAfter), '"')
	}
	return append(dst, "}}}"...)
}
