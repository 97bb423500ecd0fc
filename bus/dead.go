package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/task"
)

// TypeUnreadable is the type of what lies at Dead in place of bytes that no envelope
// could be read from. Its body is an Unreadable.
const TypeUnreadable Type = "bus.unreadable"

// Unreadable holds bytes that are no envelope.
type Unreadable struct {
	// Bytes are the first of them, at most maxUnreadable.
	Bytes []byte `json:"bytes"`
	// Size is how many there were.
	Size int `json:"size"`
}

const (
	// maxUnreadable is how many bytes of something unreadable are kept: in base64 they
	// stay below MaxEnvelope.
	maxUnreadable = 640 << 10
	// maxReason is the length of the longest Reason in bytes.
	maxReason = 1000
	// deadSpace is what Reason and Queue may add to an envelope, escaped.
	deadSpace = 6*maxReason + MaxName + 64
)

// DeadLetter returns what a bus puts at Dead when the queue from gives data up: the same
// JSON with the members reason and queue, also those that this version does not know; or
// an envelope of TypeUnreadable. It does not fail.
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
	// Where a member comes twice, the last one counts, in Go and elsewhere.
	letter := append(data[:end:end], ',')
	return append(letter, members[1:]...)
}

// ReadDead decodes what was received at Dead. What is no envelope comes as one of
// TypeUnreadable, because there is nowhere else to put it.
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

// TooOften is the Reason of an envelope that was delivered MaxDeliveries times.
func TooOften(from Address) string {
	return fmt.Sprintf("delivered %d times at %s and never acknowledged", MaxDeliveries, from)
}
