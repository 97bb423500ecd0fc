package openaitest

import (
	"encoding/json"
	"time"
)

// Turn is what the model says to a request, and how the server gets it across. The zero
// Turn is an empty answer.
type Turn struct {
	// Text is the answer, Calls are the tools that the model calls.
	Text  string
	Calls []Call
	// Finish is why it ended; empty means "stop", or "tool_calls" if there are Calls.
	Finish string
	// Prompt and Completion are the tokens used; 0 means a guess by length.
	Prompt, Completion int
	// Fault is what goes wrong; the zero Fault is nothing.
	Fault Fault
	// At, if set, is called before each chunk of the stream with its number and that of
	// all, and once more before the end mark, with chunk == of. It may wait, and end what
	// the test wants to end. Without a stream it is called once, with 0 and 1.
	At func(chunk, of int)
}

// Call is a call of a tool.
type Call struct {
	// ID is unique in the conversation. If empty, it is made from the number of the round
	// and the place among Calls.
	ID string
	// Name is the tool, Arguments is the JSON that it is called with.
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

// Fault is what goes wrong with a turn.
type Fault struct {
	// Status is answered instead of the turn if it is not 0, with Body; an empty Body is
	// the JSON of an error.
	Status int
	Body   string
	// RetryAfter is the header of that name, as it is.
	RetryAfter string
	// Wait passes before the first byte of the answer.
	Wait time.Duration
	// Hold stops before this chunk, and keeps the connection open without a word until the
	// client goes. 0 means never.
	Hold int
	// Cut ends the answer before this chunk, as if the server had finished: no end mark. 0
	// means never. Break ends the connection instead.
	Cut, Break int
	// Nonsense is sent as a chunk before the chunk 1, as it is.
	Nonsense string
	// NoChoices answers with a chunk, or an answer, without choices.
	NoChoices bool
	// NoEnd leaves out the end mark after a whole answer, as some servers do.
	NoEnd bool
	// NoFinish leaves out why the answer ended.
	NoFinish bool
	// Error is told in the middle of the stream, as a chunk of its own, and ends it.
	Error string
}

// Wire is how streams are split.
type Wire struct {
	// Chunk is how many bytes of text or arguments a chunk has at most; 0 means 5. Text is
	// split between characters, arguments anywhere between them.
	Chunk int
	// Write is how many bytes are sent at a time, whatever they are part of: half a line,
	// half a character; 0 means 11.
	Write int
	// Plain leaves out what is legal and unusual: comments, CRLF, no blank behind "data:".
	Plain bool
	// NoIDs leaves out the index of calls, as some local servers do when there is one.
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

// finish is why t ended.
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
