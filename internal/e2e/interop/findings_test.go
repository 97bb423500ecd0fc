package interop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/parley-a2a/parley/internal/check"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// finding is the reproduction of one or more findings of parley check with curl.
type finding struct {
	IDs []string
	// Webhook starts a webhook, at $HOOK, and shows its first notification.
	Webhook bool
	Steps   []step
}

// step is a call of curl: either its whole line or a JSON-RPC call.
type step struct {
	Curl    string
	RPC     string
	Params  string
	Version string
	Headers bool
}

// line returns the command. Variables in params are placed outside of the quotes.
func (s step) line() string {
	if s.Curl != "" {
		return s.Curl
	}
	version, flags := s.Version, "-s"
	if version == "" {
		version = "1.0"
	}
	if s.Headers {
		flags = "-si"
	}
	params := regexp.MustCompile(`\$[A-Z]+`).ReplaceAllString(s.Params, `'$0'`)
	return fmt.Sprintf("curl %s $RPC -H 'A2A-Version: %s' -H 'Content-Type: application/json' \\\n  -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":%q,\"params\":%s}'",
		flags, version, s.RPC, params)
}

// stage is a server with the variables of its commands.
type stage struct {
	vars map[string]string
	told chan string
}

// newStage reads the card of a server.
func newStage(t testing.TB, url string) *stage {
	t.Helper()
	s := &stage{vars: map[string]string{"CARD": url + "/.well-known/agent-card.json"}, told: make(chan string, 100)}
	r, err := http.Get(s.vars["CARD"])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var card struct {
		URL                  string
		SupportedInterfaces  []struct{ URL, ProtocolBinding string }
		AdditionalInterfaces []struct{ URL, Transport string }
	}
	if err := json.NewDecoder(r.Body).Decode(&card); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"JSONRPC": "RPC", "HTTP+JSON": "REST", "GRPC": "GRPC"}
	s.vars["RPC"] = card.URL
	for _, i := range card.AdditionalInterfaces {
		s.vars[names[i.Transport]] = i.URL
	}
	for _, i := range card.SupportedInterfaces {
		s.vars[names[i.ProtocolBinding]] = i.URL
	}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case s.told <- fmt.Sprintf("%s %s HTTP/1.1\nContent-Type: %s", r.Method, r.URL.Path, r.Header.Get("Content-Type")):
		default:
		}
	}))
	t.Cleanup(hook.Close)
	s.vars["HOOK"] = hook.URL + "/hook"
	return s
}

// run runs a command like a shell, and keeps the id of the task in the answer.
func (s *stage) run(t testing.TB, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Env = os.Environ()
	for name, value := range s.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	const partial = 18 // exit code of curl for a truncated answer
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != partial {
		t.Fatalf("%s: %v", line, err)
	}
	var answer struct {
		Result struct {
			Task     struct{ ID string }
			Kind, ID string // of v0.3
		}
	}
	if json.Unmarshal(out.Bytes(), &answer) == nil {
		if answer.Result.Kind == "task" {
			answer.Result.Task.ID = answer.Result.ID
		}
		s.vars["TASK"] = cmp.Or(answer.Result.Task.ID, s.vars["TASK"])
	}
	return out.String()
}

// Values that differ from run to run.
var (
	uuid      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)`)
	etag      = regexp.MustCompile(`(?im)^(etag: ).*`)
	port      = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	header    = regexp.MustCompile(`(?i)^(HTTP/|content-type:|cache-control:|etag:|grpc-status:|grpc-message:)`)
)

// steady returns an answer without values that differ from run to run, and without irrelevant
// headers.
func steady(answer string) string {
	ids := map[string]string{}
	answer = uuid.ReplaceAllStringFunc(answer, func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("ID-%d", len(ids)+1)
		}
		return ids[id]
	})
	answer = etag.ReplaceAllString(answer, "${1}…")
	answer = port.ReplaceAllString(timestamp.ReplaceAllString(answer, "TIME"), "127.0.0.1:PORT")
	if !strings.HasPrefix(answer, "HTTP/") {
		return strings.TrimSpace(answer)
	}
	lines := strings.Split(strings.ReplaceAll(answer, "\r\n", "\n"), "\n")
	inBody := false
	lines = slices.DeleteFunc(lines, func(l string) bool {
		inBody = inBody || l == ""
		return l == "" || !inBody && !header.MatchString(l)
	})
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// section writes the findings of a server, as Markdown.
func (s *server) section(t testing.TB, url string, all []finding) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", s.title)
	known := s.findings(t)
	at := newStage(t, url)
	for _, f := range all {
		for _, id := range f.IDs {
			i := slices.IndexFunc(known, func(k check.Known) bool { return k.ID == id })
			if i < 0 {
				t.Fatalf("%s: %s is no finding", s.name, id)
			}
			b.WriteString(describe(&known[i]))
		}
		at.show(t, &b, &f)
	}
	return b.String()
}

// describe returns the rule of a finding.
func describe(k *check.Known) string {
	on := "all interfaces"
	if len(k.Interfaces) > 0 {
		on = strings.Join(k.Interfaces, ", ")
	}
	if strings.HasPrefix(k.ID, "card.") {
		on = "the card"
	}
	for _, q := range check.Requirements() {
		if q.ID == k.ID {
			return fmt.Sprintf("**%s** (%s, %s; %s).\nRule: %s\nDefect: %s.\n\n", k.ID, q.Level, q.Section, on, q.Text, k.Reason)
		}
	}
	return fmt.Sprintf("**%s**: %s.\n\n", k.ID, k.Reason)
}

// show runs the steps of a finding, and writes them and the last answer.
func (s *stage) show(t testing.TB, b *strings.Builder, f *finding) {
	t.Helper()
	b.WriteString("```sh\n")
	answer := ""
	for i, step := range f.Steps {
		answer = s.run(t, step.line())
		b.WriteString(step.line() + "\n")
		if i == 0 && len(f.Steps) > 1 {
			b.WriteString("# TASK is the id of the task in the result\n")
		}
	}
	b.WriteString("```\n\n")
	if f.Webhook {
		b.WriteString("The webhook at `$HOOK` receives:\n\n")
		select {
		case answer = <-s.told:
		case <-t.Context().Done():
			t.Fatal("the webhook receives nothing")
		}
	}
	fmt.Fprintf(b, "```\n%s\n```\n\n", steady(answer))
}

// about returns the file about a server in a folder of testdata, or nil without such a file.
func (s *server) about(t testing.TB, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", dir, s.name+".yaml"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

// findings returns the findings that parley check must report for a server.
func (s *server) findings(t testing.TB) []check.Known {
	t.Helper()
	all, err := check.ReadKnown(s.about(t, "servers"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readFindings reads the reproductions of a server's findings. If the file exists, it must
// contain each of the findings.
func (s *server) readFindings(t testing.TB) []finding {
	t.Helper()
	b := s.about(t, "curl")
	if b == nil {
		return nil
	}
	var file struct{ Findings []finding }
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.DisallowUnknownField()).Decode(&file); err != nil {
		t.Fatal(err)
	}
	for _, k := range s.findings(t) {
		if !slices.ContainsFunc(file.Findings, func(f finding) bool { return slices.Contains(f.IDs, k.ID) }) {
			t.Errorf("%s: nothing shows the finding %s", s.name, k.ID)
		}
	}
	return file.Findings
}

// TestFindings runs every curl command of README.md against its server, and checks that
// the page shows the answers.
func TestFindings(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "curl")
	var b strings.Builder
	for i := range servers {
		s := &servers[i]
		if all := s.readFindings(t); len(all) > 0 {
			b.WriteString(s.section(t, startForeign(t, s.dir, s.program(t, s.dir)), all))
		}
	}
	wantPart(t, "findings", b.String())
}

func TestSteady(t *testing.T) {
	t.Parallel()
	got := steady("HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\n\r\n{\"id\":\"01a20109-e69b-7470-960b-a45a843e3378\"," +
		"\"at\":\"2026-11-22T02:15:55.8Z\",\"url\":\"http://127.0.0.1:4711/x\",\"again\":\"01a20109-e69b-7470-960b-a45a843e3378\"}")
	want := "HTTP/1.1 200 OK\nContent-Type: text/plain\n{\"id\":\"ID-1\",\"at\":\"TIME\",\"url\":\"http://127.0.0.1:PORT/x\",\"again\":\"ID-1\"}"
	if got != want {
		t.Errorf("steady = %q, want %q", got, want)
	}
}
