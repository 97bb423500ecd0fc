package dialect

import "github.com/parley-a2a/parley/internal/json/rawjson"

// MessageFrames returns a function that converts the frames of one stream for clients that read
// messages, because they cannot join the chunks of an artifact: the status of a completed task gets
// the whole answer as its message. whole returns the task as AppendTask writes it for RESTMessages,
// or nil if it cannot be read.
func MessageFrames(whole func() []byte) func(v1 []byte) [][]byte {
	return func(v1 []byte) [][]byte {
		name, v := rawjson.First(v1)
		status := member(v, "status")
		if name != "statusUpdate" || !isText(member(status, "state"), "TASK_STATE_COMPLETED") || member(status, "message") != nil {
			return [][]byte{v1}
		}
		message := member(member(whole(), "status"), "message")
		if message == nil {
			return [][]byte{v1}
		}
		answered := rawjson.Members{"statusUpdate": rawjson.Members{"status": func(dst, status []byte) []byte {
			return append(append(rawjson.AppendName(append(dst, status[:len(status)-1]...), "message"), message...), '}')
		}}.Append}.Append
		return [][]byte{answered(nil, v1)}
	}
}
