package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// TypeUnreadable is the type of the envelopes at Dead that replace undecodable bytes. Its body
// is an Unreadable.
const TypeUnreadable Type = "bus.unreadable"

// Unreadable holds bytes that are no envelope.
type Unreadable struct {
	// Bytes are the first of them, at most maxUnreadable.
	Bytes []byte `json:"bytes"`
	// Size is the original number of bytes.
	Size int `json:"size"`
}

const (
	// maxUnreadable is the largest number of undecodable bytes that are kept: in base64 they
	// stay below MaxEnvelope.
	maxUnreadable = 640 << 10
	// maxReason is the length of the longest Reason in bytes.
	maxReason = 1000
	// reservedForDead is the space that Reason and Queue may need in an envelope, escaped.
	reservedForDead = 6*maxReason + MaxName + 64
)

// DeadLetter returns the envelope that a bus puts at Dead for the data of the queue from. It is
// the same JSON, including members unknown to this version, with the members reason and queue;
// or an envelope of TypeUnreadable. It does not fail.
func DeadLetter(data []byte, from Address, reason string) []byte {
	reason = shortened(reason)
	end := bytes.LastIndexByte(data, '}')
	if _, err := Decode(data); err != nil || end < 0 {
		return unreadable(data, from, reason)
	}
	members, err := json.Marshal(struct {
		Reason string `json:"reason"`
		Queue  string `json:"queue"`
	}{reason, from.Name})
	if err != nil {
		return unreadable(data, from, reason)
	}
	// If a member occurs twice, the last one counts, in Go and elsewhere.
	letter := append(data[:end:end], ',')
	return append(letter, members[1:]...)
}

// ReadDead decodes the data of a delivery at Dead. It returns an envelope of TypeUnreadable for
// undecodable data, because Dead has no further queue to move it to.
func ReadDead(data []byte) *Envelope {
	e, err := Decode(data)
	if err == nil {
		return e
	}
	if e, err = Decode(unreadable(data, Dead, shortened(err.Error()))); err != nil {
		panic("bus: an unreadable envelope of our own: " + err.Error())
	}
	return e
}

func unreadable(data []byte, from Address, reason string) []byte {
	sum := sha256.Sum256(data)
	body, err := json.Marshal(Unreadable{Bytes: data[:min(len(data), maxUnreadable)], Size: len(data)})
	if err != nil {
		panic("bus: encode bytes: " + err.Error())
	}
	e := Envelope{
		ID: fmt.Sprintf("unreadable-%x", sum[:16]), Type: TypeUnreadable, Time: task.Millis(time.Now().UnixMilli()),
		Source: "bus", Reason: reason, Queue: from.Name, Body: body,
	}
	letter, err := e.Encode()
	if err != nil {
		panic("bus: an unreadable envelope of our own: " + err.Error())
	}
	return letter
}

// shortened returns the beginning of reason, as valid UTF-8.
func shortened(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return string(bytes.ToValidUTF8([]byte(reason), nil))
}

// TooOften returns the Reason of an envelope that was delivered MaxDeliveries times.
func TooOften(from Address) string {
	return fmt.Sprintf("delivered %d times at %s and never acknowledged", MaxDeliveries, from)
}
