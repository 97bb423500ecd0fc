package openaifront

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// talk is a request with its position in a conversation.
type talk struct {
	front *Front
	visit *surface.Request
	req   *request
	to    chosen
	// last is the index of the last message of the assistant, or -1.
	last int
}

// message returns the message to the agent.
func (f *Front) message(v *surface.Request, req *request) (*op.Send, error) {
	to, err := f.resolve(v.Caller.Principal, req.model)
	if err != nil {
		return nil, err
	}
	t := &talk{front: f, visit: v, req: req, to: to, last: -1}
	for i := range req.messages {
		if req.messages[i].Role == "assistant" {
			t.last = i
		}
	}
	if t.last == len(req.messages)-1 {
		return nil, invalid("messages", "must end with a message that is not the assistant's")
	}
	if _, _, err := llm.FromChatMessages(req.messages); err != nil {
		return nil, contentError(err)
	}
	return t.send()
}

func contentError(err error) error {
	var bad *llm.ContentError
	if errors.As(err, &bad) {
		return invalid(bad.Field, "%s", bad.Problem)
	}
	return err
}

// send determines the task or context of the message, and builds it.
func (t *talk) send() (*op.Send, error) {
	head := map[string]any{"messageId": a2a.NewMessageID(), "role": a2a.MessageRoleUser}
	earlier := true
	resume, alias := false, ""
	switch m := t.req.metadata; {
	case m[metaTask] != "":
		head["taskId"], earlier = m[metaTask], false
		put(head, "contextId", m[metaContext])
	case m[metaContext] != "" || t.req.user != "":
		id := m[metaContext]
		if id == "" {
			// The context belongs to the caller alone.
			id = "user-" + digest(t.visit.Caller.Principal.ID, t.req.model, t.req.user)
		}
		known, err := t.known(id)
		if err != nil {
			return nil, err
		}
		head["contextId"], resume, earlier = id, true, !known
	default:
		alias = t.aliasOf(t.req.messages)
		if h := t.asked(); h != nil {
			head["taskId"], head["contextId"], earlier = h.ID, h.ContextID, false
		}
	}
	parts, err := t.parts(earlier)
	if err != nil {
		return nil, err
	}
	head["parts"] = parts
	r, err := t.decode(head)
	if err != nil {
		return nil, err
	}
	r.Agent, r.Resume, r.Alias, r.Key = t.to.agent, resume, alias, t.visit.Key
	return r, nil
}

// decode builds a message of the protocol from the client's request.
func (t *talk) decode(head map[string]any) (*op.Send, error) {
	meta := map[string]any{}
	put(meta, "skill", t.to.skill)
	if len(t.req.tuning) > 0 {
		meta["openai"] = t.req.tuning
	}
	b, err := json.Marshal(map[string]any{"message": head, "metadata": meta})
	if err != nil {
		return nil, fmt.Errorf("write message: %w", err)
	}
	var d dialect.Decoder
	return d.SendAt(b)
}

func put(object map[string]any, name, value string) {
	if value != "" {
		object[name] = value
	}
}

// digest returns a hash of a list of texts.
func digest(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:20]))
}

// known reports whether a context has tasks.
func (t *talk) known(id string) (bool, error) {
	p, err := t.front.Engine.List(t.visit.Request.Context(), t.visit.Caller, &op.List{
		Target: op.Target{Agent: t.to.agent}, ContextID: id, PageSize: 1,
	})
	return err == nil && len(p.Tasks) > 0, err
}

// aliasOf returns an alias for a conversation up to a point, by which the next request finds
// the task that has asked back there.
func (t *talk) aliasOf(messages []llm.ChatMessage) string {
	return "chat-" + digest(t.visit.Caller.Principal.ID, t.req.model, string(marshal(messages)))
}

// asked returns the task that waits for an answer at this point of the conversation, and whose
// question is the last message of the assistant; nil if there is none.
func (t *talk) asked() *task.Head {
	if t.last < 0 {
		return nil
	}
	none := 0
	a, err := t.front.Engine.Get(t.visit.Request.Context(), t.visit.Caller, &op.Get{
		Target: op.Target{Agent: t.to.agent, Aliases: true}, ID: a2a.TaskID(t.aliasOf(t.req.messages[:t.last])), HistoryLength: &none,
	})
	if err != nil {
		return nil
	}
	a.Release()
	if !a.Head.State.Interrupted() {
		return nil
	}
	question := strings.TrimSpace(task.TextOf(a.Head.StatusMessage))
	if !strings.HasSuffix(strings.TrimSpace(t.req.messages[t.last].Content.Text()), question) {
		return nil
	}
	return &a.Head
}

// metaEarlier marks the part with the conversation before the message.
const metaEarlier = "parley/earlier"

// parts returns the new parts of the conversation, preceded by the earlier messages if the
// agent does not know them.
func (t *talk) parts(earlier bool) (a2a.ContentParts, error) {
	var parts a2a.ContentParts
	var transcript strings.Builder
	for i := range t.req.messages {
		m := &t.req.messages[i]
		spoken := i > t.last && m.Role != "system" && m.Role != "developer"
		switch {
		case spoken:
			own, err := newParts(i, m)
			if err != nil {
				return nil, err
			}
			parts = append(parts, own...)
		case earlier || i > t.last:
			writeMessage(&transcript, m)
		}
	}
	if transcript.Len() > 0 {
		p := a2a.NewTextPart("Earlier in this conversation:\n" + transcript.String())
		p.SetMeta(metaEarlier, true)
		parts = append(a2a.ContentParts{p}, parts...)
	}
	if len(parts) == 0 {
		return nil, invalid("messages", "say nothing")
	}
	return parts, nil
}

// newParts returns the parts of message i. Content that cannot be passed to an agent is
// refused.
func newParts(i int, m *llm.ChatMessage) (a2a.ContentParts, error) {
	msgs, lost, err := llm.FromChatMessages([]llm.ChatMessage{*m})
	if err != nil {
		return nil, contentError(err)
	}
	var parts a2a.ContentParts
	for _, made := range msgs {
		parts = append(parts, made.Parts...)
	}
	for _, l := range llm.Gone(lost) {
		if len(msgs) > 0 || len(m.Content) > 0 {
			return nil, invalid(strings.Replace(l.Field, "messages[0]", fmt.Sprintf("messages[%d]", i), 1), "%s", l.Problem)
		}
	}
	return parts, nil
}

// writeMessage adds a message to the text of the earlier conversation.
func writeMessage(b *strings.Builder, m *llm.ChatMessage) {
	msgs, _, err := llm.FromChatMessages([]llm.ChatMessage{*m})
	if err != nil || len(msgs) == 0 {
		return // it was checked before, or is empty
	}
	for _, line := range transcriptLines(msgs[0].Parts) {
		fmt.Fprintf(b, "%s: %s\n", m.Role, line)
	}
}

func transcriptLines(parts a2a.ContentParts) []string {
	var lines []string
	for _, p := range parts {
		if c, ok := llm.ClientCallOf(p); ok {
			lines = append(lines, fmt.Sprintf("(calls %s with %s)", c.Name, marshal(c.Args)))
			continue
		}
		if r, ok := llm.ClientResultOf(p); ok {
			text, isText := r.Result.(string)
			if !isText {
				text = string(marshal(r.Result))
			}
			lines = append(lines, text)
			continue
		}
		words, _ := llm.ToChatText(a2a.ContentParts{p})
		for i := range words {
			lines = append(lines, words[i].Text+words[i].Refusal)
		}
	}
	return lines
}
