package policy_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/policy"
)

// made returns a policy with the given rules.
func made(t testing.TB, list ...policy.Rule) *policy.Policy {
	t.Helper()
	p, err := policy.New(policy.Rules{List: list})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var (
	ann    = &auth.Principal{ID: "ann", Org: "acme", Roles: []string{"partner"}}
	bob    = &auth.Principal{ID: "corp:bob"}
	admin  = &auth.Principal{ID: "root", Roles: []string{auth.RoleAdmin}}
	nobody = &auth.Principal{ID: auth.Local}
)

func ops(names ...string) []string { return names }

func TestDecisions(t *testing.T) {
	t.Parallel()
	send := policy.Request{Op: policy.Send, Agent: "echo", Begins: true, Skills: []string{"echo"}}
	about := func(o policy.Op, agent string) policy.Request {
		return policy.Request{Op: o, Agent: policyAgent(agent)}
	}
	begin := func(skill string) policy.Request {
		return policy.Request{Op: policy.Send, Agent: "files", Begins: true, Skill: skill, Skills: []string{"read", "delete"}}
	}
	for name, tt := range map[string]struct {
		rules  []policy.Rule
		caller *auth.Principal
		what   policy.Request
		want   bool
	}{
		"nothing is allowed that no rule allows": {nil, ann, send, false},
		"anybody":                                {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody}}, nobody, send, true},
		"another operation":                      {[]policy.Rule{{Ops: ops("get", "stream"), Who: policy.Anybody}}, ann, send, false},
		"authenticated, anonymous":               {[]policy.Rule{{Ops: ops("send"), Who: policy.Authenticated}}, nobody, send, false},
		"authenticated":                          {[]policy.Rule{{Ops: ops("send"), Who: policy.Authenticated}}, bob, send, true},
		"anonymous, authenticated":               {[]policy.Rule{{Ops: ops("send"), Who: policy.Anonymous}}, bob, send, false},
		"caller":                                 {[]policy.Rule{{Ops: ops("send"), Callers: []string{"ann"}}}, ann, send, true},
		"another caller":                         {[]policy.Rule{{Ops: ops("send"), Callers: []string{"ann"}}}, bob, send, false},
		"case of a caller counts":                {[]policy.Rule{{Ops: ops("send"), Callers: []string{"ANN"}}}, ann, send, false},
		"beginning of callers":                   {[]policy.Rule{{Ops: ops("send"), Callers: []string{"corp:*"}}}, bob, send, true},
		"caller who is called a pattern":         {[]policy.Rule{{Ops: ops("send"), Callers: []string{"corp:"}}}, bob, send, false},
		"role":                                   {[]policy.Rule{{Ops: ops("send"), Roles: []string{"guest", "partner"}}}, ann, send, true},
		"no role":                                {[]policy.Rule{{Ops: ops("send"), Roles: []string{"*"}}}, bob, send, false},
		"owner":                                  {[]policy.Rule{{Ops: ops("send"), Owners: []string{"acme"}}}, ann, send, true},
		"no owner":                               {[]policy.Rule{{Ops: ops("send"), Owners: []string{"*"}}}, bob, send, false},
		"an id is no owner":                      {[]policy.Rule{{Ops: ops("send"), Owners: []string{"corp:bob"}}}, bob, send, false},
		"owner local":                            {[]policy.Rule{{Ops: ops("send"), Owners: []string{"local"}}}, nobody, send, true},
		"all keys must fit":                      {[]policy.Rule{{Ops: ops("send"), Roles: []string{"partner"}, Owners: []string{"beta"}}}, ann, send, false},
		"agent":                                  {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody, Agents: []string{"e*"}}}, ann, send, true},
		"another agent":                          {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody, Agents: []string{"clock"}}}, ann, send, false},
		"denial wins, last":                      {[]policy.Rule{{Ops: ops("*"), Who: policy.Anybody}, {Deny: true, Ops: ops("send"), Roles: []string{"partner"}}}, ann, send, false},
		"denial wins, first":                     {[]policy.Rule{{Deny: true, Ops: ops("send"), Roles: []string{"partner"}}, {Ops: ops("*"), Who: policy.Anybody}}, ann, send, false},
		"denial of others":                       {[]policy.Rule{{Deny: true, Ops: ops("send"), Roles: []string{"partner"}}, {Ops: ops("*"), Who: policy.Anybody}}, bob, send, true},
		"group":                                  {[]policy.Rule{{Ops: ops("push.*"), Who: policy.Anybody}}, ann, about(policy.PushDelete, "echo"), true},
		"group, another":                         {[]policy.Rule{{Ops: ops("push.*"), Who: policy.Anybody}}, ann, about(policy.Cancel, "echo"), false},
		"agents and what concerns none":          {[]policy.Rule{{Ops: ops("*"), Who: policy.Anybody, Agents: []string{"*"}}}, ann, about(policy.MemoryRead, ""), false},
		"skill":                                  {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody, Skills: []string{"READ"}}}, ann, begin("read"), true},
		"another skill":                          {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody, Skills: []string{"read"}}}, ann, begin("delete"), false},
		"unnamed skill, one of two":              {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody, Skills: []string{"read"}}}, ann, begin(""), false},
		"unnamed skill, both":                    {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody, Skills: []string{"read"}}, {Ops: ops("send"), Who: policy.Anybody, Skills: []string{"del*"}}}, ann, begin(""), true},
		"denied skill":                           {[]policy.Rule{{Ops: ops("*"), Who: policy.Anybody}, {Deny: true, Ops: ops("send"), Who: policy.Anybody, Skills: []string{"delete"}}}, ann, begin("delete"), false},
		"denied skill, unnamed":                  {[]policy.Rule{{Ops: ops("*"), Who: policy.Anybody}, {Deny: true, Ops: ops("send"), Who: policy.Anybody, Skills: []string{"delete"}}}, ann, begin(""), false},
		"denied skill, another":                  {[]policy.Rule{{Ops: ops("*"), Who: policy.Anybody}, {Deny: true, Ops: ops("send"), Who: policy.Anybody, Skills: []string{"delete"}}}, ann, begin("read"), true},
		"no skills at all":                       {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody, Skills: []string{"read"}}}, ann, policy.Request{Op: policy.Send, Agent: "x", Begins: true}, false},
		"going on with a task":                   {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody, Skills: []string{"read"}}}, ann, about(policy.Send, "files"), true},
		"getting it":                             {[]policy.Rule{{Ops: ops("send", "get"), Who: policy.Anybody, Skills: []string{"read"}}}, ann, about(policy.Get, "files"), true},
		"going on with a denied skill":           {[]policy.Rule{{Ops: ops("send"), Who: policy.Anybody}, {Deny: true, Ops: ops("send"), Who: policy.Anybody, Skills: []string{"x"}}}, ann, policy.Request{Op: policy.Send, Agent: "files", Skill: "x"}, false},
		"admin":                                  {nil, admin, about(policy.AdminKeys, ""), true},
		"admin and the protocol":                 {nil, admin, send, false},
		"admin, denied":                          {[]policy.Rule{{Deny: true, Ops: ops("admin.keys"), Who: policy.Anybody}}, admin, about(policy.AdminKeys, ""), false},
		"admin, another denied":                  {[]policy.Rule{{Deny: true, Ops: ops("admin.keys"), Who: policy.Anybody}}, admin, about(policy.AdminTrust, ""), true},
		"operator without the role":              {[]policy.Rule{{Ops: ops("admin.agents"), Callers: []string{"ann"}, Agents: []string{"a-*"}}}, ann, about(policy.AdminAgents, "a-1"), true},
		"operator of another":                    {[]policy.Rule{{Ops: ops("admin.agents"), Callers: []string{"ann"}, Agents: []string{"a-*"}}}, ann, about(policy.AdminAgents, "b"), false},
		"anonymous operator":                     {[]policy.Rule{{Ops: ops("*"), Who: policy.Anybody}}, nobody, about(policy.AdminKeys, ""), false},
		"a principal without an id":              {[]policy.Rule{{Ops: ops("*"), Who: policy.Anybody}}, &auth.Principal{Org: "acme"}, send, false},
		"no principal":                           {[]policy.Rule{{Ops: ops("*"), Who: policy.Anybody}}, nil, send, false},
		"admin without an id":                    {nil, &auth.Principal{Roles: []string{auth.RoleAdmin}}, about(policy.AdminKeys, ""), false},
	} {
		p := made(t, tt.rules...)
		if got := p.Allows(tt.caller, &tt.what); got != tt.want {
			t.Errorf("%s: Allows = %v (%s), want %v", name, got, p.Explain(tt.caller, &tt.what).Reason, tt.want)
		}
	}
}

func TestWithoutAPolicy(t *testing.T) {
	t.Parallel()
	var p *policy.Policy
	r := &policy.Request{Op: policy.AdminKeys}
	if !p.Allows(nil, r) || p.Denies(nil, r) || !p.Sees(nil, "x") || !p.Everywhere(nil, policy.List) || !p.Delegates(nil, r) {
		t.Error("a nil policy does not allow everything")
	}
	if len(p.Check())+p.Tests()+len(p.Findings(new(policy.Facts))) != 0 {
		t.Error("a nil policy has something to say")
	}
}

func TestSeesAndEverywhere(t *testing.T) {
	t.Parallel()
	p := made(t,
		policy.Rule{Ops: ops("get"), Who: policy.Authenticated, Agents: []string{"a"}},
		policy.Rule{Ops: ops("list"), Who: policy.Authenticated},
		policy.Rule{Deny: true, Ops: ops("*"), Callers: []string{"corp:bob"}, Agents: []string{"b"}},
	)
	for _, tt := range []struct {
		name      string
		got, want bool
	}{
		{"ann sees a", p.Sees(ann, "a"), true},
		{"bob sees b", p.Sees(bob, "b"), false},
		{"no caller sees a", p.Sees(nobody, "a"), false},
		{"ann lists everywhere", p.Everywhere(ann, policy.List), true},
		{"bob lists everywhere", p.Everywhere(bob, policy.List), false},
		{"ann gets everywhere", p.Everywhere(ann, policy.Get), false},
		{"nil lists everywhere", p.Everywhere(nil, policy.List), false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestDelegations(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{
		{Ops: ops("send"), Who: policy.Anybody, Agents: []string{"editor"}},
		{Deny: true, Ops: ops("send"), Callers: []string{"corp:bob"}, Agents: []string{"payroll"}},
	}
	ask := func(agent string) *policy.Request {
		return &policy.Request{Op: policy.Send, Agent: policyAgent(agent), Begins: true}
	}
	for _, checked := range []bool{false, true} {
		p, err := policy.New(policy.Rules{List: rules, CheckDelegations: checked})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Delegates(ann, ask("payroll")); got == checked {
			t.Errorf("checked %v: delegating for ann is %v", checked, got)
		}
		if p.Delegates(bob, ask("payroll")) {
			t.Errorf("checked %v: a denied operation is possible through an agent", checked)
		}
		if !p.Delegates(ann, ask("editor")) {
			t.Errorf("checked %v: an allowed operation cannot be delegated", checked)
		}
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule policy.Rule
		key  string
		want string
	}{
		"nobody":        {policy.Rule{Ops: ops("send")}, "", "needs who"},
		"no operation":  {policy.Rule{Who: policy.Anybody}, "allow", "names no operation"},
		"unknown":       {policy.Rule{Ops: ops("sned"), Who: policy.Anybody}, "allow", `unknown operation "sned"; did you mean send?`},
		"unknown group": {policy.Rule{Deny: true, Ops: ops("pull.*"), Who: policy.Anybody}, "deny", `unknown operation "pull.*"`},
		"who":           {policy.Rule{Ops: ops("send"), Who: "ann"}, "who", `invalid who "ann"`},
		"star within":   {policy.Rule{Ops: ops("send"), Callers: []string{"a*b"}}, "callers", "only allowed at the end"},
		"empty name":    {policy.Rule{Ops: ops("send"), Roles: []string{""}}, "roles", "a name is empty"},
		"no agent":      {policy.Rule{Ops: ops("admin.keys"), Roles: []string{"a"}, Agents: []string{"x"}}, "agents", "none of the operations"},
		"no skill":      {policy.Rule{Ops: ops("get"), Roles: []string{"a"}, Skills: []string{"x"}}, "skills", "only send and stream"},
		"nobody admin":  {policy.Rule{Ops: ops("admin.*"), Who: policy.Anonymous}, "", "cannot administer the hub"},
	} {
		_, err := policy.New(policy.Rules{List: []policy.Rule{{Ops: ops("get"), Who: policy.Anybody}, tt.rule}})
		var wrong *policy.RuleError
		if !errors.As(err, &wrong) || wrong.Rule != 1 || wrong.Key != tt.key || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q at %q of the second rule", name, err, tt.want, tt.key)
		}
	}
	if _, err := policy.New(policy.Rules{List: make([]policy.Rule, 1001)}); err == nil {
		t.Error("a policy of 1001 rules is taken")
	}
}

// Every operation has a name that parses to it, and the manual lists the names.
func TestOps(t *testing.T) {
	t.Parallel()
	for _, o := range policy.Ops() {
		back, err := policy.ParseOp(o.String())
		if err != nil || back != o {
			t.Errorf("ParseOp(%q) = %v, %v", o, back, err)
		}
		if o.Admin() != strings.HasPrefix(o.String(), "admin.") {
			t.Errorf("%v: Admin = %v", o, o.Admin())
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p, err := policy.New(policy.Rules{
		List: []policy.Rule{{At: "p.yaml:2", Ops: ops("send"), Roles: []string{"partner"}, Agents: []string{"echo"}}},
		Tests: []policy.Test{
			{Caller: "ann", Roles: []string{"partner"}, Op: "send", Agent: "echo", Allow: true},
			{At: "p.yaml:9", Caller: "ann", Roles: []string{"partner"}, Owner: "acme", Op: "send", Agent: "echo", Skill: "echo"},
			{At: "p.yaml:12", Op: "send", Agent: "echo", Allow: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []policy.Failure{
		{At: "p.yaml:9", Text: `send on agent "echo" with the skill "echo" for "ann" with the roles partner of "acme" should be denied, but is allowed: allowed by the rule at p.yaml:2`},
		{At: "p.yaml:12", Text: `send on agent "echo" for callers without credentials should be allowed, but is denied: no rule allows it`},
	}
	if diff := cmp.Diff(want, p.Check()); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	world := &policy.Facts{
		Agents:  map[policyAgent]([]string){"echo": {"echo"}, "files": {"read", "delete"}, "alone": nil},
		Callers: []string{"ann"}, Roles: []string{"partner"}, Owners: []string{"acme"}, Families: []string{"corp:"},
	}
	p := made(t,
		policy.Rule{At: "1", Ops: ops("send", "cancel"), Who: policy.Anybody, Agents: []string{"echo"}},
		policy.Rule{At: "2", Ops: ops("admin.*"), Roles: []string{"partner"}},
		policy.Rule{At: "3", Ops: ops("admin.keys"), Who: policy.Authenticated},
		policy.Rule{At: "4", Ops: ops("send"), Callers: []string{"ann", "corp:x", "carl"}, Agents: []string{"files", "gone"}, Skills: []string{"READ", "write"}},
		policy.Rule{At: "5", Deny: true, Ops: ops("get"), Who: policy.Anybody},
		policy.Rule{At: "6", Ops: ops("get"), Roles: []string{"partner"}, Agents: []string{"echo"}},
		policy.Rule{At: "7", Ops: ops("send"), Callers: []string{"ann"}, Agents: []string{"echo"}},
		policy.Rule{At: "8", Ops: ops("send"), Owners: []string{"acme", "beta"}, Agents: []string{"alone"}},
		policy.Rule{At: "9", Deny: true, Ops: ops("send", "stream"), Who: policy.Anybody, Agents: []string{"alone"}},
	)
	var got []string
	for _, r := range p.Findings(world) {
		got = append(got, r.At+" "+r.Text)
	}
	want := []string{
		"1 callers without credentials may cancel",
		"2 the callers that it names may do all that an administrator may (admin.*)",
		"3 every caller with credentials may admin.keys",
		`4 names the agent "gone", which the configuration does not have`,
		`4 names the skill "write", which the configuration does not have`,
		`4 names the caller "carl", which the configuration does not have`,
		"6 never applies: all of it is denied at 5",
		"7 changes nothing: all of it stands at 1",
		"8 never applies: all of it is denied at 9",
		`8 names the owner "beta", which the configuration does not have`,
		` no caller may send to the agent "alone"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Findings (-want +got):\n%s", diff)
	}
}

// drawn is a small set of names, so that rules match requests.
var drawn = []string{"a", "ab", "b", "a*", "*"}

func drawNames(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(drawn), 0, 2).Draw(t, label)
}

func drawRule(t *rapid.T) policy.Rule {
	r := policy.Rule{
		Deny: rapid.Bool().Draw(t, "deny"),
		Ops:  []string{rapid.SampledFrom([]string{"send", "get", "*", "push.*", "admin.*", "send"}).Draw(t, "op")},
		Who:  rapid.SampledFrom([]string{"", policy.Anybody, policy.Authenticated, policy.Anonymous}).Draw(t, "who"),

		Callers: drawNames(t, "callers"), Roles: drawNames(t, "roles"), Owners: drawNames(t, "owners"),
		Agents: drawNames(t, "agents"), Skills: drawNames(t, "skills"),
	}
	if _, err := policy.New(policy.Rules{List: []policy.Rule{r}}); err != nil {
		return policy.Rule{Deny: r.Deny, Ops: ops("send", "get"), Who: policy.Anybody}
	}
	return r
}

func drawRequest(t *rapid.T) (*auth.Principal, *policy.Request) {
	name := rapid.SampledFrom([]string{"", "a", "ab", "b", "local"})
	caller := &auth.Principal{ID: name.Draw(t, "id"), Org: name.Draw(t, "org"), Roles: []string{name.Draw(t, "role"), rapid.SampledFrom([]string{"a", "admin"}).Draw(t, "second")}}
	return caller, &policy.Request{
		Op: rapid.SampledFrom(policy.Ops()).Draw(t, "op"), Agent: policyAgent(name.Draw(t, "agent")),
		Begins: rapid.Bool().Draw(t, "begins"), Skill: name.Draw(t, "skill"),
		Skills: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "b"}), 0, 3).Draw(t, "skills"),
	}
}

// A further denial never allows more, and a further rule that allows never allows less. The
// order does not matter, and a denied request is not allowed.
func TestRulesOnlyAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		list := make([]policy.Rule, rapid.IntRange(0, 5).Draw(rt, "rules"))
		for i := range list {
			list[i] = drawRule(rt)
		}
		caller, r := drawRequest(rt)
		p := made(t, list...)
		before := p.Allows(caller, r)
		more := drawRule(rt)
		at := rapid.IntRange(0, len(list)).Draw(rt, "at")
		q := made(t, slices.Insert(slices.Clone(list), at, more)...)
		after := q.Allows(caller, r)
		if more.Deny && after && !before {
			rt.Errorf("a denial allows %v to %v", r, caller)
		}
		if !more.Deny && !after && before {
			rt.Errorf("a rule that allows takes %v from %v", r, caller)
		}
		turned := slices.Clone(list)
		slices.Reverse(turned)
		if made(t, turned...).Allows(caller, r) != before {
			rt.Errorf("the order of rules counts for %v by %v", r, caller)
		}
		if p.Denies(caller, r) && before {
			rt.Errorf("%v is denied to %v and allowed", r, caller)
		}
		if p.Everywhere(caller, r.Op) && r.Agent != "" && !r.Begins && r.Skill == "" && !r.Op.Admin() && !before {
			rt.Errorf("%v is everywhere allowed to %v, but not here", r, caller)
		}
		if before && !r.Op.Admin() && r.Op <= policy.ExtendedCard && r.Agent != "" && !p.Sees(caller, r.Agent) {
			rt.Errorf("%v is allowed to %v, who does not see the agent", r, caller)
		}
	})
}

// While rules are replaced, each decision uses one complete set: a request that all sets allow
// is never denied, and one that no set allows is never allowed.
func TestReplace(t *testing.T) {
	t.Parallel()
	all := []*policy.Policy{
		made(t, policy.Rule{Ops: ops("send"), Roles: []string{"partner"}}),
		made(t, policy.Rule{Ops: ops("*"), Who: policy.Anybody}, policy.Rule{Deny: true, Ops: ops("*"), Callers: []string{"corp:*"}}),
	}
	p := made(t, policy.Rule{Ops: ops("send"), Callers: []string{"ann"}})
	send := &policy.Request{Op: policy.Send, Agent: "echo", Begins: true}
	var done atomic.Bool
	var deciding sync.WaitGroup
	for range 4 {
		deciding.Go(func() {
			for !done.Load() {
				if !p.Allows(ann, send) || p.Denies(ann, send) || !p.Sees(ann, "echo") || !p.Delegates(ann, send) {
					t.Error("ann is denied what all rules allow")
					return
				}
				if p.Allows(bob, send) || p.Sees(bob, "echo") || p.Explain(bob, send).Allowed || p.Everywhere(bob, policy.Send) {
					t.Error("bob is allowed an operation that no rule allows")
					return
				}
			}
		})
	}
	for i := range 10_000 {
		p.Replace(all[i%2])
	}
	done.Store(true)
	deciding.Wait()

	if p.Replace(nil); p.Allows(ann, send) || !p.Allows(admin, &policy.Request{Op: policy.AdminKeys}) {
		t.Error("replaced by nothing, something is allowed, or administrators are shut out")
	}
	if new(policy.Policy).Allows(ann, send) {
		t.Error("the zero policy allows something")
	}
}
