package dialect

import (
	"encoding/base64"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// LegacyPath holds the path, the query and the body of an HTTP+JSON call of v0.3.
type LegacyPath struct {
	// Task and Config are ids from the path, or empty.
	Task   a2a.TaskID
	Config string
	Query  string
	// Body is the unparsed body, or nil.
	Body []byte
}

// The query parameters of v0.3.
var legacyQuerySchema = a2ajson.NewSchema("tenant", "agentId", "historyLength", "pageSize", "pageToken")

const (
	legacyName = iota
	legacyParent
	legacyCallHistory
)

// legacyCallSchema has the members of the requests that name a task or a config.
var legacyCallSchema = a2ajson.NewSchema("name", "parent", "historyLength", "tenant", "agentId", "metadata", "pageSize", "pageToken")

// LegacyAt returns the v1.0 params of an HTTP+JSON call of v0.3. Its errors are those of Body
// and of Shape.Request.
func (d *Decoder) LegacyAt(o Operation, p *LegacyPath) ([]byte, error) {
	if o.sends() || o == CreatePushConfig {
		if err := d.Body(p.Body); err != nil {
			return nil, err
		}
		if o == CreatePushConfig {
			return readProtoPush(p.Task, p.Body)
		}
		return protoRequest(o, p.Body)
	}
	obj, err := d.optionalBody(p.Body)
	if err == nil && obj == nil {
		obj, err = queryObject(legacyQuerySchema, p.Query)
	}
	if err != nil {
		return nil, err
	}
	return legacyCall(o, p, obj)
}

// legacyCall returns the v1.0 params of a call that names a task or a config. A name in the
// body must match the path.
func legacyCall(o Operation, p *LegacyPath, obj []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(obj)+len(p.Task)+len(p.Config)+32), '{')
	switch {
	case o == GetExtendedAgentCard:
	case o.Push():
		out = rawjson.AppendString(rawjson.AppendName(out, "taskId"), string(p.Task))
		if o != ListPushConfigs {
			out = rawjson.AppendString(rawjson.AppendName(out, "id"), p.Config)
		}
	default:
		out = rawjson.AppendString(rawjson.AppendName(out, "id"), string(p.Task))
	}
	err := each(legacyCallSchema, obj, func(i int, name string, v []byte) error {
		switch {
		case i == legacyName || i == legacyParent:
			return sameTask(p.Task, v)
		case i == legacyCallHistory && zero(v), i == a2ajson.Unknown:
		default:
			out = append(rawjson.AppendName(out, name), v...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// sameTask refuses a resource name that is neither the task nor below it.
func sameTask(id a2a.TaskID, v []byte) error {
	if v == nil {
		return nil
	}
	s, err := a2ajson.ReadString(v)
	if err != nil || s == "" {
		return err
	}
	rest, ok := strings.CutPrefix(s, taskPrefix+string(id))
	if !ok || rest != "" && rest[0] != '/' {
		return a2ajson.Invalid("differs from the task in the path")
	}
	return nil
}

// zero reports whether v is the number zero, which means "absent" in the proto.
func zero(v []byte) bool {
	n, err := a2ajson.ReadInt(v)
	return err == nil && n == 0
}

// protoRequest returns the v1.0 params of a call. It converts only requests with a message;
// LegacyAt has converted the others.
func protoRequest(o Operation, params []byte) ([]byte, error) {
	if !o.sends() || len(params) == 0 {
		return params, nil
	}
	return readSend(params, &protoReader)
}

// protoField returns the name of a v1.0 params field in the proto.
func protoField(o Operation, v1 string) string {
	switch {
	case o == CreatePushConfig && ofConfig(v1):
		return "config.pushNotificationConfig." + legacyScheme(v1)
	case !o.sends():
		return v1
	}
	if rest, ok := strings.CutPrefix(v1, "configuration.taskPushNotificationConfig"); ok {
		return "configuration.pushNotification" + legacyScheme(rest)
	}
	if rest, ok := strings.CutPrefix(v1, "configuration.pushNotificationConfig"); ok {
		return "configuration.pushNotification" + legacyScheme(rest)
	}
	rest, ok := strings.CutPrefix(v1, "message.parts")
	if !ok {
		return v1
	}
	if head, ok := strings.CutSuffix(rest, ".raw"); ok {
		rest = head + ".file.fileWithBytes"
	} else if head, ok := strings.CutSuffix(rest, ".url"); ok {
		rest = head + ".file.fileWithUri"
	}
	return "message.content" + rest
}

// ofConfig reports whether a field is one of a PushNotificationConfig.
func ofConfig(v1 string) bool {
	return v1 == "id" || v1 == "url" || v1 == "token" || strings.HasPrefix(v1, "authentication")
}

// The proto calls the message of a request "request"; "message" is accepted as well.
var protoReader = sendReader{
	schema:        a2ajson.NewSchema("message:request", "configuration"),
	message:       readProtoMessage,
	configuration: readProtoConfiguration,
}

// The message may have either of the v0.3 shapes.
var protoMessageSchema = a2ajson.NewSchema("kind", "role", "content:parts", "messageId")

func readProtoMessage(dst, msg []byte) ([]byte, error) {
	dst = append(dst, '{')
	err := protoMessageSchema.Each(msg, func(i int, name string, v []byte) (err error) {
		switch i {
		case legacyKind:
			return messageKind(v)
		case legacyParts:
			dst, err = readParts(rawjson.AppendName(dst, "parts"), v, readProtoPart)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
		return err
	})
	if err == nil {
		err = identified(protoMessageSchema, msg)
	}
	return append(dst, '}'), err
}

// readProtoPart appends a part of either shape. The kind identifies the shape; without a kind
// the member names do.
func readProtoPart(dst, part []byte) ([]byte, error) {
	if rawjson.KindOf(part) != rawjson.Object || member(part, "kind") != nil {
		return readV03Part(dst, part)
	}
	data, others := innerData(member(part, "data"))
	value := compatValue(data, member(part, "metadata"))
	dst = append(append(dst, '{'), others...)
	for name, v := range rawjson.Fields(part) {
		switch {
		case (name == "file" || name == "data") && rawjson.KindOf(v) == rawjson.Null:
		case name == "file":
			var err error
			if dst, err = readFile(dst, v, &protoFileSchema); err != nil {
				return dst, a2ajson.Under(name, err)
			}
		case name == "data" && value != nil:
			dst = append(rawjson.AppendName(dst, name), value...)
		case name == "data":
			dst = append(rawjson.AppendName(dst, name), data...)
		case name == "metadata" && value != nil:
			dst = appendUnwrapped(dst, v)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, '}'), nil
}

// partReserved are the member names of parts in all dialects.
var partReserved = rawjson.Reserved{
	"text", "raw", "url", "file", "data", "metadata", "filename", "mediaType", "kind", "bytes", "uri", "name", "mimeType",
}

// innerData returns the data of a DataPart, and its other members, without braces: v1.0 keeps
// them in the part. Data that is not in a DataPart is returned unchanged.
func innerData(v []byte) (data, others []byte) {
	n := 0
	others = []byte{'{'}
	for name, value := range rawjson.Fields(v) {
		switch {
		case name == "data":
			data = value
		case !partReserved.Has(name):
			others = append(rawjson.AppendName(others, name), value...)
		}
		n++
	}
	if n == 1 && data != nil || rawjson.KindOf(data) == rawjson.Object {
		return data, others[1:]
	}
	return v, nil
}

var protoFileSchema = fileSchema{
	Schema:  a2ajson.NewSchema("fileWithBytes:bytes", "fileWithUri:uri", "name", "mimeType:mediaType"),
	content: "fileWithBytes and fileWithUri",
	bytes:   appendBase64Once,
}

// appendBase64Once appends bytes encoded once. The SDKs of v0.3 encode them twice: bytes that
// decode to valid base64 are taken as encoded twice.
func appendBase64Once(dst, v []byte) ([]byte, error) {
	s, _ := rawjson.String(v)
	once, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(once) == 0 {
		return append(dst, v...), nil
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(string(once)); err != nil || strings.ContainsAny(string(once), "\r\n") {
		return append(dst, v...), nil
	}
	return rawjson.AppendString(dst, string(once)), nil
}

var protoConfigurationSchema = a2ajson.NewSchema("blocking", "pushNotification:pushNotificationConfig", "historyLength")

// readProtoConfiguration appends a configuration. In the proto, a call without the blocking
// field does not block, and a length of zero means absent. In the shape of JSON-RPC, whose
// messages have kinds, it blocks.
func readProtoConfiguration(dst, params, configuration []byte) ([]byte, error) {
	dst, text, err := appendProtoConfiguration(append(dst, '{'), configuration)
	if !text && inProto(params) {
		dst = append(rawjson.AppendName(dst, "returnImmediately"), "true"...)
	}
	return append(dst, '}'), err
}

// appendProtoConfiguration appends the members of a configuration. The boolean reports whether
// the configuration has the blocking field.
func appendProtoConfiguration(dst, configuration []byte) (_ []byte, text bool, _ error) {
	err := protoConfigurationSchema.Each(configuration, func(i int, name string, v []byte) (err error) {
		switch i {
		case legacyBlocking:
			text = true
			dst, err = appendReturn(dst, v)
		case legacyPush:
			dst = readPush(rawjson.AppendName(dst, "pushNotificationConfig"), v)
		case legacyHistory:
			if !zero(v) {
				dst = append(rawjson.AppendName(dst, name), v...)
			}
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
		return err
	})
	return dst, text, err
}

// inProto reports whether the message of a request has the proto's shape.
func inProto(params []byte) bool {
	return member(member(params, "message"), "content") != nil || member(member(params, "request"), "content") != nil
}

const (
	protoParent = iota
	protoConfigID
	protoConfig
	protoTenant
	protoName
	protoPush
	numProtoPush
)

// protoPushSchema has the members of a CreateTaskPushNotificationConfigRequest and of its
// config, which may be sent alone.
var protoPushSchema = a2ajson.NewSchema("parent", "configId", "config", "tenant", "name", "pushNotificationConfig")

// protoPushMembers are the values of the members of protoPushSchema.
type protoPushMembers [numProtoPush][]byte

func readProtoPushMembers(obj []byte) (m protoPushMembers, err error) {
	err = protoPushSchema.Each(obj, func(i int, _ string, v []byte) error {
		if (i == protoConfig || i == protoPush) && rawjson.KindOf(v) != rawjson.Object {
			return a2ajson.Invalid("must be an object")
		}
		if i != a2ajson.Unknown {
			m[i] = v
		}
		return nil
	})
	return m, err
}

// readProtoPush returns the v1.0 params of setting a push notification config. The body is the
// complete request of the proto, its config, or the params of JSON-RPC.
func readProtoPush(id a2a.TaskID, body []byte) ([]byte, error) {
	request, err := readProtoPushMembers(body)
	if err != nil {
		return nil, err
	}
	if err := sameTask(id, request[protoParent]); err != nil {
		return nil, a2ajson.Under("parent", err)
	}
	push, config := body, request
	if inner := request[protoConfig]; inner != nil {
		if config, err = readProtoPushMembers(inner); err != nil {
			return nil, a2ajson.Under("config", err)
		}
		push = inner
	}
	if inner := config[protoPush]; inner != nil {
		push = inner
	}
	out := rawjson.AppendString([]byte(`{"taskId":`), string(id))
	if v := request[protoTenant]; v != nil {
		out = append(rawjson.AppendName(out, "tenant"), v...)
	}
	if name := idBeside(&request, &config); name != nil && !named(push) {
		out = append(rawjson.AppendName(out, "id"), name...)
		push = without(push, "id")
	}
	return append(appendPush(out, push), '}'), nil
}

// named reports whether a PushNotificationConfig has an id.
func named(c []byte) bool {
	id := member(c, "id")
	return id != nil && rawjson.KindOf(id) != rawjson.Null && !isText(id, "")
}

// idBeside returns the id beside a config, as JSON: the configId of the request, or the end of
// the config's name. It is nil if there is none.
func idBeside(request, config *protoPushMembers) []byte {
	if v := request[protoConfigID]; rawjson.KindOf(v) == rawjson.Text && !isText(v, "") {
		return v
	}
	name, _ := rawjson.String(config[protoName])
	if _, id, ok := strings.Cut(name, configsInfix); ok && id != "" {
		return rawjson.AppendString(nil, id)
	}
	return nil
}
