package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// mcpReport is the output of the host in TypeScript.
type mcpReport struct {
	Server struct{ Name string }
	Tools  []string
	Called map[string]struct {
		IsError bool
		Text    string
	}
	Progress, Asked, Resources, Templates []string
	Updated, Left                         int
	Chat, Plan, Canceled, Unknown         string
}

// The official TypeScript client lists and calls every tool over both transports, with
// progress, cancellation and questions, and reads and watches all resources.
func TestMCPHost(t *testing.T) {
	t.Parallel()
	url, _ := serveHub(t, t.TempDir(), "--data", t.TempDir(), "--agents-allow", "loopback")
	for kind, args := range map[string][]string{
		"stdio": {"stdio", binary, "mcp", "--url", url, "--session", "table"},
		"http":  {"http", url + "/mcp"},
	} {
		t.Run(kind, func(t *testing.T) { // not concurrently, because they are one caller
			report := runMCPHost(t, args)
			for _, name := range report.Tools {
				if got, ok := report.Called[name]; !ok || got.IsError {
					t.Errorf("%s: called %v, %s", name, ok, got.Text)
				}
			}
			if len(report.Tools) < 17 || report.Server.Name != "parley" || !strings.Contains(report.Chat, "hello") {
				t.Errorf("%d tools of %q; chat: %s", len(report.Tools), report.Server.Name, report.Chat)
			}
			wants := []string{"interview working"}
			if kind == "http" { // over pipes this client drops progress that arrives together with the answer of its call
				wants = append(wants, "echo submitted")
			}
			for _, want := range wants {
				if !slices.ContainsFunc(report.Progress, func(s string) bool { return strings.Contains(s, want) }) {
					t.Errorf("no progress has %q: %q", want, report.Progress)
				}
			}
			if len(report.Asked) < 2 || !strings.Contains(report.Asked[0], "What is your name?") {
				t.Errorf("asked %q", report.Asked)
			}
			if !strings.Contains(report.Plan, "\nbuy tulips\n</quoted") || len(report.Templates) != 4 || report.Updated == 0 {
				t.Errorf("plan = %q, templates %v, %d updates", report.Plan, report.Templates, report.Updated)
			}
			if !strings.Contains(report.Canceled, "enough") || report.Left != 0 {
				t.Errorf("the canceled call ends with %q, and %d tasks go on", report.Canceled, report.Left)
			}
			if !strings.Contains(report.Unknown, "unknown tool") {
				t.Errorf("an unknown tool gives %q", report.Unknown)
			}
		})
	}
}

func runMCPHost(t *testing.T, args []string) *mcpReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"mcp/host.mjs"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("host: %v\n%s\n%s", err, &out, &errs)
	}
	var report mcpReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("host: %v: %s", err, &out)
	}
	return &report
}
