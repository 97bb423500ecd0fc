package agent

import "github.com/a2aproject/a2a-go/v2/a2a"

// Raw is an event as v1.0 JSON, for executors that pass on what somebody else said.
// The hub stores it without a trip through the SDK's structs: fields that nobody knows
// and all digits of numbers stay, in messages, artifacts, parts and metadata, in the event
// itself, its status and the task. An event of a kind that the protocol does not have is
// passed on to the readers of the task. Fields whose names can be taken for one of the
// protocol's, by case or underscores, are dropped.
//
// The embedded event makes Raw an event of the SDK. It is nil; only the hub can read
// a Raw.
type Raw struct {
	a2a.Event
	// JSON is a StreamResponse (specification §3.2.3): an object with one member of the
	// protocol, task, message, statusUpdate or artifactUpdate, or with none of them. The ids of task and context in it
	// do not count: the hub puts those of its own task there. It must not change any
	// more.
	JSON []byte
}

var _ a2a.Event = (*Raw)(nil)
