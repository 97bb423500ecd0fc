package task

import "github.com/parley-a2a/parley/internal/json/rawjson"

// The levels of Entry.Others.
const (
	inFrame  = "frame"
	inEvent  = "event"
	inStatus = "status"
	inTask   = "task"
)

// An unknown member with one of these names is not shown in another object than its own:
// readers would mistake it for a member of the protocol.
var (
	taskReserved  = rawjson.Reserved{"id", "contextId", "status", "artifacts", "history", "metadata", "kind"}
	eventReserved = rawjson.Reserved{
		"taskId", "contextId", "status", "artifact", "append", "lastChunk", "metadata", "kind", "final",
	}
)

// level returns one of the objects of Entry.Others, or nil.
func level(others []byte, name string) []byte {
	if len(others) == 0 {
		return nil
	}
	return rawjson.Member(others, name)
}

// appendInside appends the members of an object after others.
func appendInside(dst, obj []byte) []byte {
	if len(obj) <= len("{}") {
		return dst
	}
	return append(append(dst, ','), obj[1:len(obj)-1]...)
}

// appendFrameEnd appends the unknown members to an event and closes it, and does the same for
// the object around it. Others of a task are no members of an event, but the event shows them.
func appendFrameEnd(dst, others []byte) []byte {
	if len(others) == 0 {
		return append(dst, `}}`...)
	}
	dst = appendInside(dst, level(others, inEvent))
	for name, value := range rawjson.Fields(level(others, inTask)) {
		if !eventReserved.Has(name) {
			dst = append(append(rawjson.AppendString(append(dst, ','), name), ':'), value...)
		}
	}
	return append(appendInside(append(dst, '}'), level(others, inFrame)), '}')
}
