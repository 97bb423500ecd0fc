package hubtools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/task"
)

const (
	// invokeMinutes is the default wait for the result of a dispatched task.
	invokeMinutes = 5
	// chatWait is the longest wait of a conversation for its reply.
	chatWait = 5 * time.Minute
)

// agentArgs name an agent.
type agentArgs struct {
	Agent string `json:"agent_name" max:"200" jsonschema:"The agent's name exactly as list_known_agents or search_known_services gives it."`
}

// taskArgs name a task.
type taskArgs struct {
	Task a2a.TaskID `json:"task_id" max:"200" jsonschema:"The id of the task."`
}

// messageArgs are a message to an agent.
type messageArgs struct {
	Message string          `json:"message" jsonschema:"The message to the agent, in words that can be understood alone: it sees nothing of this conversation."`
	Data    json.RawMessage `json:"data,omitempty" jsonschema:"Structured input, sent beside the message as application/json. A JSON object, not a string. Only with field names that the skill documents (see get_agent_details): never make any up; if none are documented, put the values into the message."`
}

type invokeArgs struct {
	agentArgs

	Skill string `json:"skill" max:"200" jsonschema:"The id of one of the agent's skills, from get_agent_details."`
	messageArgs

	Metadata scalars `json:"metadata,omitempty" jsonschema:"Metadata of the message: strings, numbers, true or false."`
	Minutes  float64 `json:"timeout_minutes,omitempty" min:"0" max:"1440" default:"5" jsonschema:"How long to wait for the result. 0 only dispatches. When the time is over, the agent continues, and its result is stored as a note."`
}

type chatArgs struct {
	Agent     string     `json:"agent" max:"200" jsonschema:"The agent's name exactly as list_known_agents or search_known_services gives it."`
	Message   string     `json:"message" jsonschema:"The message to the agent, in words that can be understood alone: it sees nothing of this conversation."`
	ContextID string     `json:"contextId,omitempty" max:"200" jsonschema:"The conversation to continue: the contextId of the last reply. Leave it out to begin a new one."`
	TaskID    a2a.TaskID `json:"taskId,omitempty" max:"200" jsonschema:"The task that waits for this message: the taskId of a reply with the state input-required."`
	Skill     string     `json:"skill,omitempty" max:"200" jsonschema:"The id of one of the agent's skills. Leave it out to let the agent decide."`
	Done      bool       `json:"done,omitempty" jsonschema:"True with the last message of a conversation: the reply then has no ids to continue with."`
}

type continueArgs struct {
	taskArgs
	messageArgs
}

func (b *Toolbox) calls() []llm.Tool {
	return []llm.Tool{
		offer(b, llm.Tool{
			Name: "invoke_agent", Title: "Give an agent a task", Output: resultOf[dispatched](), Repeatable: b.Session != "",
			Description: "Gives another agent a task with one of its skills. Call get_agent_details first to learn the input of the skill; do not invent field names. " +
				"The task is dispatched, and its result is always stored in working memory under working_memory_key, where get_from_working_memory reads it once the task has ended. " +
				"If the result is here too, it need not be read again. If it is not, do something else first.",
		}, b.invoke),
		offer(b, llm.Tool{
			Name: "chat_with_agent", Title: "Talk with an agent", Output: resultOf[chatAnswer](), Repeatable: b.Session != "",
			Description: "Sends a message to another agent and waits for its reply. To continue the conversation, pass the contextId of the reply, and its taskId if the state is input-required. " +
				"Set done with your last message, so that the conversation is not continued out of politeness.",
		}, b.chat),
		offer(b, llm.Tool{
			Name: "continue_task", Title: "Answer a task", Output: resultOf[chatAnswer](), Repeatable: b.Session != "",
			Description: "Answers a task that waits for input (state input-required or auth-required) and waits for the result. A task that has ended accepts no further message: begin a new one.",
		}, b.continueTask),
	}
}

// dispatched is the answer of invoke_agent.
type dispatched struct {
	report
	Key     string `json:"working_memory_key"`
	DataKey string `json:"working_memory_data_key,omitempty"`
}

// invoke performs invoke_agent.
func (b *Toolbox) invoke(ctx context.Context, c *call, args *invokeArgs) (*llm.Result, error) {
	a, wrong, err := b.resolve(ctx, args.Agent, args.Skill)
	if wrong != nil || err != nil {
		return wrong, err
	}
	p := waitsOf(c, args.Minutes)
	t := b.talk(c, &hubclient.Send{
		Agent: a.Name, Skill: a.skill, Metadata: args.Metadata, Wait: p.hold, Parts: args.parts(),
	})
	sent, err := t.run(ctx)
	if err != nil {
		return nil, err
	}
	d := dispatched{report: b.reportOf(c, sent, 0)}
	pending := t.pending(sent, p)
	if sent.Task != nil {
		d.Key = b.resultKey(sent)
		d.Next = b.nextOf(sent, t, readLater)
		if d.Data != "" {
			d.DataKey = d.Key + ".data"
		}
	}
	if pending != nil {
		pending.Key = d.Key
		d.Result, d.Data, d.Progress, d.DataKey, d.Next = "", "", "", "", dispatchedNext
	}
	return b.conclude(t, sent, &d, pending)
}

// conclude returns a result with v: with the files and the open question of the agent or, if the
// caller awaits the agent's result, with the pending work.
func (b *Toolbox) conclude(t *talk, sent *hubclient.Sent, v any, pending *llm.Pending) (*llm.Result, error) {
	if pending != nil {
		r, err := structured(v)
		if err == nil {
			r.Pending = pending
		}
		return r, err
	}
	r, err := b.answer(sent, v)
	if err == nil && t.question != nil && !t.refused {
		r.Question = t.question
	}
	return r, err
}

// pending returns the work whose result the caller awaits. It is nil if the call itself returns
// the result, or a question.
func (t *talk) pending(sent *hubclient.Sent, p waits) *llm.Pending {
	h := t.call.Dispatch
	if h == nil || sent.Task == nil || t.question != nil {
		return nil
	}
	size := utf8.RuneCountInString(sent.Reply()) + len(wholeData(sent))
	if sent.Task.Status.State.Terminal() && h.Inline > 0 && size <= h.Inline {
		return nil
	}
	return &llm.Pending{Agent: sent.Agent, TaskID: sent.Task.ID, Begun: t.begins, Wait: p.rest}
}

// waits splits the wait of invoke_agent: hold is spent in the call, and rest afterwards,
// while the caller awaits the result.
type waits struct{ hold, rest time.Duration }

// waitsOf returns the wait of a call. For a call that only dispatches, the caller awaits the
// result for the default time.
func waitsOf(c *call, minutes float64) waits {
	all := time.Duration(minutes * float64(time.Minute))
	h := c.Dispatch
	if h == nil {
		return waits{hold: all}
	}
	p := waits{rest: all}
	if all == 0 {
		p.rest = invokeMinutes * time.Minute
	}
	if h.Inline > 0 {
		p.hold = min(all, h.Hold)
		p.rest -= p.hold
	}
	return p
}

// dispatchedNext is the advice to a model that will be notified of the result.
const dispatchedNext = "It was dispatched. Stop here unless there is something else to do: you will be notified when it is done and find the result under working_memory_key. Do not dispatch it again."

// readLater is the advice to a model that will not be notified of the result.
const readLater = "Read working_memory_key with get_from_working_memory when it is done, or ask get_task. Do not dispatch it again."

// parts returns the content of the message to the agent.
func (m *messageArgs) parts() []*a2a.Part {
	parts := []*a2a.Part{a2a.NewTextPart(m.Message)}
	if m.Data != nil {
		p := a2a.NewDataPart(m.Data)
		p.MediaType = "application/json"
		parts = append(parts, p)
	}
	return parts
}

// chat performs chat_with_agent.
func (b *Toolbox) chat(ctx context.Context, c *call, args *chatArgs) (*llm.Result, error) {
	a, wrong, err := b.resolve(ctx, args.Agent, args.Skill)
	if wrong != nil || err != nil {
		return wrong, err
	}
	s := &hubclient.Send{
		Agent: a.Name, Skill: a.skill, ContextID: args.ContextID, TaskID: args.TaskID,
		Wait: chatWait, Abort: true, Parts: []*a2a.Part{a2a.NewTextPart(args.Message)},
	}
	if err := b.dropEndedTask(ctx, s); err != nil {
		return nil, err
	}
	return b.sendAndReply(ctx, c, s, args.Done)
}

// dropEndedTask clears the task id of a message to an ended task: the message then begins another
// task in the same conversation. Models pass on the ids of the last reply in any state.
func (b *Toolbox) dropEndedTask(ctx context.Context, s *hubclient.Send) error {
	if s.TaskID == "" {
		return nil
	}
	sent, err := b.Hub.Task(ctx, s.TaskID)
	if err != nil {
		return err
	}
	if sent.Task != nil && sent.Task.Status.State.Terminal() {
		s.ContextID, s.TaskID = sent.Task.ContextID, ""
	}
	return nil
}

// continueTask performs continue_task.
func (b *Toolbox) continueTask(ctx context.Context, c *call, args *continueArgs) (*llm.Result, error) {
	s := &hubclient.Send{TaskID: args.Task, Wait: chatWait, Abort: true, Parts: args.parts()}
	if c.Dispatch != nil {
		s.Wait, s.Abort = waitsOf(c, invokeMinutes).hold, false
	}
	return b.sendAndReply(ctx, c, s, false)
}

// chatAnswer is the answer of chat_with_agent and continue_task.
type chatAnswer struct {
	Agent string `json:"agent"`
	Reply string `json:"reply"`
	State string `json:"state"`
	// ContextID and TaskID are omitted when the conversation has ended.
	ContextID string     `json:"contextId,omitempty"`
	TaskID    a2a.TaskID `json:"taskId,omitempty"`
	Progress  string     `json:"progress,omitempty"`
	// Key is the note that holds the reply, if the reply is not in this answer.
	Key  string `json:"working_memory_key,omitempty"`
	Data string `json:"data,omitempty"`
	Next string `json:"next,omitempty"`
}

// sendAndReply sends a message, which may be the last one of its conversation, and returns the reply.
func (b *Toolbox) sendAndReply(ctx context.Context, c *call, s *hubclient.Send, last bool) (*llm.Result, error) {
	t := b.talk(c, s)
	t.closes = last
	sent, err := t.run(ctx)
	if err != nil {
		return nil, err
	}
	r := b.reportOf(c, sent, 0)
	x := chatAnswer{Agent: r.Agent, Reply: r.Result, Progress: r.Progress, State: r.State, Data: r.Data, Next: b.nextOf(sent, t, "Ask get_task for the reply later.")}
	if !t.closes {
		x.ContextID, x.TaskID = r.ContextID, r.TaskID
	} else if sent.Task == nil || sent.Task.Status.State.Terminal() || client.Interrupted(sent.Task.Status.State) {
		x.Next = "" // a question in the last reply is not answered
	}
	var pending *llm.Pending
	if !s.Abort {
		pending = t.pending(sent, waitsOf(c, invokeMinutes))
	}
	if pending != nil {
		pending.Key = b.resultKey(sent)
		x.Key, x.Reply, x.Data, x.Progress, x.Next = pending.Key, "", "", "", dispatchedNext
	}
	return b.conclude(t, sent, &x, pending)
}

// resolved is an agent that the model may call, and the requested skill.
type resolved struct {
	adminjson.Agent
	skill string
}

// resolve finds the agent and the skill that the model named. If there is none, it returns a
// result that lists the alternatives.
func (b *Toolbox) resolve(ctx context.Context, name, skill string) (*resolved, *llm.Result, error) {
	a, wrong, err := b.known(ctx, name)
	if wrong != nil || err != nil {
		return nil, wrong, err
	}
	r := &resolved{*a, skill}
	if b.Self != "" && strings.EqualFold(r.Name, b.Self) {
		return nil, problem("You are %q yourself, and agents do not call themselves. Do it with your own tools, or choose another agent: list_known_agents shows them.", b.Self), nil
	}
	if skill == "" || len(r.Skills) == 0 {
		return r, nil, nil
	}
	var ids []string
	for i := range r.Skills {
		id := r.Skills[i].ID
		if strings.EqualFold(id, skill) {
			r.skill = id
			return r, nil, nil
		}
		if guard.IsName(id) {
			ids = append(ids, id)
		}
	}
	return nil, problem("The agent %q has no skill %s. Its skills are: %s. get_agent_details says what each one does.",
		plainName(r.Name), quote(skill), strings.Join(nearest(skill, ids, 20), ", ")), nil
}

// known returns an agent by any spelling of its name. If there is none, it returns a result
// with the most similar names.
func (b *Toolbox) known(ctx context.Context, name string) (*adminjson.Agent, *llm.Result, error) {
	a, err := b.Hub.Agent(ctx, name)
	if err == nil {
		return a, nil, nil
	}
	if refused, broken := failed(b.Guard, "directory", err); broken != nil || !errors.Is(err, hubclient.ErrNotFound) {
		return nil, refused, broken
	}
	all, err := b.agents(ctx)
	if err != nil {
		return nil, nil, err
	}
	names := make([]string, len(all))
	for i := range all {
		if names[i] = all[i].Name; names[i] != name && names[i] == string(task.AgentNamed(name)) {
			return b.known(ctx, names[i])
		}
	}
	if len(names) == 0 {
		return nil, problem("There is no agent %s; there are no agents.", quote(name)), nil
	}
	return nil, problem("There is no agent %s. The nearest names are: %s. Call list_known_agents for all agents, or search_known_services with what you need.",
		quote(name), strings.Join(nearest(name, names, 3), ", ")), nil
}

// nextOf returns advice on the model's next step.
func (b *Toolbox) nextOf(sent *hubclient.Sent, t *talk, later string) string {
	if sent.Task == nil {
		return ""
	}
	id := sent.Task.ID
	switch state := sent.Task.Status.State; {
	case t.refused:
		return fmt.Sprintf("The user does not answer. Find the answer yourself and call continue_task with task_id %q, or end the task with cancel_task.", id)
	case state == a2a.TaskStateInputRequired:
		return fmt.Sprintf("The agent asks back, and waits. Find the answer, ask a person if you do not know it, and call continue_task with task_id %q.", id)
	case state == a2a.TaskStateAuthRequired:
		return fmt.Sprintf("The agent waits for a permission or a sign-in by a person. After that, call continue_task with task_id %q.", id)
	case !state.Terminal():
		return "The agent is still working. " + later
	}
	return ""
}
