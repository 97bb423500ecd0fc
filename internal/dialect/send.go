package dialect

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

const (
	sendTenant = iota
	sendAgentID
	sendMessage
	sendConfiguration
	sendMetadata
	sendContextID
	sendTaskID
)

var sendSchema = a2ajson.NewSchema(
	"tenant", "agentId", "message", "configuration", "metadata", "contextId", "taskId")

// Send reads the params of SendMessage and SendStreamingMessage (specification §3.2.1). It also
// reads contextId and taskId from the params, where some clients put them; the ids in the
// message take precedence.
func (d *Decoder) Send(params []byte) (*op.Send, error) {
	r := &op.Send{}
	var outer op.Message
	var push string
	var ids trace.IDs
	seen := false
	var others sendOthers
	err := each(sendSchema, params, func(i int, name string, v []byte) (err error) {
		switch i {
		case sendTenant, sendAgentID:
			err = readTenant(&r.Target, v)
		case sendMessage:
			seen = true
			ids, err = d.message(&r.Message, v)
		case sendConfiguration:
			push, err = readConfiguration(r, v, &others.configuration)
		case sendMetadata:
			r.Metadata, err = a2ajson.ReadObject(v)
		case sendContextID:
			outer.ContextID, err = a2ajson.ReadID(v)
		case sendTaskID:
			var id string
			id, err = a2ajson.ReadID(v)
			outer.TaskID = a2a.TaskID(id)
		default:
			if !paramsReserved.Has(name) {
				others.params.Add(name, v)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !seen {
		return nil, required("message")
	}
	r.Others = others.object()
	inherit(&r.Message, &outer)
	if p := r.Push; p != nil && p.TaskID != "" && p.TaskID != r.Message.TaskID {
		return nil, a2ajson.Under("configuration", a2ajson.Under(push, a2ajson.Under("taskId",
			a2ajson.Invalid("must be empty or the message's taskId; the hub binds the config to the message's task"))))
	}
	if r.Message.Skill == "" {
		r.Message.Skill = skillOf(r.Metadata)
	}
	r.IDs = trace.MetadataIDs(r.Metadata).Or(ids)
	return r, nil
}

// SendAt reads the body of message:send and message:stream. Its errors are those
// of Body and of Send.
func (d *Decoder) SendAt(body []byte) (*op.Send, error) {
	if err := d.Body(body); err != nil {
		return nil, err
	}
	return d.Send(body)
}

// inherit copies the ids beside the message into m where m has none.
func inherit(m, outer *op.Message) {
	if m.TaskID == "" {
		m.TaskID = outer.TaskID
	}
	if m.ContextID == "" {
		m.ContextID = outer.ContextID
	}
}

// message reads a message. It returns the trace ids in its metadata.
func (d *Decoder) message(m *op.Message, v []byte) (trace.IDs, error) {
	body, facts, err := a2ajson.Message(make([]byte, 0, len(v)+16), v, a2ajson.Options{
		Role:     a2a.MessageRoleUser,
		Fill:     d.Fill,
		OmitIDs:  true,
		Checked:  true,
		MaxParts: d.MaxParts,
	})
	if err != nil {
		return trace.IDs{}, err
	}
	m.ID = facts.ID
	m.ContextID = facts.ContextID
	m.TaskID = facts.TaskID
	m.Skill = skillOf(facts.Metadata)
	m.MediaTypes = facts.MediaTypes
	m.Body = body
	return trace.MetadataIDs(facts.Metadata), nil
}

const (
	configModes = iota
	configHistory
	configReturn
	configPush
)

// Some clients omit "task" in the name of the push config.
var configSchema = a2ajson.NewSchema("acceptedOutputModes", "historyLength", "returnImmediately",
	"taskPushNotificationConfig:pushNotificationConfig")

// readConfiguration reads a SendMessageConfiguration (specification §3.2.2). It returns the
// caller's spelling of the push config's name.
func readConfiguration(r *op.Send, v []byte, others *a2ajson.Others) (push string, err error) {
	err = configSchema.Each(v, func(i int, name string, v []byte) (err error) {
		switch i {
		case configModes:
			r.AcceptedOutputModes, err = a2ajson.ReadStrings(v)
		case configHistory:
			err = readHistory(&r.HistoryLength, v)
		case configReturn:
			r.ReturnImmediately, err = a2ajson.ReadBool(v)
		case configPush:
			push = name
			r.Push, err = readPushConfig("", v)
		default:
			if !configReserved.Has(name) {
				others.Add(name, v)
			}
		}
		return err
	})
	return push, err
}

// The names that are not passed on with a message: agents elsewhere would interpret them, in
// one dialect or another, as statements of the hub.
var (
	paramsReserved = rawjson.Reserved{
		"tenant", "agentId", "message", "request", "configuration", "metadata", "contextId", "taskId", "id",
	}
	configReserved = rawjson.Reserved{
		"acceptedOutputModes", "historyLength", "returnImmediately", "blocking",
		"taskPushNotificationConfig", "pushNotificationConfig", "pushNotification",
	}
)

// sendOthers are the members of a request that the protocol does not define.
type sendOthers struct{ params, configuration a2ajson.Others }

// object returns the members as a JSON object for op.Send.
func (o *sendOthers) object() []byte {
	var all a2ajson.Others
	if b := o.params.Object(); b != nil {
		all.Add("params", b)
	}
	if b := o.configuration.Object(); b != nil {
		all.Add("configuration", b)
	}
	return all.Object()
}

// skillKeys are the names under which clients request a skill; the first one found counts.
var skillKeys = [...]string{"skill", "skillId", "skillHint"}

// skillOf returns the skill requested in a metadata object, or the empty string.
func skillOf(metadata []byte) string {
	var found [len(skillKeys)]string
	for name, v := range rawjson.Fields(metadata) {
		for i, key := range skillKeys {
			if name == key {
				found[i], _ = rawjson.String(v)
			}
		}
	}
	for _, skill := range found {
		if skill != "" {
			return skill
		}
	}
	return ""
}
