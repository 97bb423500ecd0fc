package remote

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/task"
)

// handle is the checkpoint of a run, with which it resumes after a crash.
type handle struct {
	// Key is agent.Call.Key of the last message that the peer has certainly accepted.
	Key string `json:"key"`
	// Task and Context are the peer's ids.
	Task    a2a.TaskID `json:"task"`
	Context string     `json:"context,omitempty"`
	// Event is the id of the last event that was passed on; empty if that had none.
	Event string `json:"event,omitempty"`
	// Asked is the question that the task waits for an answer to, or that the peer may still
	// show.
	Asked question `json:"asked,omitzero"`
	// Confirmed are the extensions that the peer has confirmed for the message of Key,
	// separated by commas.
	Confirmed string `json:"confirmed,omitempty"`
	// Deadline is the deadline of the message, in milliseconds since 1970.
	Deadline int64 `json:"deadline"`
	// Theirs states that the deadline came with the message, and not from the agent's own
	// timeout.
	Theirs bool `json:"theirs,omitempty"`
	// Unsent is agent.Call.Key of a message that waits for the agent: certainly nothing of it
	// was sent. Empty means that nothing is known.
	Unsent string `json:"unsent,omitempty"`
}

func decodeHandle(b []byte) (handle, error) {
	var h handle
	if len(b) == 0 {
		return h, nil
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return handle{}, fmt.Errorf("decode checkpoint: %w", err)
	}
	return h, nil
}

func (h *handle) encode() []byte {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings, numbers and booleans can be encoded
	}
	return b
}

func (h *handle) deadline() time.Time { return time.UnixMilli(h.Deadline) }

// Kinds of derived ids, so that ids of two kinds are never equal.
const (
	idMessage = "message"
	idContext = "context"
	idToken   = "token"
	idHook    = "hook"
)

// derived returns an id that is always the same for the same words, and that does not reveal
// them.
func derived(kind string, owner task.Owner, words ...string) string {
	h := sha256.New()
	for _, w := range append([]string{"parley", kind, string(owner)}, words...) {
		fmt.Fprintf(h, "%d:%s", len(w), w)
	}
	var id uuid.UUID
	copy(id[:], h.Sum(nil))
	id[6] = id[6]&0x0f | 0x80 // version 8 (RFC 9562): custom
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}
