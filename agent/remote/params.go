package remote

import (
	"strconv"

	"github.com/parley-a2a/parley/internal/errand"
	"github.com/parley-a2a/parley/internal/rawjson"
)

// params returns the SendMessageRequest for the message of the run: what the caller
// sent, with the ids that the peer knows it by, and with what the protocol does not have.
func (r *run) params(push []byte) []byte {
	b := append([]byte(`{"message":`), r.message()...)
	if id := r.contextID(); id != "" && r.agent.ParamsContext {
		b = rawjson.AppendString(append(b, `,"contextId":`...), id)
	}
	b = r.configuration(append(b, `,"configuration":{`...), push)
	b = append(b, '}')
	for name, value := range rawjson.Fields(member(r.call.Others, "params")) {
		b = append(append(rawjson.AppendString(append(b, ','), name), ':'), value...)
	}
	if meta := r.metadata(); meta != nil {
		b = append(append(b, `,"metadata":`...), meta...)
	}
	return append(b, '}')
}

// message returns the caller's message with the ids of the peer. Ids of other tasks
// are the hub's, and mean nothing there.
func (r *run) message() []byte {
	b := rawjson.AppendString([]byte(`{"messageId":`), r.messageID)
	if id := r.contextID(); id != "" {
		b = rawjson.AppendString(append(b, `,"contextId":`...), id)
	}
	if r.h.Task != "" {
		b = rawjson.AppendString(append(b, `,"taskId":`...), string(r.h.Task))
	}
	for name, value := range rawjson.Fields(r.call.Message) {
		switch name {
		case "messageId", "contextId", "taskId", "referenceTaskIds":
			continue
		case "metadata":
			if value = withoutAnswer(value); value == nil {
				continue
			}
		}
		b = append(append(rawjson.AppendString(append(b, ','), name), ':'), value...)
	}
	return append(b, '}')
}

// answerKey is where the hub notes which question a message answers that is its own. The
// number means nothing elsewhere.
const answerKey = "parley.answer"

// withoutAnswer returns the metadata of a message without that note; nil if nothing is
// left.
func withoutAnswer(meta []byte) []byte {
	if member(meta, answerKey) == nil {
		return meta
	}
	b := []byte{'{'}
	for name, value := range rawjson.Fields(meta) {
		if name == answerKey {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(rawjson.AppendString(b, name), ':'), value...)
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// contextID returns the context in which the peer is asked: that of its task, or else
// one that stands for the caller's.
func (r *run) contextID() string {
	if r.h.Task != "" {
		return r.h.Context
	}
	return r.freshContext()
}

// freshContext returns the context of a task that begins; empty if the peer names it and
// has not done so yet.
func (r *run) freshContext() string {
	if r.agent.NoContext {
		return r.earlier
	}
	return derived(idContext, r.owner, string(r.call.Agent), r.ec.ContextID)
}

// configuration appends the members of a SendMessageConfiguration.
func (r *run) configuration(b, push []byte) []byte {
	a, first := r.agent, true
	add := func(name string, value []byte) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(rawjson.AppendString(b, name), ':'), value...)
	}
	if a.HistoryLength != nil {
		add("historyLength", strconv.AppendInt(nil, int64(*a.HistoryLength), 10))
	}
	if a.ReturnImmediately || push != nil {
		add("returnImmediately", []byte("true"))
	}
	if push != nil {
		add("taskPushNotificationConfig", push)
	}
	for name, value := range rawjson.Fields(member(r.call.Others, "configuration")) {
		add(name, value)
	}
	return b
}

// metadata returns the metadata of the request, with the skill that was asked for and the
// errand; nil if there is none.
func (r *run) metadata() []byte {
	meta := r.skilled()
	if r.errand == nil {
		return meta
	}
	return errand.AppendMetadata(nil, meta, r.errand)
}

// skilled returns the metadata of the caller, with the skill that was asked for.
func (r *run) skilled() []byte {
	meta := r.call.Metadata
	if r.call.Skill == "" || member(meta, skillKey) != nil {
		return meta
	}
	b := rawjson.AppendString([]byte(`{`), skillKey)
	b = rawjson.AppendString(append(b, ':'), r.call.Skill)
	for name, value := range rawjson.Fields(meta) {
		b = append(append(rawjson.AppendString(append(b, ','), name), ':'), value...)
	}
	return append(b, '}')
}

// skillKey is where a v1.0 message says which skill it is for.
const skillKey = "skillHint"
