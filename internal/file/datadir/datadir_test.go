package datadir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// childEnv makes the test binary a process that holds the folder in the variable.
const childEnv = "PARLEY_DATADIR_CHILD"

func TestMain(m *testing.M) {
	path := os.Getenv(childEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := Open(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends or kills it
}

// startHolder starts a process that holds path, and returns it.
func startHolder(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "held\n" {
		t.Fatalf("child says %q, %v; want held", line, err)
	}
	return cmd
}

func TestSecondProcessIsRefusedByName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data")
	child := startHolder(t, path)

	_, err := Open(path)

	busy := new(InUseError)
	if !errors.As(err, &busy) {
		t.Fatalf("Open of a folder in use = %v; want an InUseError", err)
	}
	host, _ := os.Hostname()
	want := Holder{PID: child.Process.Pid, Host: host, Since: busy.Holder.Since}
	if diff := cmp.Diff(want, busy.Holder); diff != "" {
		t.Errorf("holder mismatch (-want +got):\n%s", diff)
	}
	if age := time.Since(busy.Holder.Since); age < 0 || age > time.Minute {
		t.Errorf("holder since %v, %v ago; want a moment ago", busy.Holder.Since, age)
	}
	for _, part := range []string{"data folder " + path + " is in use by parley (pid ", fmt.Sprint(child.Process.Pid), "since 20"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
}

func TestKillFreesTheFolder(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	child := startHolder(t, path)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed

	d, err := Open(path)
	if err != nil {
		t.Fatalf("Open after the holder was killed: %v", err)
	}
	if got := holder(d.Join(lockName)).PID; got != os.Getpid() {
		t.Errorf("lock file names pid %d, want ours, %d", got, os.Getpid())
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestSameProcessIsRefusedUntilClose(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path + "/../" + filepath.Base(path)); !errors.As(err, new(*InUseError)) {
		t.Errorf("second Open = %v; want an InUseError", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, err = Open(path)
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnlyOneOfManyGetsTheFolder(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	var wg sync.WaitGroup
	got := make(chan *Dir, 20)
	for range 20 {
		wg.Go(func() {
			if d, err := Open(path); err == nil {
				got <- d
			}
		})
	}
	wg.Wait()
	if len(got) != 1 {
		t.Fatalf("%d of 20 hold the folder, want 1", len(got))
	}
	if err := (<-got).Close(); err != nil {
		t.Error(err)
	}
}

func TestFolderIsMadeForItsUserAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Path() != path {
		t.Errorf("Path() = %q, want %q", d.Path(), path)
	}
	for name, want := range map[string]fs.FileMode{path: 0o700 | fs.ModeDir, d.Join(lockName): 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != want {
			t.Errorf("mode of %s = %v, want %v", name, got, want)
		}
	}
}

func TestUnreadableLockFileStillRefuses(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.WriteFile(d.Join(lockName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	want := "data folder " + path + " is in use by another parley"
	if err == nil || err.Error() != want {
		t.Errorf("Open = %v, want %q", err, want)
	}
}

func TestFolderThatIsAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	if err == nil || errors.As(err, new(*InUseError)) || !strings.Contains(err.Error(), path) {
		t.Errorf("Open of a file = %v; want an error that names it", err)
	}
}
