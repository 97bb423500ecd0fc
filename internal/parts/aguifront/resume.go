package aguifront

import (
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// maxRecalled is how many tasks of a thread are returned to a client that reconnects.
const maxRecalled = 100

// recall answers a run without a message with the thread as the hub knows it.
func (r *run) recall() error {
	all := 1 << 20
	p, err := r.front.Engine.List(r.visit.Request.Context(), r.visit.Caller, &op.List{
		Target: op.Target{Agent: r.agent}, ContextID: r.in.threadID, PageSize: maxRecalled, HistoryLength: &all, IncludeArtifacts: true,
	})
	if err != nil {
		return err
	}
	slices.Reverse(p.Tasks) // the last changed is first
	slices.SortStableFunc(p.Tasks, func(a, b op.Answer) int { return int(a.Head.CreatedAt - b.Head.CreatedAt) })
	messages := []object{}
	for i := range p.Tasks {
		messages = append(messages, recalled(&p.Tasks[i])...)
	}
	r.started(nil)
	r.event("MESSAGES_SNAPSHOT", object{"messages": messages})
	r.event("RUN_FINISHED", object{"threadId": r.in.threadID, "runId": r.in.runID, "outcome": object{"type": "success"}})
	return r.whole()
}

// whole sends a complete stream.
func (r *run) whole() error {
	send, err := r.visit.Stream()
	if err != nil {
		return err
	}
	_ = r.flush(send) // the client may have disconnected
	return nil
}

// recalled returns the messages of a task.
func recalled(a *op.Answer) []object {
	var messages []object
	add := func(version int64, role, text string) {
		if text != "" {
			messages = append(messages, object{"id": fmt.Sprintf("%s:%d", a.Head.ID, version), "role": role, "content": text})
		}
	}
	reply := a.Fold.ReplyText()
	for lines := range a.Fold.EachMessage() {
		text := task.TextOf(lines.Body)
		switch {
		case lines.Caller:
			add(lines.Version, "user", text)
		case text != reply:
			add(lines.Version, "assistant", text)
		}
	}
	add(0, "assistant", reply)
	return messages
}

// cancel cancels the tasks whose questions the client declines, and ends the run.
func (r *run) cancel() error {
	h, err := r.cancelTask()
	if err != nil {
		return err
	}
	r.visit.About(h)
	r.started(h)
	r.event("RUN_FINISHED", object{"threadId": r.in.threadID, "runId": r.in.runID, "outcome": object{"type": "cancelled"}})
	return r.whole()
}
