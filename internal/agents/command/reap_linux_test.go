package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sys/unix"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// waitGone waits until a process that another process reaps has ended.
func waitGone(t testing.TB, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatalf("watch process %d: %v", pid, err)
	}
	defer func() { _ = unix.Close(fd) }()
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 10_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 {
			t.Errorf("process %d is alive", pid)
		}
		return
	}
}

// alive reports whether a process runs.
func alive(pid int) bool {
	b, err := os.ReadFile(procFile(pid, "stat"))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// hubVariable makes the test program act as a hub that runs an agent; its value is the folder
// of runs.
const hubVariable = "COMMAND_TEST_HUB"

// actAsHub runs an agent whose program does not end, and prints its output.
func actAsHub(dir string) {
	a := shell(os.Getenv("COMMAND_TEST_SCRIPT"))
	a.Runs = dir
	for e := range a.Execute(context.Background(), asking()) {
		if u, ok := e.(*a2a.TaskArtifactUpdateEvent); ok {
			fmt.Println(u.Artifact.Parts[0].Text())
		}
	}
}

// orphan runs script under a hub that is killed when the script has printed a process id, and
// returns that id.
func orphan(t *testing.T, dir, script string) int {
	t.Helper()
	hub := exec.Command(os.Args[0])
	hub.Env = append(os.Environ(), hubVariable+"="+dir, "COMMAND_TEST_SCRIPT="+script)
	out, err := hub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read from hub: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	if err := hub.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := hub.Wait(); err == nil {
		t.Fatal("the hub was not killed")
	}
	if !alive(pid) {
		t.Fatal("the program died with its hub: there is nothing to test")
	}
	return pid
}

func TestReap(t *testing.T) {
	t.Parallel()
	runs := func(dir string) []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dir, folderPrefix+"*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("runs of the killed hub: %v, %v, want one", found, err)
		}
		return found
	}
	for _, tt := range []struct {
		name, script string
		change       func(t *testing.T, dir string)
	}{
		{"leader", `echo $$; exec sleep 1000`, nil},
		{"group", `sleep 1000 & echo $!; wait`, nil},
		// The hub is killed between the first record and the start of the program.
		{"record without number", `echo $$; exec sleep 1000`, func(t *testing.T, dir string) {
			writeRecord(t, filepath.Join(runs(dir)[0], recordFile), record{Task: "task-1"})
		}},
		{"no record", `echo $$; exec sleep 1000`, func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(runs(dir)[0], recordFile)); err != nil {
				t.Fatal(err)
			}
		}},
		{"broken record", `echo $$; exec sleep 1000`, func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(runs(dir)[0], recordFile), []byte(`{"pid":`), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		// Only the record identifies it.
		{"without environment", `exec env -i /bin/sh -c 'echo $$; exec sleep 1000'`, nil},
		// Only the mark identifies it.
		{"other group", `setsid sh -c 'echo $$; exec sleep 1000' & wait`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(tt.script, "setsid") {
				testenv.Tool(t, "setsid")
			}
			dir := t.TempDir()
			pid := orphan(t, dir, tt.script)
			if tt.change != nil {
				tt.change(t, dir)
			}
			killed, err := Reap(dir)
			if err != nil || killed == 0 {
				t.Errorf("Reap = %d, %v, want some", killed, err)
			}
			waitGone(t, pid)
			wantEmpty(t, dir)
		})
	}
}

func writeRecord(t *testing.T, path string, r record) {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A process id that another process has now must not be killed.
func TestReapSparesOtherProcesses(t *testing.T) {
	t.Parallel()
	outsider := exec.Command("sleep", "1000")
	if err := outsider.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = outsider.Process.Kill(); _ = outsider.Wait() })
	var id identity
	id.identify(outsider.Process.Pid)
	earlier, rebooted := id, id
	earlier.Start--
	rebooted.Boot = "another"
	dir := t.TempDir()
	for i, id := range []identity{earlier, rebooted} {
		writeRecord(t, filepath.Join(dir, fmt.Sprint(folderPrefix, i), recordFile), record{Task: "task-1", identity: id})
	}
	killed, err := Reap(dir)
	if err != nil || killed != 0 {
		t.Errorf("Reap = %d, %v, want none", killed, err)
	}
	if !alive(outsider.Process.Pid) {
		t.Error("Reap killed a process that is not its own")
	}
	wantEmpty(t, dir)
}

func TestReapKeepsForeignFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := filepath.Join(dir, "notes")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if killed, err := Reap(dir); killed != 0 || err != nil {
		t.Errorf("Reap = %d, %v", killed, err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("Reap removed a foreign file: %v", err)
	}
}

func TestReapWithoutFolder(t *testing.T) {
	t.Parallel()
	if killed, err := Reap(filepath.Join(t.TempDir(), "none")); killed != 0 || err != nil {
		t.Errorf("Reap = %d, %v, want 0 and no error", killed, err)
	}
}

// While a program runs, its record identifies it.
func TestRecord(t *testing.T) {
	t.Parallel()
	a := shell(`echo $$; exec sleep 1000`)
	a.Runs = filepath.Join(t.TempDir(), "runs")
	r := new(result)
	for e, err := range a.Execute(t.Context(), asking()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.add(t, e); r.text() == "" {
			continue
		}
		found, err := filepath.Glob(filepath.Join(a.Runs, "*", recordFile))
		if err != nil || len(found) != 1 {
			t.Fatalf("records: %v, %v, want one", found, err)
		}
		b, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		var got record
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		pid := firstPid(t, r)
		if got.Pid != pid || got.Start == 0 || got.Boot == "" || got.Task != "task-1" || got.Attempt != 1 {
			t.Errorf("record = %+v, want that of process %d", got, pid)
		}
		break
	}
	wantEmpty(t, a.Runs)
}

func TestLeftoversAreEnded(t *testing.T) {
	t.Parallel()
	r := execute(t, shell(`sleep 1000 & echo $!`), asking())
	r.ended(t, a2a.TaskStateCompleted, strings.TrimSpace(r.text()))
	waitGone(t, firstPid(t, r))
}

// A process that has left the group and holds the output open does not delay the run.
func TestEscapedProcessDoesNotHoldUp(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "setsid")
	a := shell(`setsid sh -c 'echo $$ > "$GATE"; exec sleep 1000' & read pid < "$GATE"; echo $pid`)
	a.Env = []string{"GATE=" + fifo(t)}
	r := execute(t, a, asking())
	pid := firstPid(t, r)
	defer func() { _ = unix.Kill(pid, unix.SIGKILL) }()
	r.ended(t, a2a.TaskStateCompleted, strings.TrimSpace(r.text()))
	if !alive(pid) {
		t.Error("the process did not escape: there is nothing to test")
	}
}
