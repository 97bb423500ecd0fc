package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-a2a/parley/push"
)

// listener is a running "parley push listen".
type listener struct {
	t       *testing.T
	url     string
	welcome string
	signals chan os.Signal
	notes   *bufio.Scanner // standard error, after the welcome
	out     bytes.Buffer
	code    chan int
}

// startListener starts the command and waits until it listens.
func startListener(t *testing.T, o OS, args ...string) *listener {
	t.Helper()
	l := &listener{t: t, signals: make(chan os.Signal, 2), code: make(chan int, 1)}
	r, w := io.Pipe()
	l.notes = bufio.NewScanner(r)
	o.Stdin, o.Stderr = strings.NewReader(""), w
	if o.Stdout == nil {
		o.Stdout = &l.out
	}
	o.Signals = func() (<-chan os.Signal, func()) { return l.signals, func() {} }
	var wg sync.WaitGroup
	wg.Go(func() {
		l.code <- Main(t.Context(), append([]string{"push", "listen", "--listen", "127.0.0.1:0"}, args...), o)
		w.Close()
	})
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { r.Close() })
	for l.notes.Scan() {
		l.welcome += l.notes.Text() + "\n"
		if at, ok := strings.CutPrefix(l.notes.Text(), "Listening on "); ok {
			l.url, _, _ = strings.Cut(at, " ")
		}
		if strings.HasPrefix(l.notes.Text(), "    -d '{\"url\"") {
			return l
		}
	}
	t.Fatalf("the listener does not start: %q, exit code %d", l.welcome, <-l.code)
	return nil
}

// post sends a notification and returns the status.
func (l *listener) post(body string, header http.Header) int {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.url, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Content-Type", "application/json")
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// wantCode waits for the end of the command.
func (l *listener) wantCode(want int) {
	l.t.Helper()
	if got := <-l.code; got != want {
		l.t.Errorf("exit code %d, want %d", got, want)
	}
}

const (
	toldWorking  = `{"statusUpdate":{"taskId":"t1","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"one\n\u001btwo"}]}}}}`
	toldArtifact = `{"artifactUpdate":{"taskId":"t1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"hello"},{"raw":"aGk=","filename":"x.png","mediaType":"image/png"}]}}}`
	toldTask     = `{"task":{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`
	toldOld      = `{"kind":"task","id":"t1","contextId":"c","status":{"state":"input-required"}}`
)

// columns returns the lines of piped output without their times, whose format it checks.
func columns(t *testing.T, out string) [][]string {
	t.Helper()
	var lines [][]string
	for line := range strings.Lines(out) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if _, err := time.Parse("15:04:05.000", c[0]); err != nil {
			t.Errorf("line %q: %v", line, err)
		}
		lines = append(lines, c[1:])
	}
	return lines
}

func TestPushListenPrints(t *testing.T) {
	t.Parallel()
	l := startListener(t, OS{}, "--count", "4")
	if !strings.Contains(l.welcome, "--push-allow 127.0.0.1:") || !strings.Contains(l.welcome, "Notifications are not verified") {
		t.Errorf("the welcome is %q, want it to say what to allow, and to warn", l.welcome)
	}
	for _, body := range []string{toldWorking, toldArtifact, toldArtifact, toldTask, toldOld} {
		h := http.Header{}
		if body == toldArtifact {
			h.Set("Webhook-Id", "n2")
		}
		if got := l.post(body, h); got != http.StatusNoContent {
			t.Errorf("status %d for %s", got, body)
		}
	}
	l.wantCode(exitOK)
	const asked = "not verified: nothing was asked for"
	want := [][]string{
		{"t1", "working", asked, "one two"},
		{"t1", "artifact", asked, "hello [x.png, image/png, 2 B]"},
		{"t1", "artifact", asked + " (again)", "hello [x.png, image/png, 2 B]"},
		{"t1", "completed", asked},
		{"t1", "input-required", asked, "(protocol v0.3)"},
	}
	if diff := cmp.Diff(want, columns(t, l.out.String())); diff != "" {
		t.Errorf("output mismatch (-want +got):\n%s", diff)
	}
}

func TestPushListenVerifies(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	env := func(name string) (string, bool) {
		if name == "PARLEY_PUSH_TOKEN" {
			return "tok", true
		}
		return "", false
	}
	l := startListener(t, OS{LookupEnv: env}, "--authorization", "Bearer abc", "--secret", secret, "--count", "1")
	if strings.Contains(l.welcome, `"tok"`) || strings.Contains(l.welcome, "believed") {
		t.Errorf("the welcome %q tells the secret of the environment, or warns", l.welcome)
	}
	key, err := push.ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	good := http.Header{
		"X-A2a-Notification-Token": {"tok"}, "Authorization": {"Bearer abc"},
		"Webhook-Id": {"n1"}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {push.Sign([][]byte{key}, "n1", now, []byte(toldTask))},
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wrong := good.Clone()
	wrong.Set("X-A2A-Notification-Token", "tok2")
	wg.Go(func() {
		if got := l.post(toldTask, wrong); got != http.StatusUnauthorized {
			t.Errorf("a wrong token gives %d, want 401", got)
		}
	})
	if !l.notes.Scan() || !strings.Contains(l.notes.Text(), "refused POST from 127.0.0.1:") || !strings.HasSuffix(l.notes.Text(), "the token is wrong") {
		t.Errorf("standard error says %q, want who was refused and why", l.notes.Text())
	}
	if got := l.post(toldTask, good); got != http.StatusNoContent {
		t.Errorf("status %d, want the notification to be taken", got)
	}
	l.wantCode(exitOK)
	want := [][]string{{"t1", "completed", "verified by token, authorization, signature"}}
	if diff := cmp.Diff(want, columns(t, l.out.String())); diff != "" {
		t.Errorf("output mismatch (-want +got):\n%s", diff)
	}
}

func TestPushListenPrintsBodies(t *testing.T) {
	t.Parallel()
	l := startListener(t, OS{}, "--json", "--count", "2")
	l.post(" "+toldTask+"\n", nil)
	l.post(strings.ReplaceAll(toldArtifact, ":{", ": {"), nil)
	l.wantCode(exitOK)
	if diff := cmp.Diff(toldTask+"\n"+toldArtifact+"\n", l.out.String()); diff != "" {
		t.Errorf("output mismatch (-want +got):\n%s", diff)
	}
}

func TestPushListenEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	l := startListener(t, OS{Terminal: true})
	l.post(toldWorking, nil)
	l.signals <- os.Interrupt
	l.wantCode(exitOK)
	if got := l.out.String(); !strings.HasSuffix(got, "  t1  working  not verified: nothing was asked for  one two\n") {
		t.Errorf("a person sees %q", got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

// TestPushListenCannotPrint checks that a notification that cannot be printed gets a status
// that makes the sender repeat it.
func TestPushListenCannotPrint(t *testing.T) {
	t.Parallel()
	l := startListener(t, OS{Stdout: full{}})
	var wg sync.WaitGroup
	wg.Go(func() {
		if got := l.post(toldTask, nil); got != http.StatusInternalServerError {
			t.Errorf("status %d, want 500", got)
		}
	})
	var notes []string
	for l.notes.Scan() {
		notes = append(notes, l.notes.Text())
	}
	wg.Wait()
	if len(notes) == 0 || !strings.Contains(notes[len(notes)-1], "disk is full") {
		t.Errorf("standard error says %q, want the reason last", notes)
	}
	l.wantCode(exitFailed)
}

func TestPushListenUsage(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for want, args := range map[string][]string{
		"--count must not be negative": {"--count=-1"},
		`must begin with "whsec_"`:     {"--secret", "abc"},
		"a scheme and credentials":     {"--authorization", "Bearer"},
		"in use by another program":    {"--listen", taken.Addr().String()},
		"address 4180":                 {"--listen", "4180"},
	} {
		if code, _, errs := invoke(t, OS{}, append([]string{"push", "listen"}, args...)...); code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("push listen %v = %d, %q, want %q", args, code, errs, want)
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u00e4", longestText)
	n := &notification{o: &OS{}}
	for text, want := range map[string]string{long: long, long + "b": long + "…"} {
		body := `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"` + text + `"}]}}`
		if got := n.text(&push.Notification{Kind: push.KindMessage, Body: []byte(body)}); got != want {
			t.Errorf("%d characters are printed of %d", len([]rune(got)), len([]rune(text)))
		}
	}
}

// TestTasksShowTheirAnswer prints a notification with a task: its status message or, without one, its
// answer.
func TestTasksShowTheirAnswer(t *testing.T) {
	t.Parallel()
	n := &notification{o: &OS{}}
	for message, want := range map[string]string{"": "the answer", `"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a reason"}]},`: "a reason"} {
		body := `{"task":{"id":"t","contextId":"c","status":{` + message + `"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"the answer"}]}]}}`
		if got := n.text(&push.Notification{Kind: push.KindTask, Body: []byte(body)}); got != want {
			t.Errorf("it prints %q, want %q", got, want)
		}
	}
}

// heardExample starts the listener, sends the hub the first example of the listener's welcome,
// and writes the output of the listener to the file heard.out: heard COUNT ARGS...
func heardExample(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: heard COUNT ARGS...")
	}
	path, err := exec.LookPath("parley")
	ts.Check(err)
	cmd := exec.Command(path, append([]string{"push", "listen", "--listen", "127.0.0.1:0", "--count", args[0]}, args[1:]...)...)
	cmd.Env = append(os.Environ(), "GORACE="+noNap)
	for _, name := range []string{"PARLEY_URL", "PARLEY_API_KEY", "PARLEY_PUSH_TOKEN", "PARLEY_PUSH_AUTHORIZATION"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { cmd.Process.Kill() })
	notes := bufio.NewReader(errs)
	example := ""
	for !strings.HasPrefix(example, "Try:") || !strings.Contains(example, "}}'") {
		line, err := notes.ReadString('\n')
		ts.Check(err)
		if example != "" || strings.HasPrefix(line, "Try:") {
			example += line
		}
	}
	// The shell reads the example as a person's would, with a curl that prints its arguments.
	shell := exec.Command("sh", "-c", `curl() { printf '%s\0' "$@"; }; `+strings.TrimPrefix(example, "Try:\n"))
	shell.Env = cmd.Env
	printed, err := shell.Output()
	ts.Check(err)
	curl := strings.Split(strings.TrimSuffix(string(printed), "\x00"), "\x00")
	r, err := http.NewRequest(http.MethodPost, curl[0], strings.NewReader(curl[len(curl)-1]))
	ts.Check(err)
	for i, word := range curl {
		if name, value, _ := strings.Cut(word, ": "); curl[max(i-1, 0)] == "-H" {
			r.Header.Set(name, value)
		}
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		ts.Fatalf("the example gives %d: %s, %v", resp.StatusCode, answer, err)
	}
	text, _ := io.ReadAll(notes)
	if err := cmd.Wait(); err != nil {
		ts.Fatalf("parley push listen: %v\n%s", err, text)
	}
	ts.Check(os.WriteFile(ts.MkAbs("heard.out"), out.Bytes(), 0o644))
}
