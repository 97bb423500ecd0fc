package dialect

import (
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// v03Request returns the v1.0 params of a call of v0.3.
func v03Request(o Operation, params []byte) ([]byte, error) {
	switch {
	case len(params) == 0:
		return nil, nil
	case o.sends():
		return readSend(params, &v03Reader)
	case o == CreatePushConfig:
		return readV03PushConfig(params)
	case o.Push():
		return readV03PushRef(params)
	}
	return params, nil
}

// v03Field returns the name of a v1.0 params field in v0.3.
func v03Field(o Operation, v1 string) string {
	switch {
	case o.sends():
		return v03SendField(v1)
	case o == CreatePushConfig && v1 != "taskId" && v1 != "tenant":
		return "pushNotificationConfig." + legacyScheme(v1)
	case !o.Push() || o == CreatePushConfig:
	case v1 == "taskId":
		return "id"
	case v1 == "id":
		return "pushNotificationConfigId"
	}
	return v1
}

func v03SendField(v1 string) string {
	if rest, ok := strings.CutPrefix(v1, "configuration.taskPushNotificationConfig"); ok {
		return "configuration.pushNotificationConfig" + legacyScheme(rest)
	}
	if strings.HasPrefix(v1, "message.parts[") {
		if head, ok := strings.CutSuffix(v1, ".raw"); ok {
			return head + ".file.bytes"
		}
		if head, ok := strings.CutSuffix(v1, ".url"); ok {
			return head + ".file.uri"
		}
	}
	return legacyScheme(v1)
}

// legacyScheme returns the path of a push notification config's field with the list of schemes
// that older versions have.
func legacyScheme(field string) string {
	if strings.HasSuffix(field, "authentication.scheme") {
		return field + "s"
	}
	return field
}

// sendReader reads the params of a message in one of the shapes of v0.3.
type sendReader struct {
	schema        *a2ajson.Schema
	message       func(dst, msg []byte) ([]byte, error)
	configuration func(dst, params, configuration []byte) ([]byte, error)
}

const (
	legacyMessage = iota
	legacyConfiguration
)

var v03Reader = sendReader{
	schema:        a2ajson.NewSchema("message", "configuration"),
	message:       readV03Message,
	configuration: readV03Configuration,
}

func readSend(params []byte, r *sendReader) ([]byte, error) {
	out := append(make([]byte, 0, len(params)+64), '{')
	err := r.schema.Each(params, func(i int, name string, v []byte) (err error) {
		switch i {
		case legacyMessage:
			out, err = r.message(rawjson.AppendName(out, "message"), v)
		case legacyConfiguration:
			out, err = r.configuration(rawjson.AppendName(out, "configuration"), params, v)
		default:
			out = append(rawjson.AppendName(out, name), v...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

const (
	legacyKind = iota
	legacyRole
	legacyParts
	legacyMessageID
)

var v03MessageSchema = a2ajson.NewSchema("kind", "role", "parts", "messageId")

func readV03Message(dst, msg []byte) ([]byte, error) {
	dst = append(dst, '{')
	err := v03MessageSchema.Each(msg, func(i int, name string, v []byte) (err error) {
		switch i {
		case legacyKind:
			return messageKind(v)
		case legacyRole:
			if !isText(v, "user") {
				return a2ajson.Invalid(`must be "user" in this version`)
			}
			dst = append(rawjson.AppendName(dst, name), v...)
		case legacyParts:
			dst, err = readParts(rawjson.AppendName(dst, name), v, readV03Part)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
		return err
	})
	if err == nil {
		err = identified(v03MessageSchema, msg)
	}
	return append(dst, '}'), err
}

// identified refuses a message that has no role, or has a kind and no id: v0.3 requires both
// (§6.4). A message without a kind whose parts have kinds needs no id, because messages of
// some clients have none.
func identified(s *a2ajson.Schema, msg []byte) error {
	var has [legacyMessageID + 1]bool
	for name, v := range rawjson.Fields(msg) {
		if i := s.Index(name); i != a2ajson.Unknown && rawjson.KindOf(v) != rawjson.Null {
			has[i] = true
		}
	}
	switch {
	case !has[legacyRole]:
		return required("role")
	case has[legacyKind] && !has[legacyMessageID]:
		return required("messageId")
	}
	return nil
}

func messageKind(v []byte) error {
	if isText(v, "message") {
		return nil
	}
	return a2ajson.Invalid(`must be "message"`)
}

// readParts appends a list of parts. A value that is not a list is appended unchanged; the
// decoder refuses it later.
func readParts(dst, parts []byte, read func(dst, part []byte) ([]byte, error)) ([]byte, error) {
	if rawjson.KindOf(parts) != rawjson.Array {
		return append(dst, parts...), nil
	}
	dst = append(dst, '[')
	i := 0
	for part := range rawjson.Elements(parts) {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = read(dst, part); err != nil {
			return dst, a2ajson.Under("["+strconv.Itoa(i)+"]", err)
		}
		i++
	}
	return append(dst, ']'), nil
}

const (
	legacyBlocking = iota
	legacyPush
	legacyHistory
)

var v03ConfigurationSchema = a2ajson.NewSchema("blocking", "pushNotificationConfig")

// readV03Configuration appends a configuration. A call without the blocking field blocks, as in
// the SDKs.
func readV03Configuration(dst, _, configuration []byte) ([]byte, error) {
	dst = append(dst, '{')
	err := v03ConfigurationSchema.Each(configuration, func(i int, name string, v []byte) (err error) {
		switch i {
		case legacyBlocking:
			dst, err = appendReturn(dst, v)
		case legacyPush:
			dst = readPush(rawjson.AppendName(dst, name), v)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
		return err
	})
	return append(dst, '}'), err
}

// appendReturn appends returnImmediately, the negation of blocking.
func appendReturn(dst, blocking []byte) ([]byte, error) {
	b, err := a2ajson.ReadBool(blocking)
	return strconv.AppendBool(rawjson.AppendName(dst, "returnImmediately"), !b), err
}

// readPush appends a PushNotificationConfig and omits an authentication with an empty list of
// schemes.
func readPush(dst, c []byte) []byte {
	if rawjson.KindOf(c) != rawjson.Object {
		return append(dst, c...)
	}
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(c) {
		if name != "authentication" || !emptyAuthentication(v) {
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, '}')
}

func emptyAuthentication(v []byte) bool {
	for name, v := range rawjson.Fields(v) {
		empty := rawjson.KindOf(v) == rawjson.Null
		switch name {
		case "schemes":
			for range rawjson.Elements(v) {
				return false
			}
			empty = empty || rawjson.KindOf(v) == rawjson.Array
		case "credentials":
			empty = empty || isText(v, "")
		}
		if !empty {
			return false
		}
	}
	return rawjson.KindOf(v) == rawjson.Object
}

const (
	v03TaskID = iota
	v03Push
	v03Tenant
	v03AgentID
)

var v03PushSchema = a2ajson.NewSchema("taskId", "pushNotificationConfig", "tenant", "agentId")

// readV03PushConfig returns the v1.0 params of setting a push notification config.
func readV03PushConfig(params []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(params)), '{')
	seen := false
	err := v03PushSchema.Each(params, func(i int, name string, v []byte) error {
		switch i {
		case v03TaskID, v03Tenant, v03AgentID:
			out = append(rawjson.AppendName(out, name), v...)
		case v03Push:
			seen = true
			if rawjson.KindOf(v) != rawjson.Object {
				return a2ajson.Invalid("must be an object")
			}
			out = appendPush(out, v)
		}
		return nil
	})
	if err == nil && !seen {
		err = required("pushNotificationConfig")
	}
	if err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// appendPush appends the members of a PushNotificationConfig, except those that v1.0 has beside
// it.
func appendPush(dst, c []byte) []byte {
	for name, v := range rawjson.Fields(c) {
		switch name {
		case "id", "url", "token":
			dst = append(rawjson.AppendName(dst, name), v...)
		case "authentication":
			if !emptyAuthentication(v) {
				dst = append(rawjson.AppendName(dst, name), v...)
			}
		}
	}
	return dst
}

const (
	refTask = iota
	refConfig
	refTenant
	refAgentID
)

var v03RefSchema = a2ajson.NewSchema("id", "pushNotificationConfigId", "tenant", "agentId")

// readV03PushRef returns the v1.0 params of the calls that name a task and optionally a push
// notification config.
func readV03PushRef(params []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(params)+8), '{')
	err := v03RefSchema.Each(params, func(i int, name string, v []byte) error {
		switch i {
		case refTask:
			out = append(rawjson.AppendName(out, "taskId"), v...)
		case refConfig:
			out = append(rawjson.AppendName(out, "id"), v...)
		case refTenant, refAgentID:
			out = append(rawjson.AppendName(out, name), v...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// AnyPush reports whether the v1.0 params of getting a push notification config omit its id,
// which v0.3 allows.
func AnyPush(params []byte) bool {
	id := member(params, "id")
	return id == nil || rawjson.KindOf(id) == rawjson.Null || isText(id, "")
}
