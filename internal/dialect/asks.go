package dialect

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// The functions below write calls to peers, the reverse of the request readers: v1.0 params go
// in, and params of the peer's dialect come out.

// oldMethods are the v0.3 names of the operations. v0.3 has no list operation.
var oldMethods = [numOperations]string{
	SendMessage:          "message/send",
	SendStreamingMessage: "message/stream",
	GetTask:              "tasks/get",
	CancelTask:           "tasks/cancel",
	SubscribeToTask:      "tasks/resubscribe",
	CreatePushConfig:     "tasks/pushNotificationConfig/set",
	GetPushConfig:        "tasks/pushNotificationConfig/get",
	ListPushConfigs:      "tasks/pushNotificationConfig/list",
	DeletePushConfig:     "tasks/pushNotificationConfig/delete",
	GetExtendedAgentCard: "agent/getAuthenticatedExtendedCard",
}

// Method returns the name of an operation in the JSON-RPC of the dialect, or the empty
// string if the dialect does not have it.
func (s Shape) Method(o Operation) string {
	d := Of(s)
	switch {
	case d.Shape == V03, d.Shape == V03Proto:
		return oldMethods[o]
	case d.Shape == V1, d.Calls.Unversioned:
		return o.String()
	}
	for name, has := range d.Calls.Methods {
		if has == o {
			return name
		}
	}
	return ""
}

// AppendParams appends the params of a call to a peer of the dialect, converted from v1.0
// params, which must be valid. A send states in every dialect whether it blocks, because the
// dialects have different defaults. The skill named in the metadata is written where peers of
// the dialect look for it.
func (s Shape) AppendParams(dst []byte, o Operation, v1 []byte) []byte {
	if len(v1) == 0 {
		v1 = []byte("{}")
	}
	switch {
	case o.sends() && s == Job:
		return appendJob(dst, v1)
	case o.sends():
		a := asker{shape: s, to: &Of(s).Calling, operation: o, skill: askedSkill(v1)}
		return a.send(dst, v1)
	case s == V03 && o.Push():
		return oldPushParams(dst, o, v1)
	case s == V03Proto && o == CreatePushConfig:
		return protoPushParams(dst, v1)
	}
	return rawjson.AppendCompact(dst, v1)
}

// askedSkill returns the skill requested in params, as JSON, or nil.
func askedSkill(params []byte) []byte {
	for _, metadata := range [...][]byte{member(member(params, "message"), "metadata"), member(params, "metadata")} {
		for _, name := range skillKeys {
			if v := member(metadata, name); rawjson.KindOf(v) == rawjson.Text && !isText(v, "") {
				return v
			}
		}
	}
	return nil
}

// asker writes the params of a send.
type asker struct {
	shape     Shape
	to        *Calling
	operation Operation
	skill     []byte
	// parts is set for gRPC of v0.3, whose messages hold their parts in "parts" where HTTP+JSON
	// uses "content".
	parts bool
}

func (a *asker) send(dst, v1 []byte) []byte {
	var message, configuration, metadata []byte
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(v1) {
		switch name {
		case "message":
			message = v
		case "configuration":
			configuration = v
		case "metadata":
			metadata = v
		case "contextId": // only v0.3 writes it beside the message
			if a.shape == V03 {
				dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
			}
		default:
			if a.shape != V03Proto || name == "tenant" {
				dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
			}
		}
	}
	if rawjson.KindOf(message) == rawjson.Object {
		dst = a.message(rawjson.AppendName(dst, "message"), message)
	}
	if c := a.configuration(nil, configuration); len(c) > len("{}") {
		dst = append(rawjson.AppendName(dst, "configuration"), c...)
	}
	if m := a.metadata(nil, metadata, a.outerSkills()); len(m) > len("{}") {
		dst = append(rawjson.AppendName(dst, "metadata"), m...)
	}
	return append(dst, '}')
}

// outerSkills returns the names of the skill beside the message. Some agents of v0.3 read
// skillHint there, those behind some gateways skill.
func (a *asker) outerSkills() []string {
	if a.to.SkillKey != "" {
		return nil
	}
	return []string{"skill", "skillHint"}
}

// metadata appends a metadata object and adds the skill under each of the names that is
// missing.
func (a *asker) metadata(dst, metadata []byte, skills []string) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(metadata) {
		dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
	}
	for _, name := range skills {
		if a.skill != nil && member(metadata, name) == nil {
			dst = append(rawjson.AppendName(dst, name), a.skill...)
		}
	}
	return append(dst, '}')
}

// message appends a message with the skill in its metadata.
func (a *asker) message(dst, msg []byte) []byte {
	if a.skill != nil {
		msg = a.withSkill(msg)
	}
	switch {
	case a.shape == V03Proto:
		return a.protoMessage(dst, msg)
	case a.to.Message != nil:
		return a.to.Message(dst, msg)
	}
	return rawjson.AppendCompact(dst, msg)
}

func (a *asker) protoMessage(dst, msg []byte) []byte {
	if !a.parts {
		return protoMessage(dst, msg)
	}
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(protoMessage(nil, msg)) {
		if name == "content" {
			name = "parts"
		}
		dst = append(rawjson.AppendName(dst, name), v...)
	}
	return append(dst, '}')
}

func (a *asker) withSkill(msg []byte) []byte {
	out := append(make([]byte, 0, len(msg)+64), '{')
	for name, v := range rawjson.Fields(msg) {
		if name != "metadata" {
			out = append(rawjson.AppendName(out, name), v...)
		}
	}
	out = a.metadata(rawjson.AppendName(out, "metadata"), member(msg, "metadata"), []string{cmp.Or(a.to.SkillKey, "skill")})
	return append(out, '}')
}

// configuration appends a configuration, without a webhook if the dialect has none.
func (a *asker) configuration(dst, configuration []byte) []byte {
	if !a.to.Blocking {
		return rawjson.AppendCompact(dst, append([]byte(nil), orEmpty(configuration)...))
	}
	blocking := true
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(configuration) {
		switch name {
		case "returnImmediately":
			blocking = string(v) != "true"
		case "taskPushNotificationConfig", "pushNotificationConfig":
			if a.shape.Method(CreatePushConfig) != "" {
				dst = oldPushConfig(rawjson.AppendName(dst, a.pushName()), v)
			}
		default:
			if a.shape != V03Proto || name == "acceptedOutputModes" || name == "historyLength" {
				dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
			}
		}
	}
	if a.operation == SendMessage {
		dst = strconv.AppendBool(rawjson.AppendName(dst, "blocking"), blocking)
	}
	return append(dst, '}')
}

func (a *asker) pushName() string {
	if a.shape == V03Proto {
		return "pushNotification"
	}
	return "pushNotificationConfig"
}

func orEmpty(obj []byte) []byte {
	if rawjson.KindOf(obj) != rawjson.Object {
		return []byte("{}")
	}
	return obj
}

// oldPushConfig appends a PushNotificationConfig of v0.3, including its secrets, which the peer
// needs to send notifications.
func oldPushConfig(dst, c []byte) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(c) {
		switch name {
		case "taskId", "tenant":
		case "authentication":
			dst = oldAuthentication(rawjson.AppendName(dst, name), v)
		default:
			dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
		}
	}
	return append(dst, '}')
}

// oldAuthentication appends an authentication with a list of schemes.
func oldAuthentication(dst, v []byte) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(v) {
		if name == "scheme" {
			dst = append(append(append(rawjson.AppendName(dst, "schemes"), '['), v...), ']')
			continue
		}
		dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
	}
	return append(dst, '}')
}

// oldPushParams appends the params of a call about push notification configs.
func oldPushParams(dst []byte, o Operation, v1 []byte) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(v1) {
		switch {
		case name == "tenant", name == "taskId" && o == CreatePushConfig:
			dst = append(rawjson.AppendName(dst, name), v...)
		case name == "taskId":
			dst = append(rawjson.AppendName(dst, "id"), v...)
		case name == "id" && o != CreatePushConfig:
			dst = append(rawjson.AppendName(dst, "pushNotificationConfigId"), v...)
		}
	}
	if o == CreatePushConfig {
		dst = oldPushConfig(rawjson.AppendName(dst, "pushNotificationConfig"), v1)
	}
	return append(dst, '}')
}

// protoPushParams appends the complete request message of the proto. Some servers require it;
// others read only its config.
func protoPushParams(dst, v1 []byte) []byte {
	task, _ := rawjson.String(member(v1, "taskId"))
	id, _ := rawjson.String(member(v1, "id"))
	if id == "" {
		id = task // the proto requires one; in v0.3 it defaults to the task's id
	}
	name := "tasks/" + task + "/pushNotificationConfigs/" + id
	dst = rawjson.AppendString(append(dst, `{"parent":`...), "tasks/"+task)
	dst = rawjson.AppendString(append(dst, `,"configId":`...), id)
	dst = rawjson.AppendString(append(dst, `,"config":{"name":`...), name)
	dst = oldPushConfig(append(dst, `,"pushNotificationConfig":`...), v1)
	return append(dst, "}}"...)
}

// appendJob appends an AgentTaskRequest. The ids are those of the params, or else of the
// message. The receiver refuses a job without a task id.
func appendJob(dst, v1 []byte) []byte {
	msg := member(v1, "message")
	dst = append(dst, '{')
	for _, name := range [...]string{"taskId", "contextId"} {
		v := member(v1, name)
		if v == nil {
			v = member(msg, name)
		}
		if v != nil {
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	skill := askedSkill(v1)
	if skill == nil {
		skill = []byte(`"` + GeneralSkill + `"`)
	}
	dst = append(rawjson.AppendName(dst, "skill"), skill...)
	if metadata := jobMetadataOf(member(v1, "metadata")); len(metadata) > len("{}") {
		dst = appendTextMetadata(rawjson.AppendName(dst, "metadata"), metadata)
	}
	dst = append(rawjson.AppendName(dst, "message"), '{')
	for name, v := range rawjson.Fields(msg) {
		switch name {
		case "taskId", "contextId":
		case "role":
			dst = appendPlainRole(rawjson.AppendName(dst, name), v)
		case "parts":
			dst = rawjson.RewriteList(rawjson.AppendName(dst, name), v, appendJobPart)
		case "metadata":
			dst = appendTextMetadata(rawjson.AppendName(dst, name), v)
		default:
			dst = rawjson.AppendCompact(rawjson.AppendName(dst, name), v)
		}
	}
	return append(dst, "}}"...)
}

// GeneralSkill is the skill of a job whose caller names none. A job requires one.
const GeneralSkill = "general"

// jobMetadataOf returns metadata without the skill, which a job carries in a field of its own.
func jobMetadataOf(metadata []byte) []byte {
	out := []byte{'{'}
	for name, v := range rawjson.Fields(metadata) {
		if !slices.Contains(skillKeys[:], name) {
			out = rawjson.AppendCompact(rawjson.AppendName(out, name), v)
		}
	}
	return append(out, '}')
}

// CheckAsk returns an error wrapping a2a.ErrInvalidParams unless params are an object of
// valid JSON.
func CheckAsk(params []byte) error {
	if len(params) == 0 {
		return nil
	}
	if err := a2ajson.Check(params, 0); err != nil {
		return err
	}
	if rawjson.KindOf(params) != rawjson.Object {
		return a2ajson.Under("params", a2ajson.Invalid("must be an object"))
	}
	return nil
}

// AppendLegacyMessage appends the request message of a gRPC call of v0.3 as ProtoJSON,
// converted from v1.0 params. Tasks and push notification configs are named by resource names.
func AppendLegacyMessage(dst []byte, o Operation, v1 []byte) []byte {
	task, config := textOf(v1, "id"), ""
	switch {
	case o.sends():
		a := asker{shape: V03Proto, to: &Of(V03Proto).Calling, operation: o, skill: askedSkill(v1), parts: true}
		return a.send(dst, v1)
	case o == CreatePushConfig:
		return V03Proto.AppendParams(dst, o, v1)
	case o == ListPushConfigs:
		dst = rawjson.AppendString(append(dst, `{"parent":`...), taskPrefix+textOf(v1, "taskId"))
		return append(dst, '}')
	case o.Push():
		task, config = textOf(v1, "taskId"), configsInfix+textOf(v1, "id")
	}
	dst = rawjson.AppendString(append(dst, `{"name":`...), taskPrefix+task+config)
	if n := member(v1, "historyLength"); n != nil {
		dst = append(append(dst, `,"historyLength":`...), n...)
	}
	return append(dst, '}')
}
