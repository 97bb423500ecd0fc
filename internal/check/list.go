package check

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func listRequirements() []requirement {
	return []requirement{
		must("list.finds", "§3.1.4", "ListTasks for a context has its tasks and no others.", listFinds),
		must("list.fields", "§3.1.4", "The answer has tasks, nextPageToken, pageSize and totalSize, even if they are empty.", listFields, wire.JSONRPC, wire.REST),
		must("list.empty", "§3.1.4", "A context without tasks is an empty list, not an error.", listEmpty),
		must("list.no-artifacts", "§3.1.4", "Unless they are asked for, tasks have no artifacts field.", listNoArtifacts),
		must("list.artifacts", "§3.1.4", "Artifacts that are asked for are there.", listArtifacts),
		must("list.order", "§3.1.4", "Tasks come with the latest status first.", listOrder),
		must("list.status", "§3.1.4", "A status as filter leaves only tasks in that state.", listStatus),
		must("list.pages", "§3.1.4", "The page tokens lead through all tasks, each of them once.", listPages),
		should("list.bad-token", "§3.1.4", "A page token that the server did not make is refused as invalid.", listBadToken),
	}
}

// inContext lists the tasks of the context of two finished tasks.
func (p *probe) inContext(ctx context.Context, edits map[string]any) (ids []string, x *wire.Exchange, err error) {
	first := p.once("list first", func() *wire.Exchange { return p.say(ctx, givesText) })
	t, err := task(first)
	if err != nil {
		return nil, nil, err
	}
	id := text(t, "contextId")
	second := p.once("list second", func() *wire.Exchange {
		return p.say(ctx, givesText, in(map[string]any{"contextId": id}))
	})
	other, err := task(second)
	if err != nil {
		return nil, nil, err
	}
	if text(other, "contextId") != id {
		return nil, nil, notOffered("the agent does not begin a second task in a context")
	}
	params := map[string]any{"contextId": id}
	set(params, edits)
	x = p.call(ctx, wire.ListTasks, params)
	return []string{text(t, "id"), text(other, "id")}, x, ok(x)
}

func listFinds(ctx context.Context, p *probe) error {
	want, x, err := p.inContext(ctx, nil)
	if err != nil {
		return err
	}
	context := text(p.kept["list first"].Result, "task", "contextId")
	found := map[string]bool{}
	for _, t := range list(x.Result, "tasks") {
		found[text(t, "id")] = true
		if got := text(t, "contextId"); got != context {
			return failf(x, "the list for context %q has a task of %q", context, got)
		}
	}
	for _, id := range want {
		if !found[id] {
			return failf(x, "the list lacks task %q", id)
		}
	}
	return nil
}

func listFields(ctx context.Context, p *probe) error {
	x := p.call(ctx, wire.ListTasks, map[string]any{"contextId": "check-" + unknownID()})
	if err := ok(x); err != nil {
		return err
	}
	if _, isList := at(x.Result, "tasks").([]any); !isList {
		return failf(x, "tasks is %s, want an array", compact(at(x.Result, "tasks")))
	}
	if _, isText := at(x.Result, "nextPageToken").(string); !isText {
		return failf(x, "nextPageToken is %s, want a string", compact(at(x.Result, "nextPageToken")))
	}
	for _, name := range []string{"pageSize", "totalSize"} {
		if _, isNumber := at(x.Result, name).(json.Number); !isNumber {
			return failf(x, "%s is %s, want a number", name, compact(at(x.Result, name)))
		}
	}
	return nil
}

func listEmpty(ctx context.Context, p *probe) error {
	x := p.call(ctx, wire.ListTasks, map[string]any{"contextId": "check-" + unknownID()})
	if err := ok(x); err != nil {
		return err
	}
	if n := len(list(x.Result, "tasks")); n > 0 {
		return failf(x, "a context that does not exist has %d tasks", n)
	}
	return nil
}

func listNoArtifacts(ctx context.Context, p *probe) error {
	_, x, err := p.inContext(ctx, nil)
	if err != nil {
		return require(err)
	}
	for _, t := range list(x.Result, "tasks") {
		if has(t, "artifacts") {
			return failf(x, "a task has the field artifacts")
		}
	}
	return nil
}

func listArtifacts(ctx context.Context, p *probe) error {
	_, x, err := p.inContext(ctx, map[string]any{"includeArtifacts": true})
	if err != nil {
		return require(err)
	}
	if len(list(p.kept["list first"].Result, "task", "artifacts")) == 0 {
		return notOfferedf("the agent has no %s", givesText.text)
	}
	for _, t := range list(x.Result, "tasks") {
		if len(list(t, "artifacts")) == 0 {
			return failf(x, "a task lacks its artifacts")
		}
	}
	return nil
}

func listOrder(ctx context.Context, p *probe) error {
	_, x, err := p.inContext(ctx, nil)
	if err != nil {
		return require(err)
	}
	var before time.Time
	for i, t := range list(x.Result, "tasks") {
		when, err := time.Parse(time.RFC3339Nano, text(t, "status", "timestamp"))
		if err != nil {
			return notOffered("a task has no timestamp that can be read")
		}
		if i > 0 && when.After(before) {
			return failf(x, "task %d of the list is later than the one above it", i+1)
		}
		before = when
	}
	return nil
}

func listStatus(ctx context.Context, p *probe) error {
	const wanted = "TASK_STATE_INPUT_REQUIRED"
	_, x, err := p.inContext(ctx, map[string]any{"status": wanted})
	if err != nil {
		return require(err)
	}
	for _, t := range list(x.Result, "tasks") {
		if s := text(t, "status", "state"); s != wanted {
			return failf(x, "the list for %s has a task that is %s", wanted, s)
		}
	}
	return nil
}

func listPages(ctx context.Context, p *probe) error {
	want, x, err := p.inContext(ctx, map[string]any{"pageSize": 1})
	if err != nil {
		return require(err)
	}
	seen := map[string]bool{}
	context := text(p.kept["list first"].Result, "task", "contextId")
	for range len(want) + 8 {
		tasks := list(x.Result, "tasks")
		if len(tasks) > 1 {
			return failf(x, "a page of size 1 has %d tasks", len(tasks))
		}
		for _, t := range tasks {
			if seen[text(t, "id")] {
				return failf(x, "task %q is on two pages", text(t, "id"))
			}
			seen[text(t, "id")] = true
		}
		token := text(x.Result, "nextPageToken")
		if token == "" {
			break
		}
		x = p.call(ctx, wire.ListTasks, map[string]any{"contextId": context, "pageSize": 1, "pageToken": token})
		if err := ok(x); err != nil {
			return err
		}
	}
	for _, id := range want {
		if !seen[id] {
			return failf(x, "task %q is on no page", id)
		}
	}
	return nil
}

func listBadToken(ctx context.Context, p *probe) error {
	return invalid(p.call(ctx, wire.ListTasks, map[string]any{"pageToken": "check not a token"}))
}
