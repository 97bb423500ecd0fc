package check

import (
	"context"
	"slices"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func oldMessage(b behaviour) map[string]any {
	params := b.message()
	in(map[string]any{"kind": "message", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": b.text + " please"}}})(params)
	params["configuration"] = map[string]any{"blocking": true}
	return params
}

func (p *probe) sendLegacy(ctx context.Context, b behaviour) *wire.Exchange {
	return p.once("old "+b.text, func() *wire.Exchange { return p.call(ctx, wire.LegacySend, oldMessage(b)) })
}

// oldFinished returns a task that has ended.
func (p *probe) oldFinished(ctx context.Context) (*wire.Exchange, error) {
	x := p.sendLegacy(ctx, completes)
	if err := ok(x); err != nil {
		return nil, require(err)
	}
	if text(x.Result, "status", "state") != "completed" {
		return nil, notOffered("the agent does not answer with a task that is completed")
	}
	return x, nil
}

// oldData returns a check of all answers.
func oldData(f finding) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error {
		for _, b := range []behaviour{completes, answers, givesText, givesFile, givesURL, givesData} {
			p.sendLegacy(ctx, b)
		}
		return p.judgeSeen(f)
	}
}

var oldStateNames = []string{"submitted", "working", "input-required", "completed", "canceled", "failed", "rejected", "auth-required", "unknown"}

func oldParts(path string, v any) string {
	if !isPart(path, v) {
		return ""
	}
	if k := text(v, "kind"); k != "text" && k != "file" && k != "data" || !has(v, k) {
		return "a part is " + compact(v)
	}
	return ""
}

func (p *probe) oldEvents(ctx context.Context) (*wire.Exchange, error) {
	x := p.once("old stream", func() *wire.Exchange { return p.call(ctx, wire.LegacyStream, oldMessage(streams)) })
	if len(x.Events) == 0 {
		if err := ok(x); err != nil {
			return nil, err
		}
		return nil, failf(x, "the answer is not a stream, or has no events")
	}
	return x, nil
}

func oldStreamKinds(ctx context.Context, p *probe) error {
	x, err := p.oldEvents(ctx)
	if err != nil {
		return err
	}
	for i, e := range x.Events {
		kind := text(e.Value, "kind")
		if !slices.Contains([]string{"task", "message", "status-update", "artifact-update"}, kind) {
			return failf(x, "event %d has the kind %q: %s", i+1, kind, compact(e.Envelope))
		}
		if p.iface.Binding == wire.JSONRPC && text(e.Envelope, "jsonrpc") != "2.0" {
			return failf(x, "event %d has jsonrpc %s", i+1, compact(at(e.Envelope, "jsonrpc")))
		}
	}
	return nil
}

func oldStreamFinal(ctx context.Context, p *probe) error {
	x, err := p.oldEvents(ctx)
	if err != nil {
		return require(err)
	}
	updates, final := 0, 0 // final is the index of the first final update
	for _, e := range x.Events {
		if text(e.Value, "kind") == "status-update" {
			updates++
			if at(e.Value, "final") == true && final == 0 {
				final = updates
			}
		}
	}
	switch {
	case updates == 0:
		return notOffered("the stream has no status update")
	case final == 0:
		return failf(x, "none of %d status updates is final", updates)
	case final != updates:
		return failf(x, "status update %d of %d is final", final, updates)
	case !x.Ended:
		return failf(x, "the stream did not end after the final update: %v", x.Err)
	}
	return nil
}
