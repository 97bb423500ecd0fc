//go:build linux

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(hubVariable); dir != "" {
		actAsHub(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// shell returns an agent that runs a script.
func shell(script string) *Agent {
	return &Agent{Command: []string{"/bin/sh", "-c", script}}
}

// asking returns the context of a first run with a message of texts.
func asking(texts ...string) *a2asrv.ExecutorContext {
	m := a2a.NewMessage(a2a.MessageRoleUser)
	for _, t := range texts {
		m.Parts = append(m.Parts, a2a.NewTextPart(t))
	}
	return &a2asrv.ExecutorContext{TaskID: "task-1", ContextID: "context-1", Message: m}
}

// result is the result of a run.
type result struct {
	states   []a2a.TaskState
	said     string // the text of the last status
	metadata map[string]any
	chunks   []string
	parts    a2a.ContentParts
	sealed   bool
	err      error
}

// text returns the joined chunks.
func (r *result) text() string { return strings.Join(r.chunks, "") }

// add applies one event.
func (r *result) add(t testing.TB, e a2a.Event) {
	t.Helper()
	if got, want := e.TaskInfo(), (a2a.TaskInfo{TaskID: "task-1", ContextID: "context-1"}); got != want {
		t.Errorf("event of %v, want %v", got, want)
	}
	switch e := e.(type) {
	case *a2a.TaskStatusUpdateEvent:
		r.states = append(r.states, e.Status.State)
		r.said, r.metadata = "", nil
		if m := e.Status.Message; m != nil {
			r.said, r.metadata = m.Parts[0].Text(), m.Metadata
		}
	case *a2a.TaskArtifactUpdateEvent:
		if r.sealed {
			t.Error("a chunk after the last one")
		}
		if e.Append != (len(r.parts) > 0) {
			t.Errorf("append is %v after %d chunks", e.Append, len(r.parts))
		}
		r.sealed = e.LastChunk
		r.parts = append(r.parts, e.Artifact.Parts...)
		for _, p := range e.Artifact.Parts {
			r.chunks = append(r.chunks, p.Text())
		}
	default:
		t.Errorf("unexpected event %T", e)
	}
}

// execute runs a until it ends.
func execute(t testing.TB, a *Agent, ec *a2asrv.ExecutorContext) *result {
	t.Helper()
	return executeWith(t.Context(), t, a, ec, nil)
}

// executeWith runs a until it ends, and calls at after each event.
func executeWith(ctx context.Context, t testing.TB, a *Agent, ec *a2asrv.ExecutorContext, at func(*result)) *result {
	t.Helper()
	r := new(result)
	for e, err := range a.Execute(ctx, ec) {
		if err != nil {
			r.err = err
			continue
		}
		r.add(t, e)
		if at != nil {
			at(r)
		}
	}
	return r
}

// ended checks the last state and the text with which the run ended: the output of a completed
// run, whose status has no message, else the message of the status. Newlines at the end of the
// output are ignored.
func (r *result) ended(t testing.TB, state a2a.TaskState, text string) {
	t.Helper()
	if r.err != nil {
		t.Fatalf("Execute: %v", r.err)
	}
	if diff := cmp.Diff([]a2a.TaskState{a2a.TaskStateWorking, state}, r.states); diff != "" {
		t.Errorf("states mismatch (-want +got):\n%s\nsaid: %s", diff, r.said)
	}
	got := r.said
	if state == a2a.TaskStateCompleted {
		got = strings.TrimRight(r.text(), "\n")
		if r.said != "" {
			t.Errorf("said %q besides the output", r.said)
		}
	}
	if got != text {
		t.Errorf("said %q, want %q", got, text)
	}
}

// fifo creates a named pipe.
func fifo(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open unblocks a script that reads the named pipe.
func open(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		input        []string
		want         string
	}{
		{"text", `echo hello`, nil, "hello\n"},
		{"no newline", `printf hello`, nil, "hello"},
		{"only newlines", `echo; echo`, nil, "\n\n"},
		{"input", `cat`, []string{"what you say"}, "what you say"},
		{"parts are lines", `cat`, []string{"a", "", "b\n"}, "a\n\nb\n"},
		{"nothing", `exit 0`, []string{"x"}, ""},
		{"standard error is not the answer", `echo no >&2; echo yes`, nil, "yes\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := shell(tt.script)
			a.quiet = time.Minute // the program ends earlier
			r := execute(t, a, asking(tt.input...))
			r.ended(t, a2a.TaskStateCompleted, strings.TrimRight(tt.want, "\n"))
			if r.text() != tt.want {
				t.Errorf("output = %q, want %q", r.text(), tt.want)
			}
			if r.sealed != (tt.want != "") {
				t.Errorf("artifact closed is %v", r.sealed)
			}
		})
	}
}

func TestOutputStreams(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	a := shell(`echo one; read x < "$GATE"; echo two`)
	a.Env = []string{"GATE=" + gate}
	opened := false
	r := executeWith(t.Context(), t, a, asking(), func(r *result) {
		// The script waits: only a chunk that arrives before its end can open the gate.
		if !opened && strings.HasPrefix(r.text(), "one") {
			opened = true
			open(t, gate)
		}
	})
	r.ended(t, a2a.TaskStateCompleted, "one\ntwo")
	if len(r.chunks) < 2 || r.text() != "one\ntwo\n" {
		t.Errorf("chunks = %q", r.chunks)
	}
}

// TestOneAnswerIsOneChunk checks that output written directly before the end is one part, which
// closes the artifact, and that no part is empty.
func TestOneAnswerIsOneChunk(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{`printf HELLO`: "HELLO", `echo HELLO`: "HELLO\n", `printf 'a\n\303\244'`: "a\nä"} {
		a := shell(script)
		a.quiet = time.Hour
		r := execute(t, a, asking())
		if diff := cmp.Diff([]string{want}, r.chunks); diff != "" || !r.sealed {
			t.Errorf("%s: closed is %v, chunks (-want +got):\n%s", script, r.sealed, diff)
		}
	}
	gate := fifo(t)
	a := shell(`printf HELLO; read x < "$GATE"`)
	a.Env = []string{"GATE=" + gate}
	r := executeWith(t.Context(), t, a, asking(), func(r *result) {
		if r.text() == "HELLO" && len(r.states) == 1 {
			open(t, gate)
		}
	})
	r.ended(t, a2a.TaskStateCompleted, "HELLO")
	if diff := cmp.Diff([]string{"HELLO"}, r.chunks); diff != "" {
		t.Errorf("a program that ends later: chunks (-want +got):\n%s", diff)
	}
}

// TestTextBeforeTheEnd checks that output written just before the program is ended is not lost.
func TestTextBeforeTheEnd(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	a := shell(`printf partly; echo >"$GATE"; exec sleep 1000`)
	a.quiet, a.Env = time.Hour, []string{"GATE=" + gate}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, _ = os.ReadFile(gate) // until the program has written it
		cancel()
	})
	if r := executeWith(ctx, t, a, asking(), nil); r.text() != "partly" || r.err == nil {
		t.Errorf("output = %q, error %v", r.text(), r.err)
	}
}

func TestRunesAreNotSplit(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	a := shell(`printf 'a\303'; read x < "$GATE"; printf '\244b'`)
	a.Env = []string{"GATE=" + gate}
	r := executeWith(t.Context(), t, a, asking(), func(r *result) {
		if r.text() == "a" {
			open(t, gate)
		}
	})
	r.ended(t, a2a.TaskStateCompleted, "aäb")
	if diff := cmp.Diff([]string{"a", "äb"}, r.chunks); diff != "" {
		t.Errorf("chunks mismatch (-want +got):\n%s", diff)
	}
}

func TestBinaryOutput(t *testing.T) {
	t.Parallel()
	raw := func(b string) *a2a.Part {
		p := a2a.NewRawPart([]byte(b))
		p.MediaType = "application/octet-stream"
		return p
	}
	gate := fifo(t)
	for _, tt := range []struct {
		name, script string
		want         a2a.ContentParts
	}{
		{"all", `printf '\211PNG\n'`, a2a.ContentParts{raw("\x89PNG\n")}},
		{"zero bytes", `printf 'a\000b'`, a2a.ContentParts{raw("a\x00b")}},
		{"cut rune at the end", `printf '\303'`, a2a.ContentParts{raw("\xc3")}},
		{
			"after text", `printf 'head\n'; read x < "$GATE"; printf 'a\377'; printf 'b'`,
			a2a.ContentParts{a2a.NewTextPart("head"), raw("\na\xffb")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := shell(tt.script)
			a.Env = []string{"GATE=" + gate}
			r := executeWith(t.Context(), t, a, asking(), func(r *result) {
				if r.text() == "head" && !r.sealed {
					open(t, gate)
				}
			})
			r.ended(t, a2a.TaskStateCompleted, strings.TrimRight(r.text(), "\n"))
			if diff := cmp.Diff(tt.want, r.parts); diff != "" {
				t.Errorf("parts mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLongAnswersAreWhole checks that neither a long answer nor a long question is cut.
func TestLongAnswersAreWhole(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ä", 70_000)
	r := execute(t, shell("cat"), asking(text))
	r.ended(t, a2a.TaskStateCompleted, text)
	execute(t, shell("cat; exit 3"), asking(text)).ended(t, a2a.TaskStateInputRequired, text)
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script, said string
		code               any
	}{
		{"code", `exit 7`, `program "sh" ended with exit status 7`, 7},
		{"code and reason", `echo 'no such city' >&2; exit 1`, `program "sh" ended with exit status 1: no such city`, 1},
		{"signal", `kill -KILL $$`, `program "sh" ended with signal: killed`, nil},
		{
			"reason that cannot be shown", `printf 'bad \377 \033[31mred\000' >&2; exit 2`,
			`program "sh" ended with exit status 2: bad ` + "\uFFFD" + ` [31mred`, 2,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := execute(t, shell(tt.script), asking())
			r.ended(t, a2a.TaskStateFailed, tt.said)
			if got := r.metadata["exitCode"]; got != tt.code {
				t.Errorf("exit code = %v, want %v", got, tt.code)
			}
		})
	}
}

func TestFailureKeepsOutputAndTheEndOfStandardError(t *testing.T) {
	t.Parallel()
	r := execute(t, shell(`echo partly; i=0; while [ $i -lt 500 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`), asking())
	if got := r.text(); got != "partly\n" {
		t.Errorf("output = %q, want the output before the failure", got)
	}
	if !strings.HasSuffix(r.said, "line 499") || strings.Contains(r.said, "line 1\n") || len(r.said) > maxTail+100 {
		t.Errorf("said %d bytes: %.100q…", len(r.said), r.said)
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	a := shell(`
		if [ -z "$PARLEY_TASK_FILE" ]; then echo 'Which city?'; exit 3; fi
		cat; printf ' of '; cat "$PARLEY_TASK_FILE"`)
	first := asking("weather")
	r := execute(t, a, first)
	r.ended(t, a2a.TaskStateInputRequired, "Which city?")

	next := asking("Oslo")
	next.StoredTask = &a2a.Task{
		ID: "task-1", ContextID: "context-1",
		Status:  a2a.TaskStatus{State: a2a.TaskStateInputRequired},
		History: []*a2a.Message{first.Message, next.Message},
	}
	r = execute(t, a, next)
	city, stored, _ := strings.Cut(r.text(), " of ")
	if city != "Oslo" {
		t.Errorf("input = %q, want the new message", city)
	}
	var got a2a.Task
	if err := json.Unmarshal([]byte(stored), &got); err != nil {
		t.Fatalf("task file: %v", err)
	}
	if diff := cmp.Diff(next.StoredTask, &got); diff != "" {
		t.Errorf("task file mismatch (-want +got):\n%s", diff)
	}
}

func TestQuestionWithoutWords(t *testing.T) {
	t.Parallel()
	execute(t, shell(`exit 3`), asking()).ended(t, a2a.TaskStateInputRequired, "The program asks for input.")
}

// The test's own environment acts as that of a hub, so it does not run in parallel.
func TestEnvironment(t *testing.T) {
	t.Setenv("PARLEY_API_KEY", "a secret of the hub")
	t.Setenv("COMMAND_TEST_A", "hub")
	t.Setenv("COMMAND_TEST_B", "hub")
	a := shell(`env | grep -E '^(PARLEY_|COMMAND_TEST_)' | sort; stat -c %a "$PARLEY_MESSAGE_FILE" "$PARLEY_RUN_DIR"; cat "$PARLEY_MESSAGE_FILE"`)
	a.Env = []string{"COMMAND_TEST_B=agent", "PARLEY_TASK_ID=forged"}
	raw := `{"messageId":"m","unknown":1}`
	call := &agent.Call{Key: "task-1/1", Attempt: 2, Skill: "s\x00kill", Message: []byte(raw), CorrelationID: "c-1"}
	r := executeWith(agent.WithCall(t.Context(), call), t, a, asking("x"), nil)
	dir := ""
	for line := range strings.Lines(r.text()) {
		if d, ok := strings.CutPrefix(line, "PARLEY_RUN_DIR="); ok {
			dir = strings.TrimSpace(d)
		}
	}
	want := strings.Join([]string{
		"COMMAND_TEST_B=agent",
		"PARLEY_ATTEMPT=2",
		"PARLEY_CONTEXT_ID=context-1",
		"PARLEY_CORRELATION_ID=c-1",
		"PARLEY_MESSAGE_FILE=" + dir + "/message.json",
		"PARLEY_PARENT_ID=",
		"PARLEY_RUN_DIR=" + dir,
		"PARLEY_RUN_KEY=task-1/1",
		"PARLEY_SKILL=skill",
		"PARLEY_TASK_ID=task-1",
		"600", "700",
		raw,
	}, "\n")
	if diff := cmp.Diff(want, r.text()); diff != "" {
		t.Errorf("environment mismatch (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(dir); dir == "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("run folder %q after the run: %v, want none", dir, err)
	}
}

func TestAcceptedModes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for want, modes := range map[string][]string{
		"none":                 nil,
		"text/plain":           {"text/plain"},
		"text/plain,image/png": {"text/plain", "a\x00b", "", "a,b", "c\nd", long, "image/png"},
	} {
		call := &agent.Call{AcceptedOutputModes: modes}
		r := executeWith(agent.WithCall(t.Context(), call), t, shell(`echo "${PARLEY_ACCEPTED_OUTPUT_MODES-none}"`), asking("x"), nil)
		if got := strings.TrimSpace(r.text()); got != want {
			t.Errorf("the program sees %q of %.40q, want %q", got, modes, want)
		}
	}
}

func TestMessageFileOutsideAHub(t *testing.T) {
	t.Parallel()
	ec := asking("x")
	r := execute(t, shell(`cat "$PARLEY_MESSAGE_FILE"`), ec)
	var got a2a.Message
	if err := json.Unmarshal([]byte(r.text()), &got); err != nil {
		t.Fatalf("message file: %v", err)
	}
	if diff := cmp.Diff(ec.Message, &got); diff != "" {
		t.Errorf("message file mismatch (-want +got):\n%s", diff)
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := shell(`pwd -P`)
	a.Dir = dir
	execute(t, a, asking()).ended(t, a2a.TaskStateCompleted, dir)
}

func TestProgramThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		agent *Agent
		said  []string
	}{
		{"not found", &Agent{Command: []string{"parley-no-such-program"}}, []string{"parley-no-such-program", "not found"}},
		{"no file", &Agent{Command: []string{"/no/such/file"}}, []string{"/no/such/file", "no such file"}},
		{"not executable", &Agent{Command: []string{plain}}, []string{plain, "permission denied"}},
		{"no folder", &Agent{Command: []string{"/bin/sh"}, Dir: "/no/such/folder"}, []string{"/bin/sh", "/no/such/folder"}},
		{"no command", &Agent{}, []string{"no command"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.agent.Runs = t.TempDir()
			r := execute(t, tt.agent, asking())
			r.ended(t, a2a.TaskStateFailed, r.said)
			for _, s := range append(tt.said, "cannot be started") {
				if !strings.Contains(r.said, s) {
					t.Errorf("said %q, want it to contain %q", r.said, s)
				}
			}
			wantEmpty(t, tt.agent.Runs)
		})
	}
}

func TestTooMuchOutput(t *testing.T) {
	t.Parallel()
	a := shell(`echo $$; while :; do echo 0123456789; done`)
	a.MaxOutput = 1 << 16
	r := execute(t, a, asking())
	r.ended(t, a2a.TaskStateFailed, `program "sh" was killed because it wrote more than 65536 bytes`)
	if n := len(r.text()); n > 1<<16 {
		t.Errorf("%d bytes were passed on", n)
	}
	wantGone(t, firstPid(t, r))
}

func TestProgramNeedNotReadItsInput(t *testing.T) {
	t.Parallel()
	r := execute(t, shell(`exec <&-; echo done`), asking(strings.Repeat("x", 1<<20)))
	r.ended(t, a2a.TaskStateCompleted, "done")
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	a := shell(`echo $$; echo 'still here' >&2; exec sleep 1000`)
	r := timedOut(t, a, "still here")
	r.ended(t, a2a.TaskStateFailed, fmt.Sprintf(`program "sh" was killed after %v: still here`, a.Timeout))
	wantGone(t, firstPid(t, r))
}

func TestGraceEnds(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{50 * time.Millisecond, -1} {
		a := shell(`trap '' TERM; echo $$; while :; do sleep 1000; done`)
		a.Grace = grace
		r := timedOut(t, a, "")
		r.ended(t, a2a.TaskStateFailed, fmt.Sprintf(`program "sh" was killed after %v`, a.Timeout))
		wantGone(t, firstPid(t, r))
	}
}

// timedOut runs a with a longer and longer Timeout, until it is enough for the first line of the
// program, and for the text at the end of its status.
func timedOut(t *testing.T, a *Agent, end string) *result {
	t.Helper()
	for a.Timeout = time.Second; ; a.Timeout *= 2 {
		r := execute(t, a, asking())
		if r.text() != "" && strings.HasSuffix(r.said, end) || a.Timeout > time.Minute {
			return r
		}
	}
}

// cancelAt runs a and cancels it at its first output. It returns the results of both.
func cancelAt(t *testing.T, a *Agent, check func(pid int)) *result {
	t.Helper()
	canceled := make(chan *result, 1)
	begun := false
	r := executeWith(t.Context(), t, a, asking(), func(r *result) {
		if begun || r.text() == "" {
			return
		}
		begun = true
		pid := firstPid(t, r)
		go func() {
			c := new(result)
			for e, err := range a.Cancel(t.Context(), &a2asrv.ExecutorContext{TaskID: "task-1", ContextID: "context-1"}) {
				if err != nil {
					c.err = err
					continue
				}
				check(pid)
				c.add(t, e)
			}
			canceled <- c
		}()
	})
	c := <-canceled
	if c.err != nil {
		t.Fatalf("Cancel: %v", c.err)
	}
	if diff := cmp.Diff([]a2a.TaskState{a2a.TaskStateCanceled}, c.states); diff != "" {
		t.Errorf("Cancel mismatch (-want +got):\n%s", diff)
	}
	return r
}

func TestCancelWaitsUntilTheProgramIsGone(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "cleaned")
	a := shell(`trap 'sleep 0.2; : > "$MARKER"; exit 0' TERM; echo $$; while :; do sleep 0.05; done`)
	a.Env = []string{"MARKER=" + marker}
	r := cancelAt(t, a, func(pid int) {
		wantGone(t, pid)
		if _, err := os.Stat(marker); err != nil {
			t.Errorf("Cancel confirmed before the program had cleaned up: %v", err)
		}
	})
	r.ended(t, a2a.TaskStateCanceled, "")
}

func TestCancelReachesTheGroup(t *testing.T) {
	t.Parallel()
	a := shell(`sleep 1000 & echo $!; wait`)
	r := cancelAt(t, a, func(int) {})
	r.ended(t, a2a.TaskStateCanceled, "")
	waitGone(t, firstPid(t, r))
}

func TestCancelWithoutProgram(t *testing.T) {
	t.Parallel()
	c := new(result)
	for e, err := range new(Agent).Cancel(t.Context(), asking()) {
		if err != nil {
			t.Fatal(err)
		}
		c.add(t, e)
	}
	if diff := cmp.Diff([]a2a.TaskState{a2a.TaskStateCanceled}, c.states); diff != "" {
		t.Errorf("Cancel mismatch (-want +got):\n%s", diff)
	}
}

// Two owners may have tasks with the same id.
func TestCancelIsWithinTheOwner(t *testing.T) {
	t.Parallel()
	as := func(id string) context.Context {
		return auth.WithPrincipal(t.Context(), &auth.Principal{ID: id})
	}
	gate := fifo(t)
	a := shell(`echo begun; read x < "$GATE"; echo done`)
	a.Env = []string{"GATE=" + gate}
	once := false
	r := executeWith(as("ada"), t, a, asking(), func(r *result) {
		if once || r.text() == "" {
			return
		}
		once = true
		for _, err := range a.Cancel(as("bob"), asking()) {
			if err != nil {
				t.Errorf("Cancel: %v", err)
			}
		}
		open(t, gate)
	})
	r.ended(t, a2a.TaskStateCompleted, "begun\ndone")
}

func TestCancelGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	// The gate is read only after the signal.
	a := shell(`trap 'read x < "$GATE"; exit 0' TERM; echo $$; while :; do sleep 0.05; done`)
	a.Env = []string{"GATE=" + gate}
	a.Grace = time.Minute
	once := false
	r := executeWith(t.Context(), t, a, asking(), func(r *result) {
		if once || r.text() == "" {
			return
		}
		once = true
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for e, err := range a.Cancel(ctx, asking()) {
			t.Errorf("Cancel = %v, %v, want nothing before the program is gone", e, err)
		}
		open(t, gate)
	})
	r.ended(t, a2a.TaskStateCanceled, "")
}

// An executor must not yield to a consumer that has stopped: the program panics. Its context has
// ended before for another reason.
func TestConsumerStopsAfterTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	a := shell(`echo $$; exec sleep 1000`)
	for e, err := range a.Execute(ctx, asking()) {
		if _, ok := e.(*a2a.TaskArtifactUpdateEvent); ok {
			cancel(errors.New("the hub drains"))
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if ctx.Err() == nil {
		t.Error("the program wrote nothing")
	}
}

func TestEndOfContextEndsTheProgram(t *testing.T) {
	t.Parallel()
	cause := errors.New("the hub drains")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := executeWith(ctx, t, shell(`echo $$; exec sleep 1000`), asking(), func(r *result) {
		if r.text() != "" {
			cancel(cause)
		}
	})
	if !errors.Is(r.err, cause) || !errors.Is(r.err, context.Canceled) {
		t.Errorf("error = %v, want %v", r.err, cause)
	}
	wantGone(t, firstPid(t, r))
}

func TestNothingStartsInAnEndedContext(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "started")
	a := shell(`: > "$MARKER"`)
	a.Env = []string{"MARKER=" + marker}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := executeWith(ctx, t, a, asking(), nil)
	if !errors.Is(r.err, context.Canceled) {
		t.Errorf("error = %v, want %v", r.err, context.Canceled)
	}
	if _, err := os.Stat(marker); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program was started (stat: %v)", err)
	}
}

func TestConsumerThatStopsEndsTheProgram(t *testing.T) {
	t.Parallel()
	r := new(result)
	for e, err := range shell(`echo $$; exec sleep 1000`).Execute(t.Context(), asking()) {
		if err != nil {
			t.Fatal(err)
		}
		r.add(t, e)
		if r.text() != "" {
			break
		}
	}
	wantGone(t, firstPid(t, r))
}

func TestConsumerThatPanicsEndsTheProgram(t *testing.T) {
	t.Parallel()
	r := new(result)
	func() {
		defer func() { _ = recover() }()
		for e := range shell(`echo $$; exec sleep 1000`).Execute(t.Context(), asking()) {
			r.add(t, e)
			if r.text() != "" {
				panic("the consumer")
			}
		}
	}()
	wantGone(t, firstPid(t, r))
}

func TestRunsSideBySide(t *testing.T) {
	t.Parallel()
	a := shell(`cat`)
	a.Runs = filepath.Join(t.TempDir(), "runs")
	t.Run("all", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				text := fmt.Sprintf("message %d", i)
				execute(t, a, asking(text)).ended(t, a2a.TaskStateCompleted, text)
			})
		}
	})
	wantEmpty(t, a.Runs)
	if n := a.runs.Len(); n != 0 {
		t.Errorf("%d runs are still known", n)
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	a := &Agent{AfterCrash: agent.Repeat, Serial: true, Silence: time.Minute}
	want := agent.Traits{AfterCrash: agent.Repeat, Serial: true, Silence: time.Minute, NoMessage: true}
	if diff := cmp.Diff(want, agent.TraitsOf(a)); diff != "" {
		t.Errorf("traits mismatch (-want +got):\n%s", diff)
	}
}

// wantEmpty checks that all runs have removed their files from dir.
func wantEmpty(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left in the folder of runs", e.Name())
	}
}
