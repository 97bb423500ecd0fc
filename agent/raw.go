package agent

import "github.com/a2aproject/a2a-go/v2/a2a"

// Raw is an event as v1.0 JSON, for executors that pass on the output of another agent. The hub
// stores it without decoding it into the SDK's structs. Unknown members and all digits of
// numbers are preserved in messages, artifacts, parts and metadata, and in the event, its
// status and the task. The hub passes events of a kind that the protocol does not define on to
// readers of the task. It drops members whose names differ from a name of the protocol only by
// case or underscores.
//
// The embedded event makes Raw an event of the SDK. It is nil; only the hub can read a Raw.
type Raw struct {
	a2a.Event
	// JSON is a StreamResponse (specification §3.2.3): an object with at most one of the
	// protocol's members task, message, statusUpdate and artifactUpdate. The hub replaces the
	// ids of the task and the context in it by those of its own task. The executor must not
	// change JSON afterwards.
	JSON []byte
}

var _ a2a.Event = (*Raw)(nil)
