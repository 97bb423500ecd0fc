package cluster

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// owners are the owners of TestShards.
const owners = 12

func ownerKey(i int) string { return fmt.Sprintf("key-of-owner-%d-0123456789", i) }

// as sends a message to the agent echo as the owner with a number.
func (m *member) as(i int, text string) (status int, header http.Header) {
	m.t.Helper()
	resp, err := hubtest.Do(m.t.Context(), hubtest.Request{
		URL: m.URL() + "/v1/a2a/echo/message:send", Header: []string{"X-Api-Key", ownerKey(i)},
		Body: fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%[1]q}]}}`, text),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header
}

// Two hubs serve owners in two databases. When one of these is away, its owners get 503 with a time to retry, and
// the others notice nothing; /readyz says which it is. When it is back, all are served.
func TestShards(t *testing.T) {
	t.Parallel()
	home, far := pgtest.Shared(t).Database(t), pgtest.Start(t)
	store := fmt.Sprintf("{home: %q, databases: [%[1]q, %q]}", home, far.Database(t))
	keys := "auth:\n  api_keys:\n    root-key-0123456789: {agent_id: root, roles: [admin]}\n"
	for i := range owners {
		keys += fmt.Sprintf("    %s: {agent_id: owner%d}\n", ownerKey(i), i)
	}
	var hubs []*member
	for _, id := range []string{"a", "b"} {
		config := fmt.Sprintf("log: {level: info}\nstore: %s\nhub_id: %s\nmaster_key: %q\n%s", store, id, key, keys)
		hubs = append(hubs, &member{hubtest.Start(t, hubtest.Options{Config: config}), t, id})
	}
	root := []string{"X-Api-Key", "root-key-0123456789"}
	for i := range owners {
		if status, _ := hubs[i%2].as(i, "hello"); status != http.StatusOK {
			t.Fatalf("owner %d gets %d\n%s", i, status, hubs[i%2].Output())
		}
	}
	total := func(m *member) int {
		var list struct{ Tasks []struct{ ID string } }
		m.call(hubtest.Request{URL: "/api/v1/tasks?scope=all&pageSize=100", Header: root}, &list)
		return len(list.Tasks)
	}
	for _, m := range hubs {
		if n := total(m); n != owners {
			t.Errorf("hub %s lists %d tasks of all owners, want %d", m.id, n, owners)
		}
	}
	out, err := hubs[0].Parley(t.Context(), "shards", "list", "--store", home)
	if rows := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(rows) != 2 || strings.HasSuffix(out, "\t0\n") {
		t.Errorf("shards list = %q, %v", out, err)
	}
	far.Stop()
	type check struct{ Name, Detail string }
	for _, m := range hubs {
		until(t, func() bool {
			for i := range owners {
				m.as(i, "again") // one of them finds out
			}
			var report struct{ Checks []check }
			m.call(hubtest.Request{URL: "/readyz"}, &report)
			return slices.ContainsFunc(report.Checks, func(c check) bool { return strings.Contains(c.Detail, "1 of 2 do not answer") })
		})
		served, refused := 0, 0
		for i := range owners {
			status, header := m.as(i, "while it is away")
			switch {
			case status == http.StatusOK:
				served++
			case status == http.StatusServiceUnavailable && header.Get("Retry-After") != "":
				refused++
			default:
				t.Errorf("owner %d gets %d, Retry-After %q", i, status, header.Get("Retry-After"))
			}
		}
		if served == 0 || refused == 0 {
			t.Errorf("hub %s serves %d owners and refuses %d, want both", m.id, served, refused)
		}
	}
	far.Launch(t)
	for _, m := range hubs {
		until(t, func() bool {
			for i := range owners {
				if status, _ := m.as(i, "it is back"); status != http.StatusOK {
					return false
				}
			}
			return true
		})
	}
}

// An owner that sends messages through two hubs moves to another database, on the command of an operator. No request
// fails. A drained database has no owners.
func TestShardsMove(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "moving fifteen owners that work")
	server := pgtest.Shared(t)
	home := server.Database(t)
	keys := "auth:\n  api_keys:\n    root-key-0123456789: {agent_id: root, roles: [admin]}\n"
	for i := range owners {
		keys += fmt.Sprintf("    %s: {agent_id: owner%d}\n", ownerKey(i), i)
	}
	store := fmt.Sprintf("{home: %q, databases: [%[1]q, %q]}", home, server.Database(t))
	var hubs []*member
	for _, id := range []string{"a", "b"} {
		config := fmt.Sprintf("log: {level: info}\nstore: %s\nhub_id: %s\nmaster_key: %q\n%s", store, id, key, keys)
		hubs = append(hubs, &member{hubtest.Start(t, hubtest.Options{Config: config}), t, id})
	}
	for i := range owners {
		if status, _ := hubs[i%2].as(i, "hello"); status != http.StatusOK {
			t.Fatalf("owner %d gets %d\n%s", i, status, hubs[i%2].Output())
		}
	}
	var senders sync.WaitGroup
	stop := make(chan struct{})
	for i := range 3 {
		senders.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if status, _ := hubs[n%2].as(i, fmt.Sprint("message ", n)); status != http.StatusOK {
					t.Errorf("owner %d gets %d for message %d", i, status, n)
					return
				}
			}
		})
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := hubs[0].Parley(t.Context(), append(append([]string{"shards"}, args...), "--store", home)...)
		if err != nil {
			t.Errorf("parley shards %v: %v\n%s", args, err, out)
		}
		return out
	}
	run("drain", "1")
	if rows := strings.Split(strings.TrimSpace(run("list")), "\n"); len(rows) != 2 || !strings.HasSuffix(rows[1], "\t0") {
		t.Errorf("databases after the drain = %q", rows)
	}
	run("drain", "1", "--undo")
	var list struct{ Tasks []struct{ Owner string } }
	hubs[0].call(hubtest.Request{URL: "/api/v1/tasks?scope=all&pageSize=1", Header: []string{"X-Api-Key", "root-key-0123456789"}}, &list)
	if len(list.Tasks) != 1 || list.Tasks[0].Owner == "" {
		t.Fatalf("tasks of all owners = %+v", list)
	}
	for _, to := range []string{"1", "0", "1"} {
		run("move", list.Tasks[0].Owner, to)
	}
	close(stop)
	senders.Wait()
	if out, err := hubs[0].Parley(t.Context(), "shards", "move", "nobody", "1", "--store", home); err == nil || !strings.Contains(out+err.Error(), "no tasks") {
		t.Errorf("a move of an unknown owner = %q, %v", out, err)
	}
}
