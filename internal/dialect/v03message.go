package dialect

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// LegacyMessage returns the v1.0 params of a gRPC call of v0.3. The request message is
// ProtoJSON that Body has checked. Messages name tasks and push notification configs by
// resource names. Errors are those of Shape.Request.
//
// The proto has no member for the agent; a caller that knows the agent adds "tenant".
func (d *Decoder) LegacyMessage(o Operation, message []byte) ([]byte, error) {
	if o.sends() {
		return readSend(message, &messageReader)
	}
	p, err := resourceOf(o, message)
	if err != nil {
		return nil, err
	}
	if o == CreatePushConfig {
		return readProtoPush(p.Task, message)
	}
	return legacyCall(o, &p, message)
}

var messageReader = sendReader{
	schema:        protoReader.schema,
	message:       readProtoMessage,
	configuration: readMessageConfiguration,
}

// readMessageConfiguration is readProtoConfiguration for requests of known shape.
func readMessageConfiguration(dst, _, configuration []byte) ([]byte, error) {
	dst, text, err := appendProtoConfiguration(append(dst, '{'), configuration)
	if !text {
		dst = append(rawjson.AppendName(dst, "returnImmediately"), "true"...)
	}
	return append(dst, '}'), err
}

// The segments of resource names in the proto.
const (
	taskPrefix   = "tasks/"
	configsInfix = "/pushNotificationConfigs/"
)

// resourceOf returns the ids in the resource name of a request.
func resourceOf(o Operation, message []byte) (LegacyPath, error) {
	member, form := "name", taskPrefix+"{id}"
	switch o {
	case GetExtendedAgentCard:
		return LegacyPath{}, nil
	case CreatePushConfig, ListPushConfigs:
		member = "parent"
	case GetPushConfig, DeletePushConfig:
		form += configsInfix + "{id}"
	}
	p, ok := parseResource(o, textOf(message, member))
	if !ok {
		return p, a2ajson.Under(member, a2ajson.Invalid("must be like %s", form))
	}
	return p, nil
}

// textOf returns a string member of obj, or the empty string.
func textOf(obj []byte, name string) string {
	s, _ := rawjson.String(member(obj, name))
	return s
}

// parseResource reads the resource name of a task or, for push operations that need one, of a
// config. Ids may contain a slash.
func parseResource(o Operation, name string) (LegacyPath, bool) {
	id, ok := strings.CutPrefix(name, taskPrefix)
	var config string
	if ok && (o == GetPushConfig || o == DeletePushConfig) {
		id, config, ok = strings.Cut(id, configsInfix)
		ok = ok && config != ""
	}
	return LegacyPath{Task: a2a.TaskID(id), Config: config}, ok && id != ""
}
