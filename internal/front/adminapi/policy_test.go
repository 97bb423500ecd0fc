package adminapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/policy"
)

// TestFamilies checks that every path of the API belongs to a family with policy operations.
func TestFamilies(t *testing.T) {
	t.Parallel()
	var api struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(adminapi.OpenAPI, &api); err != nil || len(api.Paths) < 20 {
		t.Fatalf("the description has %d paths, %v", len(api.Paths), err)
	}
	families := adminapi.Families()
	for path := range api.Paths {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, adminapi.Root+"/"), "/")
		if path != adminapi.Description && !slices.Contains(families, name) {
			t.Errorf("%s has no family, so that a policy lets administrators alone do it", path)
		}
	}
}

// TestInboxUnderAPolicy checks that a caller of an organisation sees the questions of the
// agents whose tasks it may get, and those that belong to no task.
func TestInboxUnderAPolicy(t *testing.T) {
	t.Parallel()
	h := withInbox(t)
	for _, it := range []inbox.Item{
		{ID: "echo", Kind: inbox.Question, Owner: "clerk", Agent: "echo", Task: "t1"},
		{ID: "payroll", Kind: inbox.Question, Owner: "clerk", Agent: "payroll", Task: "t2"},
	} {
		if _, err := h.Inbox.Put(t.Context(), &it); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	h.Policy, err = policy.New(policy.Rules{List: []policy.Rule{
		{Ops: []string{"inbox.*"}, Callers: []string{"clerk", "helper"}},
		{Ops: []string{"get"}, Callers: []string{"clerk"}, Agents: []string{"echo"}},
		{Ops: []string{"admin.inbox"}, Callers: []string{"helper"}},
		{Ops: []string{"admin.read"}, Callers: []string{"auditor"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	helper, auditor := &auth.Principal{ID: "helper"}, &auth.Principal{ID: "auditor"}
	for _, tt := range []struct {
		who  *auth.Principal
		want string
	}{
		{clerk, "question echo "},
		{helper, "payroll echo other notice approval question "},
		{auditor, "payroll echo other notice approval question "},
		{boss, "payroll echo other notice approval question "},
	} {
		got := strings.Fields(listed(t, as(t, h, tt.who, "GET /api/v1/inbox", "")))
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s sees %q, want %q", tt.who.ID, got, want)
		}
	}
	for _, tt := range []struct {
		who  *auth.Principal
		item string
		want int
	}{
		{clerk, "payroll", 404},
		{clerk, "echo", 200},
		{auditor, "payroll", 403},
		{&auth.Principal{ID: "ann"}, "other", 403},
		{helper, "payroll", 200},
	} {
		if got := as(t, h, tt.who, "POST /api/v1/inbox/"+tt.item+"/answer", `{"text":"yes"}`); got.code != tt.want {
			t.Errorf("%s answers %s: %d %s, want %d", tt.who.ID, tt.item, got.code, got.body, tt.want)
		}
	}
}
