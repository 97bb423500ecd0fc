package adminapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/trust"
	"github.com/parley-a2a/parley/task"
)

// withInbox returns a handler with an inbox: a question, an approval and a notice about
// tasks of clerk, and a question about one of ann.
func withInbox(t *testing.T) *adminapi.Handler {
	t.Helper()
	h, _, _ := keyed(t)
	h.Inbox, h.Trust = new(inbox.Inbox), new(trust.Registry)
	for _, it := range []inbox.Item{
		{ID: "question", Kind: inbox.Question, Owner: "clerk", Draft: "blue"},
		{ID: "approval", Kind: inbox.Approval, Owner: "clerk"},
		{ID: "notice", Kind: inbox.Notice, Owner: "clerk"},
		{ID: "other", Kind: inbox.Question, Owner: "ann"},
	} {
		if _, err := h.Inbox.Put(t.Context(), &it); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func listed(t *testing.T, a answer) string {
	t.Helper()
	var list adminjson.InboxList
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.code != 200 {
		t.Fatalf("list = %d %s", a.code, a.body)
	}
	var ids []string
	for i := range list.Items {
		ids = append(ids, string(list.Items[i].ID))
	}
	return strings.Join(append(ids, list.NextPageToken), " ")
}

func TestInboxIsScoped(t *testing.T) {
	t.Parallel()
	h := withInbox(t)
	for _, tt := range []struct {
		who         *auth.Principal
		query, want string
	}{
		{boss, "", "other notice approval question "},
		{boss, "?kind=question&kind=notice", "other notice question "},
		{boss, "?pageSize=2", "other notice notice"},
		{boss, "?pageSize=2&pageToken=notice", "approval question "},
		{clerk, "?state=all", "question "},
		{clerk, "?pageSize=1", "question "}, // no page and no token for the items of others
		{clerk, "?kind=approval", ""},
		{clerk, "?kind=notice&kind=question", "question "},
		{&auth.Principal{ID: "ann"}, "", "other "},
		{&auth.Principal{ID: "eve"}, "", ""},
	} {
		if got := listed(t, as(t, h, tt.who, "GET /api/v1/inbox"+tt.query, "")); got != tt.want {
			t.Errorf("%s lists %q: %q, want %q", tt.who.ID, tt.query, got, tt.want)
		}
	}
	for _, path := range []string{"GET /api/v1/inbox/approval", "POST /api/v1/inbox/approval/approve", "POST /api/v1/inbox/notice/refuse", "POST /api/v1/inbox/other/answer", "GET /api/v1/inbox/none"} {
		got := as(t, h, clerk, path, "")
		got.failure(t, 404, "NOT_FOUND", "ITEM_NOT_FOUND")
	}
	for _, query := range []string{"?state=burnt", "?kind=rumour", "?pageSize=0"} {
		got := as(t, h, boss, "GET /api/v1/inbox"+query, "")
		got.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	}
	if all, _ := h.Inbox.List(t.Context(), &inbox.Query{State: inbox.Open}); len(all) != 4 {
		t.Errorf("%d items are open, want all", len(all))
	}
}

// leakyStore is a store of the inbox that ignores the owner of a query.
type leakyStore struct {
	inbox.Memory
	queries []inbox.Query
}

func (s *leakyStore) Items(ctx context.Context, q *inbox.Query) ([]inbox.Item, error) {
	s.queries = append(s.queries, *q)
	all := *q
	all.Owner = ""
	return s.Memory.Items(ctx, &all)
}

// TestInboxIsScopedTwice: the query for a list has the owner, and an item of another that the
// store returns nevertheless is not shown.
func TestInboxIsScopedTwice(t *testing.T) {
	t.Parallel()
	h, store := withInbox(t), new(leakyStore)
	h.Inbox = &inbox.Inbox{Store: store}
	for id, owner := range map[inbox.ID]task.Owner{"mine": "clerk", "hers": "ann"} {
		if _, err := h.Inbox.Put(t.Context(), &inbox.Item{ID: id, Kind: inbox.Question, Owner: owner}); err != nil {
			t.Fatal(err)
		}
	}
	if got := listed(t, as(t, h, clerk, "GET /api/v1/inbox", "")); got != "mine " {
		t.Errorf("with a store that returns the items of others, a caller lists %q", got)
	}
	for _, q := range store.queries {
		if q.Owner != "clerk" {
			t.Errorf("the store is asked for the items of %q, want those of clerk", q.Owner)
		}
	}
	if len(store.queries) != 1 {
		t.Errorf("the store is asked %d times, want once", len(store.queries))
	}
	got := as(t, h, clerk, "GET /api/v1/inbox/hers", "")
	got.failure(t, 404, "NOT_FOUND", "ITEM_NOT_FOUND")
}

func TestInboxIsSettledOnce(t *testing.T) {
	t.Parallel()
	h := withInbox(t)
	if got := as(t, h, clerk, "POST /api/v1/inbox/question/answer", `{"text":"red"}`); got.code != 200 || !strings.Contains(got.body, `"by":"clerk"`) {
		t.Errorf("the owner of the task answers: %d %s", got.code, got.body)
	}
	got := as(t, h, boss, "POST /api/v1/inbox/question/approve", "")
	got.failure(t, 409, "FAILED_PRECONDITION", "ITEM_SETTLED")
	if !strings.Contains(got.body, "answered by clerk") {
		t.Errorf("the second gets %s", got.body)
	}
	if got := as(t, h, boss, "POST /api/v1/inbox/approval/approve", `{"text":"go"}`); got.code != 200 || !strings.Contains(got.body, `"state":"approved"`) {
		t.Errorf("approve = %d %s", got.code, got.body)
	}
	for path, body := range map[string]string{"other/answer": "", "notice/approve": "", "other/approve": ""} {
		got := as(t, h, boss, "POST /api/v1/inbox/"+path, body)
		got.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	}
	for _, path := range []string{"GET /api/v1/inbox/", "GET /api/v1/inboxes", "POST /api/v1/inbox/other/burn", "GET /api/v1/inbox/a/b"} {
		if got := as(t, h, boss, path, ""); got.code != 404 {
			t.Errorf("%s = %d %s, want 404", path, got.code, got.body)
		}
	}
	if got := as(t, h, boss, "POST /api/v1/inbox/other/refuse", "", "Sec-Fetch-Site: cross-site"); got.code != 403 {
		t.Errorf("a page from elsewhere settles an item: %d %s", got.code, got.body)
	}
}

func TestInboxEvents(t *testing.T) {
	t.Parallel()
	h := withInbox(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), clerk)))
	}))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+"/api/v1/inbox/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, id := range []inbox.ID{"mine", "approval", "hers"} {
		it := inbox.Item{ID: id + "-2", Kind: inbox.Question, Owner: map[inbox.ID]task.Owner{"mine": "clerk", "hers": "ann", "approval": "clerk"}[id]}
		if id == "approval" {
			it.Kind = inbox.Approval
		}
		if _, err := h.Inbox.Put(ctx, &it); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Inbox.Answer(ctx, "question", "me", "yes"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < 2 && lines.Scan() {
		var it inbox.Item
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &it) == nil {
			got = append(got, fmt.Sprint(it.ID, " ", it.State))
		}
	}
	if want := "mine-2 open, question answered"; strings.Join(got, ", ") != want {
		t.Errorf("events = %q, want %s", got, want)
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	h := withInbox(t)
	for _, path := range []string{"GET /api/v1/trust", "POST /api/v1/trust"} {
		got := as(t, h, clerk, path, `{"agentId":"clerk","level":"act"}`)
		got.failure(t, 403, "PERMISSION_DENIED", "UNAUTHORIZED")
	}
	if got := as(t, h, boss, "POST /api/v1/trust", `{"agentId":"clerk","level":"4","approve":["sell"]}`); got.code != 200 || !strings.Contains(got.body, `"level":"act"`) {
		t.Errorf("set = %d %s", got.code, got.body)
	}
	for _, body := range []string{`{"agentId":"clerk","level":"boss"}`, `{"level":"act"}`, `{"agentId":"clerk","approve":[""]}`, `{"agentId":"clerk","trust":4}`} {
		got := as(t, h, boss, "POST /api/v1/trust", body)
		got.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	}
	if got := as(t, h, boss, "GET /api/v1/trust", ""); !strings.Contains(got.body, `"agentId":"clerk","level":"act","approvedSkills":["sell"]`) {
		t.Errorf("list = %s", got.body)
	}
	h.Trust.Follow([]trust.Entry{{Subject: "clerk", Level: trust.Learn}})
	got := as(t, h, boss, "POST /api/v1/trust", `{"agentId":"clerk","level":"act"}`)
	got.failure(t, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION")
	h = &adminapi.Handler{Hub: h.Hub, Keys: h.Keys}
	for _, path := range []string{"GET /api/v1/trust", "GET /api/v1/inbox", "GET /api/v1/inbox/a"} {
		if got := as(t, h, boss, path, ""); got.code != 404 {
			t.Errorf("%s without the parts = %d", path, got.code)
		}
	}
}
