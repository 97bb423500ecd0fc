package adminapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/trust"
)

// gatedAgent is an agent whose skill "buy" needs trust.
type gatedAgent struct{ a2asrv.AgentExecutor }

func (gatedAgent) GatedSkills() []string { return []string{"buy"} }

// matrixOf returns the answer for a query.
func matrixOf(t *testing.T, h *adminapi.Handler, query string) (m adminapi.Permissions) {
	t.Helper()
	a := as(t, h, boss, "GET /api/v1/permissions?"+query, "")
	if err := json.Unmarshal([]byte(a.body), &m); err != nil || a.code != 200 {
		t.Fatalf("%s = %d %s", query, a.code, a.body)
	}
	return m
}

// TestPermissions compares each cell with the decision that a request gets.
func TestPermissions(t *testing.T) {
	t.Parallel()
	h, ring, _ := keyed(t)
	hub := newHub()
	shop := hub.list[1]
	shop.Name, shop.Executor = "shop", gatedAgent{shop.Executor}
	hub.list = append(hub.list, shop)
	h.Hub, h.Trust = hub, new(trust.Registry)
	for _, id := range []string{"ann", "bob", "old"} {
		k, _ := auth.NewKey(auth.Principal{ID: id, Org: "acme"}, time.Now())
		if id == "old" {
			k.ExpiresAt = time.Now().Add(-time.Hour)
		}
		if err := ring.Add(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	for id, level := range map[trust.Subject]trust.Level{"ann": trust.Act, "ops": trust.Propose} {
		if _, err := h.Trust.Set(t.Context(), id, &trust.Change{Level: level, Approve: []string{"buy"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range []string{"", "?op=send", "?agent=echo"} {
		if a := as(t, h, clerk, "GET /api/v1/permissions"+query, ""); a.code != 403 || strings.Contains(a.body, "bob") {
			t.Errorf("%s of a caller without a role = %d %s", query, a.code, a.body)
		}
	}
	if a := as(t, h, boss, "GET /api/v1/permissions?op=sned", ""); a.code != 400 || !strings.Contains(a.body, "send") {
		t.Errorf("an unknown operation = %d %s", a.code, a.body)
	}
	without := matrixOf(t, h, "op=admin.keys")
	if got := fmt.Sprint(without.Callers[0].Cells[0], without.Callers[2].Cells[0]); !strings.Contains(got, "lacks the role") || !strings.Contains(got, "has the role") {
		t.Errorf("without a policy: %s", got)
	}
	var err error
	h.Policy, err = policy.New(policy.Rules{List: []policy.Rule{
		{At: "policy.yaml:2", Ops: []string{"send"}, Owners: []string{"acme"}},
		{At: "policy.yaml:3", Deny: true, Ops: []string{"send"}, Callers: []string{"bob"}, Agents: []string{"shop"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := matrixOf(t, h, "op=send")
	if len(m.Callers) != 4 || len(m.Columns) != 4 || !m.Policy { // ann, bob, ops, and callers without credentials
		t.Fatalf("the matrix is %+v", m)
	}
	for _, c := range m.Callers {
		for i, cell := range c.Cells {
			p := &auth.Principal{ID: c.AgentID, Org: c.Owner, Roles: c.Roles}
			if want := h.Policy.Allows(p, &policy.Request{Op: policy.Send, Agent: task.Agent(m.Columns[i])}); cell.Allowed != want {
				t.Errorf("%s to %s: %+v, want %v", c.AgentID, m.Columns[i], cell, want)
			}
		}
	}
	if got := m.Callers[0].Cells[3]; got.Gate != "approval" || got.Reason != "allowed by the rule at policy.yaml:2; the agent is gated for buy, and the trust in the caller is act; without approval for buy" {
		t.Errorf("ann to the shop: %+v", got)
	}
	if got := m.Callers[1].Cells[3]; got.Gate != "" || got.Reason != "denied by the rule at policy.yaml:3" {
		t.Errorf("bob to the shop: %+v", got)
	}
	if m := matrixOf(t, h, "agent=shop&caller=ann"); len(m.Callers) != 1 || len(m.Columns) != len(policy.Ops()) || m.Callers[0].Cells[0].Gate != "approval" {
		t.Errorf("the operations on the shop are %+v", m)
	}
}

// TestPermissionsOfMany checks the bounds of the answer for 2,000 agents and callers.
func TestPermissionsOfMany(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	hub := newHub()
	echo := hub.list[1]
	ring := &auth.Keyring{}
	for i := range 2000 {
		hub.list = append(hub.list, engine.Agent{Name: task.Agent(fmt.Sprintf("agent-%04d", i)), Card: echo.Card, Executor: echo.Executor})
		k, _ := auth.NewKey(auth.Principal{ID: fmt.Sprintf("caller-%04d", i)}, time.Now())
		ring.Configured = append(ring.Configured, *k)
	}
	h.Hub, h.Keys = hub, ring
	m := matrixOf(t, h, "")
	if len(m.Callers) != 50 || len(m.Columns) != 24 || !m.MoreCallers || !m.MoreColumns {
		t.Errorf("the matrix has %d callers and %d agents", len(m.Callers), len(m.Columns))
	}
	if m := matrixOf(t, h, "caller=1999&find=1999"); len(m.Callers) != 1 || len(m.Columns) != 1 {
		t.Errorf("the filters select %v and %v", m.Callers, m.Columns)
	}
}
