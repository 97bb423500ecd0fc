package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// TestAttempts checks that the first entry of each further attempt is marked, and that chunks of
// two attempts stay apart.
func TestAttempts(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	entry := func(version, attempt int64) adminjson.LogEntry {
		return adminjson.LogEntry{Version: version, Time: at, Kind: "artifact", Attempt: attempt, Append: true, Artifact: []byte(`{"artifactId":"a","parts":[{"text":"x"}]}`)}
	}
	r := &reader{room: maxPage}
	views := r.views([]adminjson.LogEntry{entry(1, 1), entry(2, 1), entry(3, 2), entry(4, 2), entry(5, 3)})
	if len(views) != 3 || views[0].Begins || !views[1].Begins || !views[2].Begins || views[1].Chunks != 2 {
		t.Errorf("views = %+v", views)
	}
}

// TestAnnotate checks where deliveries to webhooks are in a timeline.
func TestAnnotate(t *testing.T) {
	t.Parallel()
	views := make([]entryView, 4)
	for i := range views {
		views[i].Version, views[i].Last = int64(2*i+1), int64(2*i+2)
	}
	annotate(views, []hookView{
		{Config: "a", Delivered: 4, Tries: 2, LastError: "refused"}, {Config: "b", Delivered: 8, Dead: []deadView{{First: 1, Last: 3, Attempts: 7, Reason: "gone"}}}, {Config: "c", Delivered: 1}, // accepted nothing yet
	})
	var got []string
	for _, v := range views {
		for _, m := range v.Marks {
			got = append(got, m.Tone+" "+m.Text)
		}
		got = append(got, "-")
	}
	want := "-|good webhook a is notified up to here|bad webhook b did not accept #1 to #3 after 7 tries: gone|-|ask webhook a: try 2 failed: refused|-|good webhook b is notified up to here|-"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("marks\n%s\nwant\n%s", s, want)
	}
}

// TestNumbers checks how pages write numbers and costs.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %s, want %s", n, got, want)
		}
	}
	for usd, want := range map[float64]string{0.00123: "$0.0012", 12.345: "$12.35"} {
		if got := money(usd); got != want {
			t.Errorf("money(%v) = %s, want %s", usd, got, want)
		}
	}
}

// TestStored checks that the page asks the hub only for bytes of the part that names them.
func TestStored(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	for name, tc := range map[string]struct{ part, want string }{
		"stored":         {`{"url":"https://hub.example/v1/parts/t1/` + sum + `","metadata":{"parley.part":{"sha256":"` + sum + `","size":7}}}`, "/v1/parts/t1/" + sum},
		"another task":   {`{"url":"https://hub.example/v1/parts/t2/` + sum + `","metadata":{"parley.part":{"sha256":"` + sum + `"}}}`, ""},
		"no metadata":    {`{"url":"https://hub.example/v1/parts/t1/` + sum + `"}`, ""},
		"another digest": {`{"url":"https://hub.example/v1/parts/t1/x","metadata":{"parley.part":{"sha256":"` + sum + `"}}}`, ""},
		"a path":         {`{"url":"/v1/parts/t1/../../../api/v1/keys","metadata":{"parley.part":{"sha256":"../../../api/v1/keys"}}}`, ""},
		"no object":      {`{"url":"/v1/parts/t1/` + sum + `","metadata":{"parley.part":"x"}}`, ""},
		"no address":     {`{"text":"x","metadata":{"parley.part":{"sha256":"` + sum + `"}}}`, ""},
	} {
		var w wirePart
		if err := json.Unmarshal([]byte(tc.part), &w); err != nil {
			t.Fatal(err)
		}
		if got, _ := w.stored("t1"); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestSecurity checks the words for the ways to authenticate at an agent.
func TestSecurity(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		card string
		want *securityView
	}{
		"nothing": {`{}`, nil},
		"all kinds": {
			`{"securitySchemes": {
			"token": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}, "cert": {"mtlsSecurityScheme": {}},
			"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key", "description": "Ask the shop."}},
			"corp": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://corp.example"}},
			"oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://corp.example/token", "scopes": {"buy": "x", "ask": "y"}}}}},
			"odd": {"newSecurityScheme": {}}, "wrong": {"apiKeySecurityScheme": "x"}},
			"securityRequirements": [{"schemes": {"token": {"list": []}, "cert": {"list": []}}}, {"schemes": {"key": {}}}]}`,
			&securityView{[]schemeView{
				{"cert", "client certificate", ""},
				{"corp", "OpenID Connect", "https://corp.example"},
				{"key", "key", "X-Key in the header · Ask the shop."},
				{"oauth", "OAuth 2", "clientCredentials https://corp.example/token · scopes ask, buy"},
				{"odd", "of an unknown kind", ""},
				{"token", "HTTP Bearer", "JWT"},
				{"wrong", "key", ""},
			}, "A caller needs cert and token, or key."},
		},
		"optional": {
			`{"securitySchemes": {"key": {}}, "securityRequirements": [{"schemes": {"key": {}}}, {"schemes": {}}]}`,
			&securityView{[]schemeView{{"key", "of an unknown kind", ""}}, "A caller may do without."},
		},
	} {
		var c cardView
		if err := json.Unmarshal([]byte(tc.card), &c); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, c.Security()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLocate checks that remote tasks alone get an address, and only from agents that show one.
func TestLocate(t *testing.T) {
	t.Parallel()
	tasks := []treeView{{Agent: "far", Kind: "remote"}, {Agent: "far", Kind: "local"}, {Agent: "hidden", Kind: "remote"}, {Agent: "gone", Kind: "remote"}}
	locate(tasks, []adminjson.Agent{{Name: "far", Remote: &adminjson.Remote{URL: "https://far.example/a2a"}}, {Name: "hidden"}})
	var got []string
	for i := range tasks {
		got = append(got, tasks[i].Address)
	}
	if diff := cmp.Diff([]string{"https://far.example/a2a", "", "", ""}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// TestFoldReads folds the repeated reads of each person, between changes.
func TestFoldReads(t *testing.T) {
	t.Parallel()
	var all []*auditEntry
	for i, e := range [][2]string{
		{"ann", "task.inspect"},
		{"bob", "task.inspect"},
		{"ann", "task.inspect"},
		{"ann", "audit.export"},
		{"ann", "task.inspect"},
		{"bob", "task.operate"},
		{"bob", "task.operate"},
		{"ann", "task.inspect"},
		{"ann", "task.inspect"},
	} {
		entry := &auditEntry{Seq: uint64(20 - i), Action: e[1], Outcome: "ok"}
		entry.Actor.ID = e[0]
		all = append(all, entry)
	}
	refused := &auditEntry{Seq: 1, Action: "task.inspect", Outcome: "refused"}
	refused.Actor.ID = "ann"
	var got []string
	for _, e := range foldReads(append(all, refused)) {
		got = append(got, fmt.Sprintf("%d %s %s +%d", e.Seq, e.Actor.ID, e.Action, len(e.Folded)))
	}
	want := []string{
		"20 ann task.inspect +2", "19 bob task.inspect +0", "17 ann audit.export +0", "15 bob task.operate +0", "14 bob task.operate +0",
		"13 ann task.inspect +1", "1 ann task.inspect +0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("foldReads (-want +got):\n%s", diff)
	}
}
