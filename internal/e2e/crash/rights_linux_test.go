package crash

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// program is the command in a folder, which runs as a user without the superuser's rights.
type program struct {
	dir    string
	path   string
	system *syscall.SysProcAttr
}

// plain returns the command as an ordinary user runs it.
func plain(t *testing.T) *program {
	t.Helper()
	p := &program{dir: t.TempDir(), path: hubtest.Binary(t), system: new(syscall.SysProcAttr)}
	if os.Geteuid() != 0 {
		return p
	}
	const nobody = 65534
	p.system.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	// The folders of tests and of the command are open to the superuser alone.
	if err := os.Chmod(filepath.Dir(p.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(p.dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(p.path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	p.path = filepath.Join(p.dir, "parley")
	to, err := os.OpenFile(p.path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *program) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), p.path, args...)
	c.Dir, c.SysProcAttr = p.dir, p.system
	c.Env = []string{"HOME=" + p.dir, "PATH=" + os.Getenv("PATH")}
	return c
}

// TestDoctorRefusesWhatServeRefuses takes rights away, one at a time, from the folder of an ordinary
// user's hub. serve does not start; doctor ends with status 1, gives the same reason, and calls nothing
// damaged.
func TestDoctorRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	p := plain(t)
	data := filepath.Join(p.dir, "data")
	serve := []string{"serve", "--data", data, "--listen", "127.0.0.1:0"}
	hub := p.command(t, serve...)
	said, err := hub.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 0, 4096)
	for !strings.Contains(string(head), "msg=ready") {
		n, err := said.Read(head[len(head):cap(head)])
		if head = head[:len(head)+n]; err != nil {
			t.Fatalf("the hub did not start: %v\n%s", err, head)
		}
	}
	if err := hub.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, said) // until it ends
	if err := hub.Wait(); err != nil {
		t.Fatal(err)
	}
	// A hub that starts nevertheless ends at once: another program has its address.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	serve[len(serve)-1] = taken.Addr().String()
	doctor := []string{"doctor", "--data", data, "--offline"}
	if out, err := p.command(t, doctor...).CombinedOutput(); err != nil || strings.Contains(string(out), "rights") {
		t.Fatalf("doctor of a sound folder = %v\n%s", err, out)
	}
	for name, mode := range map[string]os.FileMode{
		"secret.key": 0o644, "secret.key ": 0, "hub.key": 0o640, ".": 0o500, "parley.db": 0o400, "parley.db-mark": 0o400, "audit": 0o500, "audit ": 0,
	} {
		path := filepath.Join(data, strings.TrimSpace(name))
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		refusal, failed := p.command(t, serve...).CombinedOutput()
		reason, found := strings.CutPrefix(strings.TrimSpace(string(refusal)), "parley serve: ")
		if failed == nil || !found || strings.Contains(reason, "damaged") {
			t.Errorf("serve with mode %04o of %s = %v, want a refusal:\n%s", mode, name, failed, refusal)
		}
		out, failed := p.command(t, doctor...).CombinedOutput()
		if text := string(out); failed == nil || !strings.Contains(text, "wrong    rights     the hub cannot start: "+reason) || strings.Contains(text, "damaged") {
			t.Errorf("doctor with mode %04o of %s = %v, want %q:\n%s", mode, name, failed, reason, out)
		}
		if err := os.Chmod(path, before.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := p.command(t, doctor...).CombinedOutput(); err != nil {
		t.Errorf("doctor of the sound folder = %v\n%s", err, out)
	}
}
