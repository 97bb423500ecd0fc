package model

import (
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// The estimate of tokens: four bytes of text are one token, each message and each call has a
// few more, and an image, audio or a file has a thousand, whatever its size. That fits English;
// other languages and code have up to twice as many.
const (
	bytesPerToken = 4
	messageTokens = 8
	mediaTokens   = 1000
)

func estimate(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

func estimateMessage(m *llm.ChatMessage) int {
	n := messageTokens
	for i := range m.Content {
		if m.Content[i].Type == "text" {
			n += estimate(m.Content[i].Text)
		} else {
			n += mediaTokens
		}
	}
	for i := range m.ToolCalls {
		n += messageTokens + estimate(m.ToolCalls[i].Function.Name) + estimate(m.ToolCalls[i].Function.Arguments)
	}
	return n
}

// Texts in place of omitted content.
const (
	droppedResult = "[This result was left out to make room. Call the tool again if it is needed.]"
	droppedTurns  = "[The beginning of the conversation was left out to make room.]"
)

// newest is the number of items at the end that are never shortened.
const newest = 2

// unit is a piece that is omitted as a whole: a message of the earlier conversation, or a turn
// with its results.
type unit struct {
	msgs   []llm.ChatMessage
	size   int
	pinned bool
}

func newUnit(pinned bool, msgs ...llm.ChatMessage) *unit {
	u := &unit{msgs: msgs, pinned: pinned}
	for i := range msgs {
		u.size += estimateMessage(&msgs[i])
	}
	return u
}

// units returns the units of a transcript, the oldest first. It pins the last message of the
// caller, the short notices with the keys of results, and the newest items.
func units(items []item) []*unit {
	own := 0
	for i := range items {
		if items[i].turn == nil && items[i].arrived == nil {
			own = i
		}
	}
	var all []*unit
	for i := range items {
		msgs, pinned := items[i].conversation(), i >= len(items)-newest
		if items[i].turn != nil {
			all = append(all, newUnit(pinned, msgs...))
			continue
		}
		for j := range msgs {
			all = append(all, newUnit(i == own && j == len(msgs)-1 || items[i].arrived != nil, msgs[j]))
		}
	}
	return all
}

// fit returns the messages of a request with at most budget tokens, by estimate; tools is the
// size of the tools. It drops the results of tools first, the oldest first, then the oldest
// messages and turns. The instructions, the caller's last message and the newest turns remain,
// whatever their size.
func fit(prompt guard.Text, items []item, tools, budget int) []llm.ChatMessage {
	all := units(items)
	over := estimate(prompt.String()) + messageTokens + tools - budget
	for _, u := range all {
		over += u.size
	}
	for _, u := range all {
		if over > 0 && !u.pinned {
			over -= u.shrink()
		}
	}
	var msgs []llm.ChatMessage
	if !prompt.IsEmpty() {
		msgs = append(msgs, chatMessage("system", prompt))
	}
	dropped := false
	for _, u := range all {
		if over > 0 && !u.pinned {
			over -= u.size
			dropped = true
			continue
		}
		if dropped {
			msgs = append(msgs, chatMessage("user", guard.Words(droppedTurns)))
			dropped = false
		}
		msgs = append(msgs, u.msgs...)
	}
	return msgs
}

// shrink replaces the results of a turn by a note, and returns the saved tokens.
func (u *unit) shrink() int {
	before := u.size
	short := chatMessage("tool", guard.Words(droppedResult)).Content
	for i := range u.msgs {
		m := &u.msgs[i]
		if have := estimateMessage(m); m.Role == "tool" && have > messageTokens+estimate(droppedResult) {
			m.Content = short
			u.size += estimateMessage(m) - have
		}
	}
	return before - u.size
}
