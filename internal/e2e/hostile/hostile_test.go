package hostile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// row is one hostile request.
type row struct {
	name string
	send send
	// want is the exact answer, see answer.String. For floods it may be two alternatives,
	// separated by the word or, because the refusal depends on timing.
	want string
}

// class is a group of rows.
type class struct {
	name string
	rows func(w *world) []row
}

// fixed returns rows that do not depend on the world.
func fixed(rows []row) func(*world) []row { return func(*world) []row { return rows } }

// table is the list of all rows.
var table = []class{
	{"tokens", tokenRows},
	{"keys", fixed(keyRows)},
	{"policy", fixed(policyRows)},
	{"heads", fixed(headRows)},
	{"bodies", fixed(bodyRows)},
	{"messages", messageRows},
	{"JSON-RPC", fixed(rpcRows)},
	{"HTTP+JSON", fixed(restRows)},
	{"wire", fixed(wireRows)},
	{"paths", fixed(pathRows)},
	{"cursors", fixed(cursorRows)},
	{"large parts", fixed(partRows)},
	{"webhooks", fixed(hookRows)},
	{"fronts", fixed(frontRows)},
	{"operators", fixed(operatorRows)},
	{"cards", cardRows},
	{"gRPC", fixed(grpcRows)},
	{"gRPC messages", fixed(grpcMessageRows)},
	{"HTTP/2", fixed(http2Rows)},
	{"floods", fixed(floodRows)},
}

// rowsAtLeast is the smallest number of rows in the table.
const rowsAtLeast = 770

func TestHostile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	patient := w.meanwhile(slowRows)
	counted := len(slowRows)
	for _, c := range table {
		rows := c.rows(w)
		counted += len(rows)
		t.Run(c.name, func(t *testing.T) { w.attack(t, rows) })
	}
	t.Run("slow", func(t *testing.T) {
		for i, a := range patient() {
			t.Run(slowRows[i].name, func(t *testing.T) { w.judge(t, &slowRows[i], a) })
		}
	})
	if counted < rowsAtLeast {
		t.Errorf("the table has %d rows, want %d", counted, rowsAtLeast)
	}
	t.Logf("%d rows", counted)
	w.quiet(t)
}

// meanwhile sends rows concurrently in the background. The returned function waits for the
// answers.
func (w *world) meanwhile(rows []row) func() []*answer {
	all := make([]*answer, len(rows))
	var wg sync.WaitGroup
	for i := range rows {
		wg.Go(func() { all[i] = rows[i].send(w) })
	}
	w.tb.Cleanup(wg.Wait)
	return func() []*answer { wg.Wait(); return all }
}

// attack sends rows one after the other.
func (w *world) attack(t *testing.T, rows []row) {
	t.Helper()
	before := w.stored()
	for _, r := range rows {
		t.Run(strings.ReplaceAll(r.name, "/", "∕"), func(t *testing.T) {
			w.judge(t, &r, r.send(w))
			after := w.stored()
			w.leaves(t, before)
			before = after
		})
	}
}

// judge checks the answer to a hostile request.
func (w *world) judge(t *testing.T, r *row, a *answer) {
	t.Helper()
	if got := a.String(); !slices.Contains(strings.Split(r.want, " or "), got) {
		t.Errorf("received %q, want %q\n%.600s%.1200s", got, r.want, a.head, a.body)
	}
	w.discreet(t, a)
}

// quiet fails the test if the log or the audit log contains a secret, or if the audit log is
// not intact.
func (w *world) quiet(t *testing.T) {
	t.Helper()
	text := w.hub.Output()
	logs := text + w.audited(t)
	for name, secret := range w.secrets() {
		if strings.Contains(logs, secret) && name != "folder of the hub" {
			t.Errorf("a log has the %s in it", name)
		}
	}
	for _, word := range []string{"panic", "goroutine ", "level=ERROR"} {
		if i := strings.Index(text, word); i >= 0 {
			t.Errorf("the log says %q: %.2000s", word, text[max(i-300, 0):])
		}
	}
	if out, err := w.hub.Parley(t.Context(), "audit", "verify", "--data", w.hub.Data()); err != nil {
		t.Errorf("the audit log: %v: %s", err, out)
	}
}

// audited returns the audit log, after a check that it contains the refusals.
func (w *world) audited(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.hub.Data(), "audit", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, action := range []string{"auth.refused", "policy.refused", "admin.refused"} {
		if !strings.Contains(all.String(), `"action":"`+action+`"`) {
			t.Errorf("the audit log has no %s", action)
		}
	}
	return all.String()
}
