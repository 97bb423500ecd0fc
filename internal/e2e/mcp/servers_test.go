package mcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// server is the hub's description of an MCP server.
type server struct {
	Name, State, Reason, Server string
	Tools, Starts               int
}

// servers waits until ok accepts the hub's servers.
func servers(t *testing.T, hub *hubtest.Hub, ok func([]server) bool) []server {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var status struct{ MCPServers []server }
		if err := hubtest.Call(t.Context(), hubtest.Request{URL: hub.URL() + "/api/v1/status"}, &status); err != nil {
			t.Fatal(err)
		}
		if len(status.MCPServers) > 0 && ok(status.MCPServers) {
			return status.MCPServers
		}
		if time.Now().After(deadline) {
			t.Fatalf("servers = %+v", status.MCPServers)
		}
	}
}

// pid returns the process of the server that the hub has started.
func pid(t *testing.T, hub *hubtest.Hub) int {
	t.Helper()
	records, err := filepath.Glob(filepath.Join(hub.Data(), "runs", "*", "process.json"))
	if err != nil || len(records) != 1 {
		t.Fatalf("records = %v, %v, want one", records, err)
	}
	b, err := os.ReadFile(records[0])
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ Pid int }
	if err := json.Unmarshal(b, &record); err != nil || record.Pid == 0 {
		t.Fatalf("record %s: %v", b, err)
	}
	return record.Pid
}

// A hub keeps MCP servers running, and finds their tools. After a kill, the next hub ends the
// servers that the killed one left running.
func TestServersOfAHub(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hub := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`mcp_servers:
  - {name: weather, summary: Knows the weather., command: [%q], env: {TEST_SERVER: "1"}}
  - {name: lazy, command: [%q], env: {TEST_SERVER: "1"}, start: demand}
  - {name: none, command: [/no/such/program]}
`, self, self)})
	ready := func(all []server) bool {
		return all[0].State == "ready" && all[0].Tools == 1 && all[0].Server == "weather 1"
	}
	all := servers(t, hub, func(all []server) bool { return ready(all) && all[len(all)-1].State != "starting" })
	if all[1].State != "idle" || all[2].State == "ready" || !strings.Contains(all[2].Reason, "/no/such/program") {
		t.Errorf("the others are %+v", all[1:])
	}
	var found struct {
		Results []struct{ ID, Type string }
	}
	if err := hubtest.Call(t.Context(), hubtest.Request{URL: hub.URL() + "/api/v1/search?q=will+it+rain"}, &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Results) == 0 || found.Results[0].ID != "weather" || found.Results[0].Type != "mcp" {
		t.Errorf("a search for rain finds %+v", found)
	}

	// A server that crashes is started again.
	if err := syscall.Kill(pid(t, hub), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	servers(t, hub, func(all []server) bool { return ready(all) && all[0].Starts == 2 })

	// The next hub ends the old server before it starts a new one.
	old := pid(t, hub)
	hub.Kill()
	hub.Restart()
	servers(t, hub, ready)
	if syscall.Kill(old, 0) == nil && pid(t, hub) == old {
		t.Errorf("process %d of the killed hub is still there", old)
	}
	last := pid(t, hub)
	hub.Stop()
	if syscall.Kill(last, 0) == nil {
		t.Errorf("process %d is there after the hub has stopped", last)
	}
}
