package check

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// twoTasks returns two finished tasks of one context, which all requirements share.
func (p *probe) twoTasks(ctx context.Context) (first, second any, err error) {
	first, err = task(p.once("list first", func() *wire.Exchange { return p.send(ctx, givesText) }))
	if err != nil {
		return nil, nil, err
	}
	id := text(first, "contextId")
	second, err = task(p.once("list second", func() *wire.Exchange {
		return p.send(ctx, givesText, in(map[string]any{"contextId": id}))
	}))
	if err == nil && text(second, "contextId") != id {
		err = notOffered("the agent does not begin a second task in a context")
	}
	return first, second, err
}

// inContext lists the tasks in the context of the two finished tasks.
func (p *probe) inContext(ctx context.Context, edits map[string]any) (ids []string, x *wire.Exchange, err error) {
	first, second, err := p.twoTasks(ctx)
	if err != nil {
		return nil, nil, err
	}
	params := map[string]any{"contextId": text(first, "contextId")}
	set(params, edits)
	x = p.call(ctx, wire.ListTasks, params)
	return []string{text(first, "id"), text(second, "id")}, x, ok(x)
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
