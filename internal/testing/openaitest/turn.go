package openaitest

import (
	"encoding/json"
	"time"
)

// Turn is the model's answer to a request, with the faults of its delivery. The zero Turn is an
// empty answer.
type Turn struct {
	// Text is the answer, Calls are the tool calls of the model.
	Text  string
	Calls []Call
	// Finish is the finish reason; empty means "stop", or "tool_calls" if there are Calls.
	Finish string
	// Prompt and Completion are the tokens used; 0 means an estimate from the length.
	Prompt, Completion int
	// Fault is the fault to inject; the zero Fault is none.
	Fault Fault
	// At, if set, is called before each chunk of the stream with the chunk's number and the
	// total, and once more before the end mark, with chunk == of. It may block, and may end
	// processes of the test. Without a stream it is called once, with 0 and 1.
	At func(chunk, of int)
}

// Call is a call of a tool.
type Call struct {
	// ID is unique in the conversation. If empty, it is built from the round and the index in
	// Calls.
	ID string
	// Name is the tool, and Arguments are its arguments as JSON.
	Name, Arguments string
}

// CallOf returns a call whose arguments are the JSON of args.
func CallOf(name string, args any) Call {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return Call{Name: name, Arguments: string(b)}
}

// Fault is a fault in the delivery of a turn.
type Fault struct {
	// Status, if not 0, is returned with Body instead of the turn; an empty Body stands for the
	// JSON of an error.
	Status int
	Body   string
	// RetryAfter is the unchanged value of the Retry-After header.
	RetryAfter string
	// Wait is the delay before the first byte of the answer.
	Wait time.Duration
	// Hold stops before this chunk, and keeps the connection open silently until the client
	// disconnects. 0 means never.
	Hold int
	// Cut ends the answer before this chunk without an end mark, as if the server had finished;
	// 0 means never. Break closes the connection instead.
	Cut, Break int
	// Nonsense is sent unchanged as an extra chunk before chunk 1.
	Nonsense string
	// NoChoices answers with a chunk, or a whole answer, without choices.
	NoChoices bool
	// NoEnd omits the end mark after a complete answer, as some servers do.
	NoEnd bool
	// NoFinish omits the finish reason.
	NoFinish bool
	// Error is sent as a chunk of its own in the middle of the stream, and ends it.
	Error string
}

// Wire configures the splitting of streams.
type Wire struct {
	// Chunk is the largest number of bytes of text or arguments in a chunk; 0 means 5. Text is
	// split between characters, arguments between any two bytes.
	Chunk int
	// Write is the number of bytes per write; 0 means 11. Writes end anywhere, even within a
	// line or a character.
	Write int
	// Plain omits legal but unusual forms: comments, CRLF, no space after "data:".
	Plain bool
	// NoIndex omits the index of calls, as some local servers do for a single call.
	NoIndex bool
}

func (w Wire) chunk() int {
	if w.Chunk > 0 {
		return w.Chunk
	}
	return 5
}

func (w Wire) write() int {
	if w.Write > 0 {
		return w.Write
	}
	return 11
}

// finish returns the finish reason of t.
func (t *Turn) finish() string {
	switch {
	case t.Finish != "":
		return t.Finish
	case len(t.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (t *Turn) usage(r *Request) *usage {
	const bytesPerToken = 4
	u := &usage{Prompt: t.Prompt, Completion: t.Completion}
	if u.Prompt == 0 {
		u.Prompt = len(r.Body)/bytesPerToken + 1
	}
	if u.Completion == 0 {
		n := len(t.Text)
		for _, c := range t.Calls {
			n += len(c.Name) + len(c.Arguments)
		}
		u.Completion = n/bytesPerToken + 1
	}
	u.Total = u.Prompt + u.Completion
	return u
}
