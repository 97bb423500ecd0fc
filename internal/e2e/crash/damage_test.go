package crash

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// alter runs statements on the store of a hub that does not run.
func alter(t *testing.T, data, script string) {
	t.Helper()
	c, err := sqlite.OpenConn(filepath.Join(data, "parley.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedDataIsShown overwrites the log of one task. Its caller gets an error that a retry
// does not mend, other tasks are served, and the operator finds the task in the log, once, the
// damage in /readyz and the reads in /metrics.
func TestDamagedDataIsShown(t *testing.T) {
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{})}
	ids := h.sent(5)
	h.Stop()
	alter(t, h.Data(), "UPDATE entries SET data = x'ff00' WHERE place >> 24 = (SELECT min(key) FROM tasks)")
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if code, body := h.read("/v1/a2a/tasks/" + ids[0]); code != http.StatusInternalServerError || !strings.Contains(body, "DATA_LOSS") {
			t.Errorf("get of the damaged task = %d %s, want 500 DATA_LOSS", code, body)
		}
	}
	if gone := h.missing(ids[1:]); len(gone) > 0 {
		t.Errorf("tasks %q are not served", gone)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "stored data is damaged (1 objects") {
		t.Errorf("readyz = %d %s, want 503 that names the damage", code, body)
	}
	if _, body := h.read("/metrics"); !strings.Contains(body, "parley_store_damaged_total") {
		t.Errorf("metrics do not count the damage:\n%s", body)
	}
	h.Stop() // its output is complete then
	text := h.Output()
	if n := strings.Count(text, "stored data is damaged; examine"); n != 1 || !strings.Contains(text, "task="+ids[0]) {
		t.Errorf("the log names the damage %d times, want once with the task", n)
	}
}

// TestChangedTextsAreDamage changes a byte of a text on the disk, so that it is no UTF-8, for tasks of
// one hub: in the log of the first and in the head of the second. No binding and version shows either,
// and the other tasks are served, in the lists of their owner, too.
func TestChangedTextsAreDamage(t *testing.T) {
	addr := hubtest.Addr(t)
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Flags: []string{"--grpc-listen", addr}})}
	ids := h.sent(5)
	h.Stop()
	const change = "UPDATE %s SET %s = unhex(replace(hex(%[2]s), hex('\"hi\"'), '22FE6922')) WHERE %s = (SELECT key FROM tasks ORDER BY key LIMIT 1 OFFSET %d)"
	alter(t, h.Data(), fmt.Sprintf(change, "entries", "data", "place >> 24", 0)+";"+
		"UPDATE tasks SET rest = CAST(substr(rest, 1, length(rest) - 1) || x'fe' AS BLOB) WHERE key = (SELECT key FROM tasks ORDER BY key LIMIT 1 OFFSET 1)")
	out, err := h.Parley(t.Context(), "doctor", "--data", h.Data(), "--offline")
	if err == nil || !strings.Contains(out, ids[0]) || !strings.Contains(out, ids[1]) || strings.Contains(out, ids[2]) {
		t.Errorf("doctor = %v, want the two damaged tasks:\n%s", err, out)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rpc := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	}
	for i, id := range ids {
		_, err := pb.NewA2AServiceClient(c).GetTask(t.Context(), &pb.GetTaskRequest{Id: id})
		if want := map[bool]codes.Code{true: codes.DataLoss, false: codes.OK}[i < 2]; grpcstatus.Code(err) != want {
			t.Errorf("gRPC get of task %d = %v, want %v", i, err, want)
		}
		for name, ask := range map[string]func() (int, string){
			"HTTP+JSON 1.0": func() (int, string) { return h.read("/v1/a2a/tasks/" + id) },
			"HTTP+JSON 0.3": func() (int, string) { return h.read("/v1/tasks/" + id) },
			"JSON-RPC 1.0": func() (int, string) {
				return h.do("/", rpc("GetTask", fmt.Sprintf(`{"id":%q}`, id)), "A2A-Version", "1.0")
			},
			"JSON-RPC 0.3": func() (int, string) { return h.do("/", rpc("tasks/get", fmt.Sprintf(`{"id":%q}`, id))) },
		} {
			code, body := ask()
			lost := strings.Contains(body, "DATA_LOSS") || strings.Contains(body, `"error"`)
			if lost != (i < 2) || !utf8.ValidString(body) || strings.Contains(body, "\ufffd") || strings.Contains(body, "COMPLETED") == (i < 2) && name == "HTTP+JSON 1.0" {
				t.Errorf("%s get of task %d = %d %s", name, i, code, body)
			}
		}
	}
	for _, path := range []string{"/v1/a2a/tasks", "/v1/a2a/tasks?includeArtifacts=true&historyLength=5"} {
		code, body := h.read(path)
		if n := strings.Count(body, `"TASK_STATE_COMPLETED"`); code != http.StatusOK || n != len(ids) || !utf8.ValidString(body) || strings.Contains(body, "\ufffd") {
			t.Errorf("%s = %d with %d tasks, want %d: %s", path, code, n, len(ids), body)
		}
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "stored data is damaged (2 objects") {
		t.Errorf("readyz = %d %s, want 503 that names the damage", code, body)
	}
}

// TestPagesAreExaminedAtStart overwrites a page that the start does not read. The hub is not ready
// soon after the start, although no caller has met the damage, and the log names the table.
func TestPagesAreExaminedAtStart(t *testing.T) {
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{})}
	h.sent(5)
	h.Stop()
	path := filepath.Join(h.Data(), "parley.db")
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	var root int64
	err = sqlitex.Execute(c, "SELECT rootpage FROM sqlite_schema WHERE name = 'dead_letters'", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error { root = s.ColumnInt64(0); return nil },
	})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	scribble(t, path, (root-1)*4096, 4096)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	if err := h.Process().Await(t.Context(), "stored data is damaged; examine"); err != nil {
		t.Fatal(err)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "stored data is damaged (1 objects") {
		t.Errorf("readyz = %d %s, want 503 that names the damage", code, body)
	}
	if said := h.Output(); !strings.Contains(said, "table dead_letters") {
		t.Errorf("the log does not name the table:\n%s", said)
	}
}
