package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

// ruled returns a policy of rules.
func ruled(t testing.TB, list ...policy.Rule) *policy.Policy {
	t.Helper()
	p, err := policy.New(policy.Rules{List: list})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// colleague returns a caller of the organisation acme with roles.
func colleague(id string, roles ...string) *op.Caller {
	return &op.Caller{Principal: &auth.Principal{ID: id, Org: "acme", Roles: roles}}
}

// operation is an operation of the protocol on a task of the target's agent.
type operation struct {
	op      policy.Op
	perform func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error
}

// operations are all operations on an existing task.
var operations = []operation{
	{policy.Get, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		_, err := e.Get(ctx, c, &op.Get{Target: at, ID: id})
		return err
	}},
	{policy.Send, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		r := now(reply(id, "more"))
		r.Target = at
		_, err := e.Send(ctx, c, r)
		return err
	}},
	{policy.Stream, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		r := reply(id, "more")
		r.Target = at
		s, err := e.Stream(ctx, c, r)
		if err == nil {
			s.Close()
		}
		return err
	}},
	{policy.Subscribe, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		s, err := e.Subscribe(ctx, c, &op.Subscribe{Target: at, ID: id})
		if err == nil {
			s.Close()
		}
		return err
	}},
	{policy.PushCreate, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		r := config(id, "a")
		r.Target = at
		_, err := e.CreatePush(ctx, c, r)
		return err
	}},
	{policy.PushGet, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		_, err := e.GetPush(ctx, c, &op.PushRef{Target: at, TaskID: id, ID: "a"})
		return err
	}},
	{policy.PushList, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		_, err := e.ListPush(ctx, c, &op.PushList{Target: at, TaskID: id})
		return err
	}},
	{policy.PushDelete, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		return e.DeletePush(ctx, c, &op.PushRef{Target: at, TaskID: id, ID: "a"})
	}},
	{policy.Get, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		if _, ok := e.Dialect(ctx, c, id); ok != (c.Principal.ID == "ann" || c.Principal.ID == "carl") {
			return fmt.Errorf("the dialect of the task is known to %s: %v", c.Principal.ID, ok)
		}
		if at.Agent != "" {
			_, err := e.Get(ctx, c, &op.Get{Target: at, ID: id}) // trees have no agent in their path
			return err
		}
		_, err := e.Tree(ctx, c, id)
		return err
	}},
	{policy.Get, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		if at.Agent != "" {
			_, err := e.Get(ctx, c, &op.Get{Target: at, ID: id}) // logs have no agent in their path
			return err
		}
		s, err := e.OpenLog(ctx, c, id, 0)
		if err == nil {
			s.Close()
		}
		return err
	}},
	{policy.Cancel, func(ctx context.Context, e *engine.Engine, c *op.Caller, at op.Target, id a2a.TaskID) error {
		_, err := e.Cancel(ctx, c, &op.Cancel{Target: at, ID: id})
		return err
	}},
}

// open returns an engine with a policy whose agent works until it is stopped, and a task there
// of the organisation acme.
func open(t *testing.T, rules ...policy.Rule) (*bench, a2a.TaskID) {
	t.Helper()
	founder := policy.Rule{Ops: []string{"*"}, Callers: []string{"ann"}}
	b, _ := pushing(t, engine.Config{Policy: ruled(t, append(rules, founder)...), Limits: limits.Limits{DrainTimeout: -1}}, untilStopped(nil))
	a, err := b.Send(t.Context(), colleague("ann"), now(text("go")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.CreatePush(t.Context(), colleague("ann"), config(a.Head.ID, "a")); err != nil {
		t.Fatal(err)
	}
	return b, a.Head.ID
}

// Of two callers with the same tasks, one may use each operation and the other may not.
func TestPolicyOnEveryOperation(t *testing.T) {
	t.Parallel()
	for i := range operations {
		o := &operations[i]
		t.Run(fmt.Sprint(i, " ", o.op), func(t *testing.T) {
			t.Parallel()
			b, id := open(t,
				policy.Rule{Ops: []string{o.op.String()}, Roles: []string{"one"}, Agents: []string{"main"}},
				policy.Rule{Ops: []string{"*"}, Roles: []string{"others"}},
				policy.Rule{Deny: true, Ops: []string{o.op.String()}, Roles: []string{"others"}},
			)
			none, others, unknown := colleague("unknown"), colleague("bob", "others"), caller("stranger")
			for _, at := range []op.Target{{}, {Agent: "main"}} {
				var missing a2a.TaskID = "0192aaaa-0000-7000-8000-000000000000"
				foreign := o.perform(t.Context(), b.Engine, unknown, at, id)
				want := a2a.ErrTaskNotFound
				if at.Agent != "" {
					want = a2a.ErrUnauthorized
				}
				for _, id := range []a2a.TaskID{id, missing} {
					err := o.perform(t.Context(), b.Engine, none, at, id)
					if !errors.Is(err, want) || err.Error() != foreign.Error() {
						t.Errorf("%v at %q of %s by a caller without a rule: %v; of a foreign task: %v", o.op, at.Agent, id, err, foreign)
					}
				}
				err := o.perform(t.Context(), b.Engine, others, at, id)
				if o.op != policy.Get && (!errors.Is(err, a2a.ErrUnauthorized) || err.Error() != o.op.String()+` on agent "main" is not allowed`) {
					t.Errorf("%v by a caller that it alone is denied to: %v", o.op, err)
				}
				if o.op == policy.Get && !errors.Is(err, want) {
					t.Errorf("%v by a caller that it alone is denied to: %v", o.op, err)
				}
			}
			if err := o.perform(t.Context(), b.Engine, none, op.Target{Agent: "ghost"}, id); !errors.Is(err, a2a.ErrUnauthorized) {
				t.Errorf("%v at an unknown agent: %v, want the error of a known one", o.op, err)
			}
			if err := o.perform(t.Context(), b.Engine, colleague("carl", "one"), op.Target{}, id); err != nil {
				t.Errorf("%v by a caller that may do nothing else: %v", o.op, err)
			}
		})
	}
}

// These tests cover every method for callers: a new method is added to one of them before it is
// added to this list.
func TestPolicyKnowsEveryMethod(t *testing.T) {
	t.Parallel()
	want := []string{
		"Aliased", "Cancel", "CreatePush", "DeletePush", "Dialect", "Get", "GetPush", "List", "ListPush", "OpenLog", "Part",
		"Send", "Stream", "Subscribe", "Tree", "WatchTree",
	}
	var got []string
	for e, i := reflect.TypeFor[*engine.Engine](), 0; i < e.NumMethod(); i++ {
		m := e.Method(i)
		for j := range m.Type.NumIn() {
			if m.Type.In(j) == reflect.TypeFor[*op.Caller]() {
				got = append(got, m.Name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("methods for callers (-want +got):\n%s", diff)
	}
}

// A refused message leaves no trace, and no agent receives it.
func TestRefusedMessagesLeaveNothing(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		ran.Add(1)
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	store := new(counting)
	b := start(t, engine.Config{
		Store: store, Idempotency: engine.Idempotency{Header: true},
		Policy: ruled(t,
			policy.Rule{Ops: []string{"*"}, Who: policy.Authenticated, Agents: []string{"other"}},
			policy.Rule{Ops: []string{"get", "list"}, Who: policy.Authenticated},
		),
	}, x)
	b.register("other", words("ok"))
	for name, change := range map[string]func(*op.Send){
		"default agent": func(*op.Send) {},
		"by name":       func(r *op.Send) { r.Agent = "main" },
		"by tenant":     func(r *op.Send) { r.Tenant = "main" },
		"by skill":      func(r *op.Send) { r.Message.Skill = "main" },
		"no such agent": func(r *op.Send) { r.Agent = "ghost" },
		"with a key":    func(r *op.Send) { r.Key = "k" },
		"own id":        func(r *op.Send) { r.Message.TaskID, r.NewIDs = "mine", true },
		"once":          func(r *op.Send) { r.Message.TaskID, r.NewIDs, r.Once = "mine", true, true },
		"resuming":      func(r *op.Send) { r.Message.ContextID, r.Resume = "c", true },
	} {
		r := text("hello")
		change(r)
		if _, err := b.Send(t.Context(), alice, r); !errors.Is(err, a2a.ErrUnauthorized) {
			t.Errorf("%s: Send: %v, want it refused", name, err)
		}
		r = text("hello")
		change(r)
		if s, err := b.Stream(t.Context(), alice, r); !errors.Is(err, a2a.ErrUnauthorized) {
			t.Errorf("%s: Stream: %v, want it refused", name, err)
			s.Close()
		}
	}
	if n, m := store.appends.Load(), ran.Load(); n+m != 0 {
		t.Errorf("%d changes were stored, and the agent has run %d times, want neither", n, m)
	}
	r := text("hello")
	r.Agent = "other"
	b.send(r)
}

// Rules on skills apply only to messages that create a task. Agents that a caller may not use
// are not chosen, and errors do not list their skills.
func TestSkillsOfAPolicy(t *testing.T) {
	t.Parallel()
	asking := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
	}}
	b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}, Policy: ruled(t,
		policy.Rule{Ops: []string{"send", "get"}, Callers: []string{"alice"}, Agents: []string{"files"}, Skills: []string{"read"}},
		policy.Rule{Ops: []string{"send", "get"}, Callers: []string{"alice"}, Agents: []string{"second"}},
	)}, words("never"))
	for name, skills := range map[task.Agent][]string{"files": {"read", "erase"}, "hidden": {"shared", "secret"}, "second": {"shared"}} {
		card := &a2a.AgentCard{Name: string(name)}
		for _, s := range skills {
			card.Skills = append(card.Skills, a2a.AgentSkill{ID: s})
		}
		if err := b.Register(engine.Agent{Name: name, Card: card, Executor: asking}); err != nil {
			t.Fatal(err)
		}
	}
	send := func(agent task.Agent, skill string) (*engine.Answer, error) {
		r := text("do")
		r.Agent, r.Message.Skill = agent, skill
		return b.Send(t.Context(), alice, r)
	}
	for _, at := range []task.Agent{"files", ""} {
		a, err := send(at, "READ")
		if err != nil || a.Head.Agent != "files" {
			t.Fatalf("read at %q: %v, %v", at, a, err)
		}
		if _, err := b.Send(t.Context(), alice, reply(a.Head.ID, "this")); err != nil {
			t.Errorf("going on: %v", err)
		}
		more := reply(a.Head.ID, "and erase")
		more.Message.Skill = "erase"
		if _, err := b.Send(t.Context(), alice, more); !errors.Is(err, a2a.ErrUnauthorized) {
			t.Errorf("going on with another skill: %v", err)
		}
	}
	for at, skill := range map[task.Agent]string{"files": "", "": "erase"} {
		if _, err := send(at, skill); !errors.Is(err, a2a.ErrUnauthorized) {
			t.Errorf("skill %q at %q: %v, want it refused", skill, at, err)
		}
	}
	if a, err := send("", "shared"); err != nil || a.Head.Agent != "second" {
		t.Errorf("a skill of two agents: %v, %v", a, err)
	}
	for _, skill := range []string{"secret", "nonsense"} {
		_, err := send("", skill)
		if !errors.Is(err, a2a.ErrInvalidParams) || strings.Contains(err.Error(), "secret\" ,") || strings.Contains(strings.TrimPrefix(err.Error(), "metadata.skill: no agent here has the skill \""+skill), "secret") {
			t.Errorf("skill %q: %v, want no hidden skill in it", skill, err)
		}
	}
}

// A list has the tasks of those agents that the caller may list, with their total and on all
// pages.
// TestListAll checks that the list of all owners has every task once, and that its page tokens
// are for no other list.
func TestListAll(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words("a"))
	want := map[a2a.TaskID]task.Owner{}
	for i := range 13 {
		who := colleague(fmt.Sprint("caller", i%4))
		who.Principal.Org = []string{"", "acme"}[i%2]
		r := text(fmt.Sprint("m", i))
		r.Task = true
		a, err := b.Send(t.Context(), who, r)
		if err != nil {
			t.Fatal(err)
		}
		want[a.Head.ID] = who.Principal.Owner()
	}
	got, q := map[a2a.TaskID]task.Owner{}, &op.List{PageSize: 5}
	for pages := 1; ; pages++ {
		page, err := b.ListAll(t.Context(), q)
		if err != nil || page.TotalSize != len(want) || pages > 3 {
			t.Fatalf("page %d: ListAll = %+v, %v; want %d tasks in all", pages, page, err, len(want))
		}
		for i := range page.Tasks {
			got[page.Tasks[i].Head.ID] = page.Tasks[i].Head.Owner
		}
		if q.PageToken = page.NextPageToken; q.PageToken == "" {
			break
		}
		if _, err := b.List(t.Context(), colleague("caller0"), q); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("a caller's List with a token of all owners = %v, want ErrInvalidParams", err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks with their owners (-want +got):\n%s", diff)
	}
	if _, err := b.ListAll(t.Context(), &op.List{PageSize: 5, ContextID: "c"}); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("ListAll with a context = %v, want ErrInvalidParams", err)
	}
	listOfOne(t, b, want)
}

// listOfOne checks the lists of one owner, of one context, of the beginning of an id, and until a
// time.
func listOfOne(t *testing.T, b *bench, all map[a2a.TaskID]task.Owner) {
	t.Helper()
	owner, ids := colleague("caller0").Principal.Owner(), 0
	var one a2a.TaskID
	for id, o := range all {
		if o == owner {
			ids, one = ids+1, id
		}
	}
	list := func(want int, q op.List) *engine.Answer {
		t.Helper()
		q.PageSize = 100
		page, err := b.ListAll(t.Context(), &q)
		if err != nil || len(page.Tasks) != want {
			t.Fatalf("ListAll(%+v) = %+v, %v; want %d tasks", q, page, err, want)
		}
		for i := range page.Tasks {
			if o := page.Tasks[i].Head.Owner; q.Owner != "" && o != q.Owner {
				t.Errorf("ListAll(%+v) has a task of %s", q, o)
			}
		}
		if want == 0 {
			return nil
		}
		return &engine.Answer{Answer: page.Tasks[0]}
	}
	first := list(ids, op.List{Owner: owner})
	list(1, op.List{Owner: owner, ContextID: first.Head.ContextID})
	list(len(all), op.List{Until: first.Head.StatusAt + 100_000})
	list(0, op.List{Owner: owner, Until: 1})
	if a := list(1, op.List{IDPrefix: string(one)}); a.Head.ID != one {
		t.Errorf("the id %s leads to %s", one, a.Head.ID)
	}
	list(0, op.List{Owner: "none", IDPrefix: string(one)})
}

func TestListsOfAPolicy(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Policy: ruled(t,
		policy.Rule{Ops: []string{"*"}, Callers: []string{"ann"}},
		policy.Rule{Ops: []string{"list"}, Callers: []string{"bob"}, Agents: []string{"main", "second"}},
	)}, words("a"))
	b.register("second", words("b"))
	b.register("hidden", words("c"))
	var want []a2a.TaskID
	for i := range 12 {
		r := text(fmt.Sprint("m", i))
		r.Agent = []task.Agent{"main", "hidden", "second"}[i%3]
		r.Task = true
		a, err := b.Send(t.Context(), colleague("ann"), r)
		if err != nil {
			t.Fatal(err)
		}
		if r.Agent != "hidden" {
			want = append(want, a.Head.ID)
		}
	}
	var got []a2a.TaskID
	for token := ""; ; {
		page, err := b.List(t.Context(), colleague("bob"), &op.List{PageSize: 3, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		if page.TotalSize != len(want) {
			t.Errorf("total is %d, want %d", page.TotalSize, len(want))
		}
		for i := range page.Tasks {
			got = append(got, page.Tasks[i].Head.ID)
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	slices.Reverse(want)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	for agent, refused := range map[task.Agent]bool{"main": false, "hidden": true, "ghost": true} {
		_, err := b.List(t.Context(), colleague("bob"), &op.List{Target: op.Target{Agent: agent}, PageSize: 3})
		if errors.Is(err, a2a.ErrUnauthorized) != refused {
			t.Errorf("list of %s: %v", agent, err)
		}
	}
	page, err := b.List(t.Context(), colleague("carl"), &op.List{PageSize: 3})
	if err != nil || len(page.Tasks)+page.TotalSize != 0 {
		t.Errorf("a caller without a rule lists %d tasks of %d: %v", len(page.Tasks), page.TotalSize, err)
	}
}

// Delegations between agents need no rule for each caller, unless the policy requires it; a
// denial always applies.
func TestDelegationsUnderAPolicy(t *testing.T) {
	t.Parallel()
	mine := policy.Rule{Ops: []string{"send", "get"}, Who: policy.Authenticated, Agents: []string{"main"}}
	for name, tt := range map[string]struct {
		rules policy.Rules
		want  task.State
	}{
		"trusted": {policy.Rules{List: []policy.Rule{mine}}, task.Completed},
		"checked": {policy.Rules{List: []policy.Rule{mine}, CheckDelegations: true}, task.Failed},
		"denied":  {policy.Rules{List: []policy.Rule{mine, {Deny: true, Ops: []string{"send"}, Callers: []string{"alice"}, Agents: []string{"other"}}}}, task.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := policy.New(tt.rules)
			if err != nil {
				t.Fatal(err)
			}
			b := start(t, engine.Config{Policy: p}, asks("other", "", nil))
			b.register("other", words("yes"))
			a := b.send(text("go"))
			if a.Head.State != tt.want {
				t.Errorf("the task is %v, want %v: %s", a.Head.State, tt.want, statusText(t, a))
			}
			if tt.want == task.Failed && !strings.Contains(statusText(t, a), `send on agent "other" is not allowed`) {
				t.Errorf("the status of the task is %q", statusText(t, a))
			}
		})
	}
}

// A request that an agent's tool sends with the context of a run counts as the caller's own.
func TestToolsUnderAPolicy(t *testing.T) {
	t.Parallel()
	b := new(bench)
	b = start(t, engine.Config{
		Policy: ruled(t, policy.Rule{Ops: []string{"send", "get"}, Who: policy.Authenticated, Agents: []string{"main"}}),
	}, sends(&b, alice, func() *op.Send { return text("hi") }))
	b.register("other", words("never"))
	a := b.send(text("go"))
	if got := statusText(t, a); a.Head.State != task.Failed || got != `send on agent "other" is not allowed` {
		t.Errorf("the task is %v with the text %q", a.Head.State, got)
	}
}

// Requests for extended cards are checked by the name of the agent, whether it exists or not.
func TestExtendedCardsUnderAPolicy(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{
		Extended: engine.ExtendedCards{Authenticated: true, Token: "0123456789abcdef"},
		Policy:   ruled(t, policy.Rule{Ops: []string{"card.extended"}, Callers: []string{"ann"}, Agents: []string{"main"}}),
	}, words("a"))
	ask := func(v *engine.CardCaller, agent task.Agent) error {
		_, err := b.ExtendedCard(v, &op.ExtendedCard{Target: op.Target{Agent: agent}})
		return err
	}
	ann, bob := &engine.CardCaller{Principal: colleague("ann").Principal}, &engine.CardCaller{Principal: colleague("bob").Principal}
	token := &engine.CardCaller{Token: true, Err: auth.ErrUnauthenticated}
	if err := ask(ann, ""); err != nil {
		t.Errorf("allowed: %v", err)
	}
	for _, agent := range []task.Agent{"", "main", "ghost"} {
		for _, v := range []*engine.CardCaller{bob, token} {
			if err := ask(v, agent); !errors.Is(err, a2a.ErrUnauthorized) {
				t.Errorf("extended card of %q for %v: %v, want it refused", agent, v.Principal, err)
			}
		}
	}
}
