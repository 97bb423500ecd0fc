// Package promptkit is the part for PromptKit: the dialect of its clients and agents, which derives
// from v0.3, and the layout of its cards.
//
// Its clients call at any path. A message without kinds is a sign of the dialect, and so are the
// methods tasks/list and tasks/subscribe; other calls follow the profile of the caller or the dialect
// of the task. Its agents have cards without interfaces.
package promptkit

import (
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/registry"
)

const name = "promptkit"

// Shape is PromptKit's derivative of v0.3. The number is stored.
const Shape dialect.Shape = 3

func init() {
	registry.Register(name, &dialect.Dialect{
		Shape: Shape, Name: name, Version: "0.3",
		Codec: dialect.Codec{
			Request: request,
			Result:  appendResult,
			Frames:  func(func() []byte) dialect.Framer { return new(stream).frames },
			Field:   dialect.PlainField,
		},
		Calls: dialect.Calls{Methods: map[string]dialect.Operation{
			"message/send":    dialect.SendMessage,
			"message/stream":  dialect.SendStreamingMessage,
			"tasks/get":       dialect.GetTask,
			"tasks/list":      dialect.ListTasks,
			"tasks/cancel":    dialect.CancelTask,
			"tasks/subscribe": dialect.SubscribeToTask,
		}},
		Serving: dialect.Serving{Adapt: adapt, Tasks: true, ShowsEnded: true},
		Calling: dialect.Calling{
			SkillKey: "skillId", Blocking: true, Message: dialect.PlainMessage, Part: dialect.ReadPart, Others: []dialect.Shape{dialect.V1},
		},
	}, card.Foreign(foreign))
}

// adapt replaces the code for a task that cannot be canceled, which the dialect lacks.
func adapt(r *dialect.Report) {
	const notFound, notCancelable = -32001, -32002
	if r.Code == notCancelable {
		r.Code = notFound
	}
}

// foreign is a card.Foreign. PromptKit's cards have no interfaces: the agent accepts JSON-RPC at
// /a2a.
func foreign(has func(member string) bool) *card.Interface {
	if !has("skills") && !has("capabilities") {
		return nil
	}
	return &card.Interface{URL: "../a2a", Dialect: name}
}
