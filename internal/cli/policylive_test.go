package cli

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestPolicyChangesWhileTheHubRuns changes the file of the policy under load. A caller that all
// versions allow is never refused, and one that none allows is never let in. The last valid
// version is in force.
func TestPolicyChangesWhileTheHubRuns(t *testing.T) {
	t.Parallel()
	const rules = "rules:\n  - {allow: send, callers: ann, agents: echo}\n  - {allow: status, callers: [ann, carl]}\n"
	const carl = "  - {allow: send, callers: carl, agents: echo}\n"
	path := filepath.Join(t.TempDir(), "policy.yaml")
	replace := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	replace(rules)
	cfg, err := config.Parse("parley.yaml", []byte(`
auth:
  api_keys:
    ann-0123456789abcdef: {agent_id: ann}
    bob-0123456789abcdef: {agent_id: bob}
    carl-0123456789abcdef: {agent_id: carl}
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen, cfg.Data, cfg.Bus.URL, cfg.Engine.DrainTimeout, cfg.Policy.File = "127.0.0.1:0", t.TempDir(), "off", -1, path
	var log testenv.Buffer
	running, stop := running(t, cfg, slog.New(slog.NewTextHandler(&log, nil)))
	h := &ruledHub{t: t, url: running.URL()}
	send := func(who string) int {
		code, _, _ := h.ask(who, "POST /v1/a2a/echo/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`)
		return code
	}
	becomes := func(what, who string, want int) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); send(who) != want; {
			if time.Now().After(end) {
				t.Fatalf("%s: %s is not answered %d", what, who, want)
			}
		}
	}
	output := func(part string) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !strings.Contains(log.String(), part); send("carl") {
			if time.Now().After(end) {
				t.Fatalf("the log does not say %q:\n%s", part, log.String())
			}
		}
	}

	var done atomic.Bool
	var asking sync.WaitGroup
	for _, tt := range []struct {
		who  string
		want int
	}{{"ann", 200}, {"bob", 403}} {
		asking.Go(func() {
			for !done.Load() {
				if got := send(tt.who); got != tt.want {
					t.Errorf("%s is answered %d, want %d", tt.who, got, tt.want)
					return
				}
			}
		})
	}
	defer asking.Wait()
	defer done.Store(true)

	becomes("at first", "carl", 403)
	replace(rules + carl)
	becomes("a rule more", "carl", 200)
	replace(rules + "  - {deny: sned, callers: carl}\n")
	output(`policy.yaml:4: rules[2].deny: unknown operation`)
	becomes("a mistake", "carl", 200)
	if code, _, body := h.ask("", "GET /readyz", ""); code != 200 || !strings.Contains(body, "policy.yaml is not applied; its earlier content stays in force") {
		t.Errorf("/readyz with a mistake: %d %s", code, body)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	output(path + ": no such file")
	becomes("no file", "carl", 200)
	replace(rules + "tests: [{want: allow, caller: carl, op: send, agent: echo}]\n")
	becomes("a rule less", "carl", 403)
	output("a test of the policy fails")
	if _, _, body := h.ask("", "GET /readyz", ""); strings.Contains(body, "policy.yaml is not applied; its earlier content stays in force") {
		t.Errorf("/readyz after the mistake: %s", body)
	}
	done.Store(true)
	asking.Wait()
	stop()

	var got []string
	for e, err := range audit.Read(t.Context(), filepath.Join(cfg.Data, "audit"), audit.Query{}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Subject.Kind != "policy" {
			continue
		}
		got = append(got, fmt.Sprintln(e.Actor.ID, e.Action, e.Subject.ID, e.Outcome, len(e.Detail["sha256"]) == 64, strings.Contains(e.Reason, "policy.yaml")))
	}
	want := []string{
		"hub config.load policy.yaml ok true false\n", // at the start
		"hub config.load policy.yaml ok true false\n",
		"hub config.load policy.yaml failed true true\n",
		"hub config.load policy.yaml failed false true\n",
		"hub config.load policy.yaml ok true false\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
}
