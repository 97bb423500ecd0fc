package dialect

import (
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
)

// AppendPushConfig appends a TaskPushNotificationConfig (specification §4.3.1): the
// result of creating and of getting one.
func AppendPushConfig(dst []byte, c *op.ShownPush) []byte {
	dst = rawjson.AppendString(append(dst, `{"taskId":`...), string(c.TaskID))
	dst = rawjson.AppendString(append(dst, `,"id":`...), c.ID)
	dst = rawjson.AppendString(append(dst, `,"url":`...), c.URL)
	if c.Scheme != "" {
		dst = rawjson.AppendString(append(dst, `,"authentication":{"scheme":`...), c.Scheme)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// AppendPushPage appends a ListTaskPushNotificationConfigsResponse (specification §3.1.9). The
// list is present even if it is empty.
func AppendPushPage(dst []byte, p *op.PushPage) []byte {
	dst = append(dst, `{"configs":[`...)
	for i := range p.Configs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendPushConfig(dst, &p.Configs[i])
	}
	dst = append(dst, ']')
	if p.NextPageToken != "" {
		dst = rawjson.AppendString(append(dst, `,"nextPageToken":`...), p.NextPageToken)
	}
	return append(dst, '}')
}

// AppendEmpty appends the empty result of an operation (specification §3.1.10).
func AppendEmpty(dst []byte) []byte { return append(dst, "{}"...) }
