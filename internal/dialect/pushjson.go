package dialect

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// PushConfig is the public view of a push notification config. It has no fields for tokens and
// credentials: the caller that registered them has them, and no other caller may read them.
type PushConfig struct {
	TaskID a2a.TaskID
	ID     string
	URL    string
	// Scheme is the authentication scheme; it is empty if the config has none.
	Scheme string
}

// PushPage is a page of push notification configs.
type PushPage struct {
	Configs []PushConfig
	// NextPageToken is empty on the last page.
	NextPageToken string
}

// AppendPushConfig appends a TaskPushNotificationConfig (specification §4.3.1): the
// result of creating and of getting one.
func AppendPushConfig(dst []byte, c *PushConfig) []byte {
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
func AppendPushPage(dst []byte, p *PushPage) []byte {
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
