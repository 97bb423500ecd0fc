package remote

import (
	"context"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// params returns the SendMessageRequest for the message of the run: the caller's request, with
// the peer's ids, and with its members that the protocol does not define.
func (r *run) params(push []byte) []byte {
	b := append([]byte(`{"message":`), r.message()...)
	if id := r.contextID(); id != "" && r.agent.ParamsContext {
		b = rawjson.AppendString(append(b, `,"contextId":`...), id)
	}
	b = r.configuration(append(b, `,"configuration":{`...), push)
	b = append(b, '}')
	b = rawjson.AppendMembers(b, member(r.call.Others, "params"))
	if meta := r.metadata(); meta != nil {
		b = append(append(b, `,"metadata":`...), meta...)
	}
	return append(b, '}')
}

// message returns the caller's message with the ids of the peer.
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
		case "messageId", "contextId", "taskId":
			continue
		case "referenceTaskIds":
			value = r.references
		case "metadata":
			if value = r.messageMetadata(value); value == nil {
				continue
			}
		}
		b = rawjson.AppendMember(b, name, value)
	}
	return append(b, '}')
}

// answerKey is the metadata member in which the hub records the question of its own that a
// message answers. The number has no meaning for the peer.
const answerKey = "parley.answer"

// contextID returns the context in which the peer is called: that of its task, or else one
// derived from the caller's.
func (r *run) contextID() string {
	if r.h.Task != "" {
		return r.h.Context
	}
	return r.freshContext()
}

// freshContext returns the context of a new task; empty if the peer names it and has not done
// so yet.
func (r *run) freshContext() string {
	if r.agent.NoContext {
		return r.earlier
	}
	return derived(idContext, r.owner, string(r.call.Agent), r.ec.ContextID)
}

// configuration appends the members of a SendMessageConfiguration.
func (r *run) configuration(b, push []byte) []byte {
	a := r.agent
	if modes := r.call.AcceptedOutputModes; len(modes) > 0 {
		b = rawjson.AppendMember(b, "acceptedOutputModes", appendTexts(nil, modes))
	}
	if a.HistoryLength != nil {
		b = rawjson.AppendMember(b, "historyLength", strconv.AppendInt(nil, int64(*a.HistoryLength), 10))
	}
	if a.ReturnImmediately || push != nil {
		b = rawjson.AppendMember(b, "returnImmediately", []byte("true"))
	}
	if push != nil {
		b = rawjson.AppendMember(b, "taskPushNotificationConfig", push)
	}
	return rawjson.AppendMembers(b, member(r.call.Others, "configuration"))
}

// metadata returns the metadata of the request, with the skill that was asked for, the ids of
// the work and the delegation context; nil if there is none.
func (r *run) metadata() []byte {
	meta := r.annotated()
	if r.onward == nil {
		return meta
	}
	return delegation.AppendMetadata(nil, meta, (*delegation.Context)(r.onward))
}

// annotated returns the metadata of the caller, with the skill that was asked for and the ids
// of the headers.
func (r *run) annotated() []byte {
	meta := r.call.Metadata
	b := []byte{'{'}
	if r.call.Skill != "" && member(meta, skillKey) == nil {
		b = appendText(b, skillKey, r.call.Skill)
	}
	ids := r.ids()
	for _, id := range ids {
		b = appendText(b, id.name, id.value)
	}
	for name, value := range rawjson.Fields(meta) {
		if !slices.ContainsFunc(ids, func(id workID) bool { return id.name == name }) {
			b = rawjson.AppendMember(b, name, value)
		}
	}
	if len(b) == 1 {
		return meta
	}
	return append(b, '}')
}

// workID is an id of the caller's work, as a member of metadata.
type workID struct{ name, value string }

// ids returns the known ids of the work. The same ids are sent in headers, so that a peer finds
// one id in either place.
func (r *run) ids() []workID {
	all := []workID{{"correlationId", r.call.CorrelationID}, {"parentId", r.call.ParentID}}
	return slices.DeleteFunc(all, func(id workID) bool { return id.value == "" })
}

// traceIDs returns the ids of ctx with those of the work.
func (r *run) traceIDs(ctx context.Context) trace.IDs {
	return trace.IDs{Correlation: r.call.CorrelationID, Parent: r.call.ParentID}.Or(trace.IDsFrom(ctx))
}

// messageMetadata returns the metadata of the message without answerKey, and with the ids of
// the headers in place of ids of the same names; nil if nothing remains.
func (r *run) messageMetadata(meta []byte) []byte {
	if rawjson.KindOf(meta) != rawjson.Object {
		return meta
	}
	b := []byte{'{'}
	ids := r.ids()
	for name, value := range rawjson.Fields(meta) {
		if name == answerKey {
			continue
		}
		if i := slices.IndexFunc(ids, func(id workID) bool { return id.name == name }); i >= 0 {
			b = appendText(b, name, ids[i].value)
			continue
		}
		b = rawjson.AppendMember(b, name, value)
	}
	if len(b) == 1 && member(meta, answerKey) != nil {
		return nil
	}
	return append(b, '}')
}

// appendTexts appends a list of texts.
func appendTexts(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendString(b, s)
	}
	return append(b, ']')
}

// appendText appends a text member to an object under construction.
func appendText(b []byte, name, value string) []byte {
	return rawjson.AppendMember(b, name, rawjson.AppendString(nil, value))
}

// skillKey is the member in which a v1.0 message names its skill.
const skillKey = "skillHint"
