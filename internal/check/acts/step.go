package acts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/check/wire"
)

// maxAttempts bounds a repeat, regardless of the file.
const maxAttempts = 1000

// step runs one step as often as its repeat requires.
func (r *run) step(ctx context.Context, s *step) error {
	if err := backoff.Sleep(ctx, time.Duration(s.DelayMS)*time.Millisecond); err != nil {
		return err
	}
	if s.Repeat == nil {
		return r.once(ctx, s)
	}
	until, err := parseCondition(s.Repeat.Until)
	if err != nil {
		return unclear(err.Error())
	}
	attempts, delay := 10, time.Second
	if s.Repeat.MaxAttempts > 0 {
		attempts = min(s.Repeat.MaxAttempts, maxAttempts)
	}
	if s.Repeat.DelayMS != nil {
		delay = time.Duration(*s.Repeat.DelayMS) * time.Millisecond
	}
	for i := range attempts {
		if err := r.once(ctx, s); err != nil {
			return err
		}
		if done, err := until.holds(r.scope.steps[s.ID].root); done || err != nil {
			return err
		}
		if i < attempts-1 {
			if err := backoff.Sleep(ctx, delayBefore(s.Repeat.Backoff, delay, i)); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("after %d attempts it is not true that %s", attempts, s.Repeat.Until)
}

func delayBefore(kind string, delay time.Duration, attempt int) time.Duration {
	switch kind {
	case "linear":
		return delay * time.Duration(attempt+1)
	case "exponential":
		return delay << min(attempt, 10)
	}
	return delay
}

// once runs a step and checks the answer.
func (r *run) once(ctx context.Context, s *step) error {
	switch {
	case s.Assertion != nil:
		r.scope.steps[s.ID] = &answer{}
		return r.assertions(ctx, []assertion{*s.Assertion})
	case s.Client != nil:
		return r.client(ctx, s)
	}
	x, err := r.exchange(ctx, s)
	if err != nil {
		return err
	}
	r.last = x
	r.watch(x)
	a := answerOf(x, s.Raw != nil)
	r.scope.steps[s.ID] = a
	if err := r.judge(s, x, a); err != nil {
		return err
	}
	if err := r.capture(s, a); err != nil {
		return err
	}
	return r.assertions(ctx, s.Assertions)
}

// exchange sends the request of a step.
func (r *run) exchange(ctx context.Context, s *step) (*wire.Exchange, error) {
	limit := time.Duration(0)
	if s.Stream != nil {
		limit = time.Duration(s.Stream.TimeoutMS) * time.Millisecond
	}
	if s.Raw != nil {
		return r.raw(ctx, s, limit)
	}
	params, err := r.object(s.Params)
	if err != nil {
		return nil, err
	}
	op := operations[s.Operation]
	if op == agentCard && params["extended"] == true {
		op = wire.ExtendedCard
	}
	if op == agentCard {
		return r.HTTP.Do(ctx, wire.Plain{Method: "GET", URL: r.CardURL}), nil
	}
	return r.Caller.Call(ctx, wire.Request{Op: op, Params: translate(op, params), Timeout: limit}), nil
}

// answerOf returns the part of an exchange that assertions read: the result of an operation, or
// the body of a raw step.
func answerOf(x *wire.Exchange, raw bool) *answer {
	a := &answer{root: x.Result, status: x.Status}
	headers := map[string]any{}
	for name, values := range x.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	a.headers = headers
	switch {
	case raw || x.Op == "":
		a.root = x.Envelope
	case x.Fault != nil && len(x.Events) == 0:
		a.root = map[string]any{"error": x.Fault.Raw}
	case len(x.Events) > 0:
		events := make([]any, len(x.Events))
		for i := range x.Events {
			events[i] = x.Events[i].Value
		}
		a.root = map[string]any{"events": events}
	}
	return a
}

// judge checks an answer against the step's expectations.
func (r *run) judge(s *step, x *wire.Exchange, a *answer) error {
	switch {
	case errors.Is(x.Err, wire.ErrInexpressible):
		return unclear(x.Err.Error())
	case x.Err != nil && (len(x.Events) == 0 || s.Stream == nil):
		return fmt.Errorf("there is no answer: %w", x.Err)
	case s.ExpectError != nil:
		want, err := r.object(s.ExpectError)
		if err != nil {
			return err
		}
		return expectFault(want, x.Fault)
	}
	expect, err := r.object(s.Expect)
	if err != nil {
		return err
	}
	if x.Fault != nil && s.Raw == nil && !expectsError(expect) {
		return fmt.Errorf("the answer is an %v", x.Fault)
	}
	if err := matchExpect(expect, x, a); err != nil {
		return err
	}
	if s.Stream != nil {
		return r.stream(s, x)
	}
	return nil
}

// expectsError reports whether expect is an error expectation, which some files write without
// expect_error.
func expectsError(expect map[string]any) bool {
	_, outside := expect["error"]
	body, _ := expect["body"].(map[string]any)
	_, inside := body["error"]
	return expect["status"] == "error" || outside || inside
}

// matchExpect checks the status and the body. All other members of expect apply to the body.
func matchExpect(expect map[string]any, x *wire.Exchange, a *answer) error {
	status, has := expect["status"]
	switch {
	case has && status == "error":
		if x.Fault == nil {
			return &mismatch{"", "an error", shown(a.root)}
		}
	case has && x.Status != 0:
		if err := match("status", status, value{number(x.Status), true}); err != nil {
			return err
		}
	}
	body, _ := expect["body"].(map[string]any)
	beside := maps.Clone(expect)
	delete(beside, "status")
	delete(beside, "body")
	for _, want := range []map[string]any{body, beside} {
		if len(want) == 0 {
			continue
		}
		if err := match("", want, value{a.root, a.root != nil}); err != nil {
			return err
		}
	}
	return nil
}

// capture stores values for later steps.
func (r *run) capture(s *step, a *answer) error {
	for _, name := range slices.Sorted(maps.Keys(s.Capture)) {
		got, err := single(a.root, s.Capture[name])
		if err != nil {
			return unclear(err.Error())
		}
		if !got.there {
			return &mismatch{s.Capture[name], "present, to be captured", "absent"}
		}
		r.captured[s.ID+"."+name] = got.v
	}
	return nil
}

// assertions evaluates assertions on values of any source.
func (r *run) assertions(ctx context.Context, all []assertion) error {
	for i := range all {
		if err := r.assert(ctx, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) assert(ctx context.Context, a *assertion) error {
	if strings.Contains(a.Source, "{{webhook.") {
		if err := r.awaitWebhook(ctx); err != nil {
			return err
		}
	}
	source := a.Source
	if !strings.Contains(source, "{{") {
		source = "{{" + source + "}}"
	}
	root, err := r.fill(source)
	if err != nil {
		return err
	}
	if a.Match != nil {
		got, err := single(root, a.Path)
		if err != nil {
			return unclear(err.Error())
		}
		want, err := r.fill(a.Match)
		if err != nil {
			return err
		}
		if err := match(a.Path, want, got); err != nil {
			return err
		}
	}
	return r.collections(a, root)
}

// awaitWebhook waits for the first request to the webhook of the test.
func (r *run) awaitWebhook(ctx context.Context) error {
	if r.Webhook == nil || !slices.Contains(r.test.Needs, "webhook_endpoint") {
		return unclear("the test does not declare webhook_endpoint")
	}
	got := r.Webhook.Wait(ctx, r.hints["webhookUrl"])
	r.scope.steps["webhook"] = &answer{root: got}
	if len(got) == 0 {
		return errors.New("the webhook received no notification")
	}
	return nil
}

// collections evaluates assertions on the elements of arrays.
func (r *run) collections(a *assertion, root any) error {
	for _, c := range []struct {
		*collection
		name  string
		holds func(matching, all int) bool
	}{
		{a.Any, "at least one", func(matching, _ int) bool { return matching > 0 }},
		{a.All, "every one", func(matching, all int) bool { return matching == all }},
		{a.None, "none", func(matching, _ int) bool { return matching == 0 }},
	} {
		if c.collection == nil {
			continue
		}
		found, err := Lookup(root, c.Path)
		if err != nil {
			return unclear(err.Error())
		}
		want, err := r.fill(c.Match)
		if err != nil {
			return err
		}
		matching := 0
		for _, v := range found {
			if match(c.Path, want, value{v, true}) == nil {
				matching++
			}
		}
		if !c.holds(matching, len(found)) {
			return &mismatch{c.Path, c.name + " like " + shown(want), shown(found)}
		}
	}
	return nil
}
