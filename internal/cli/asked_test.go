package cli

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/inbox"
)

// hubAsked waits until a new question is open in the inbox of the hub, and puts its id into a
// variable: asked VAR. Questions of earlier calls do not count.
func hubAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked VAR")
	}
	defer http.DefaultClient.CloseIdleConnections()
	found := strings.Fields(ts.Getenv("ASKED"))
	fresh := func(it *inbox.Item) bool {
		if it.Kind != inbox.Question || it.State != inbox.Open || slices.Contains(found, string(it.ID)) {
			return false
		}
		ts.Setenv(args[0], string(it.ID))
		ts.Setenv("ASKED", strings.Join(append(found, string(it.ID)), " "))
		return true
	}
	events, err := http.Get(ts.Getenv("PARLEY_URL") + inboxPath + "/events")
	ts.Check(err)
	defer events.Body.Close()
	now, err := http.Get(ts.Getenv("PARLEY_URL") + inboxPath)
	ts.Check(err)
	defer now.Body.Close()
	var page adminjson.InboxList
	ts.Check(json.NewDecoder(now.Body).Decode(&page))
	if slices.ContainsFunc(page.Items, func(it inbox.Item) bool { return fresh(&it) }) {
		return
	}
	for lines := bufio.NewScanner(events.Body); lines.Scan(); {
		var it inbox.Item
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok && json.Unmarshal([]byte(data), &it) == nil && fresh(&it) {
			return
		}
	}
	ts.Fatalf("the hub ends without a question")
}
