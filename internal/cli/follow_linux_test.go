package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestNoInotify runs a hub in a user namespace without inotify instances, as on a machine where
// its user has used up all. It serves, follows its files by time, and names the limit.
func TestNoInotify(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("parley")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	for path, text := range map[string]string{rules: "rules: [{allow: send, who: anybody}]\n", filepath.Join(dir, "parley.yaml"): "policy: rules.yaml\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const none = "echo 0 >/proc/sys/user/max_inotify_instances"
	within := func(script string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", script, program)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
			Pdeathsig: syscall.SIGKILL,
		}
		return cmd
	}
	testenv.Met(t, within(none).Run() == nil, "a user namespace with limits of its own")
	hub := within(none + `; exec "$0" serve --listen 127.0.0.1:0 --bus off`)
	var log testenv.Buffer
	hub.Stdout, hub.Stderr = &log, &log
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- hub.Wait() }()
	defer func() {
		_ = hub.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Errorf("the hub ends with %v", err)
		}
	}()
	says := func(text string) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !strings.Contains(log.String(), text); runtime.Gosched() {
			select {
			case err := <-ended:
				ended <- nil
				t.Fatalf("the hub ended without %q: %v\n%s", text, err, log.String())
			default:
			}
			if time.Now().After(end) {
				t.Fatalf("the hub does not say %q:\n%s", text, log.String())
			}
		}
	}
	says("msg=ready")
	says("max_user_instances")
	if err := atomicfile.Replace(rules, []byte("rules: [{deny: send, who: anybody}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says("policy changed and applied")
	if n := strings.Count(log.String(), "level=WARN") + strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d warnings and errors, want 1:\n%s", n, log.String())
	}
}
