package check

import (
	"context"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// others returns the interfaces after the first; notOffered if there are none.
func (r *run) others() (first *probe, rest []*probe, err error) {
	var all []*probe
	for _, f := range r.targets {
		if f.probe != nil && f.iface.Version == version1 {
			all = append(all, f.probe)
		}
	}
	if len(all) < 2 {
		return nil, nil, notOffered("there is only one interface of v1.0")
	}
	return all[0], all[1:], nil
}

func acrossTask(ctx context.Context, p *probe) error {
	first, rest, err := p.run.others()
	if err != nil {
		return err
	}
	t, err := task(first.send(ctx, givesText))
	if err != nil {
		return err
	}
	params := map[string]any{"id": text(t, "id")}
	want := first.call(ctx, wire.GetTask, params)
	if err := ok(want); err != nil {
		return require(err)
	}
	for _, other := range rest {
		got := other.call(ctx, wire.GetTask, params)
		if err := ok(got); err != nil {
			return with(err, want)
		}
		if !equal(canonical(got.Result), canonical(want.Result)) {
			return with(failf(got, "the task is not the same over %s as over %s", other.iface, first.iface), want)
		}
	}
	return nil
}

// canonical normalises timestamps and empty fields, which may differ between bindings.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, field := range v {
			if c := canonical(field); !empty(c) {
				m[name] = c
			}
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = canonical(v[i])
		}
		return l
	case string:
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil && strings.HasSuffix(v, "Z") {
			return t.Format(time.RFC3339Nano)
		}
	}
	return v
}

// empty reports whether v is a value that gRPC does not transmit.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	}
	return false
}

func acrossError(ctx context.Context, p *probe) error {
	first, rest, err := p.run.others()
	if err != nil {
		return err
	}
	params := map[string]any{"id": unknownID()}
	want := first.call(ctx, wire.CancelTask, params)
	if want.Fault == nil {
		return notOffered("canceling a task that does not exist is not an error")
	}
	for _, other := range rest {
		got := other.call(ctx, wire.CancelTask, params)
		if got.Fault == nil || got.Fault.Reason() != want.Fault.Reason() {
			return with(failf(got, "over %s the same error has another reason than over %s, %q",
				other.iface, first.iface, want.Fault.Reason()), want)
		}
	}
	return nil
}
