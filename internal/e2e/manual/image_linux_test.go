package manual

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// deploy is the folder of the image and of the composition.
var deploy = filepath.Join(root, "deploy")

// nonroot is the user of the image.
const nonroot = 65532

// instruction returns the list of a JSON instruction of the Dockerfile.
func instruction(t *testing.T, name string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + `.* ?(\[.*\])$`).FindStringSubmatch(read(t, filepath.Join(deploy, "Dockerfile")))
	if m == nil {
		t.Fatalf("the Dockerfile has no %s", name)
	}
	var words []string
	if err := json.Unmarshal([]byte(m[1]), &words); err != nil {
		t.Fatal(err)
	}
	return words
}

// TestComposition: the composition runs the image as the image describes itself, with commands,
// flags and a port that the program has.
func TestComposition(t *testing.T) {
	t.Parallel()
	var c struct {
		Services map[string]struct {
			Command     []string
			Ports       []string
			ReadOnly    bool `yaml:"read_only"`
			Healthcheck struct{ Test []string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(deploy, "compose.yaml"))), &c); err != nil {
		t.Fatal(err)
	}
	s := c.Services["parley"]
	if diff := cmp.Diff(instruction(t, "CMD"), s.Command); diff != "" {
		t.Errorf("the commands of the image and the composition differ (-image +composition):\n%s", diff)
	}
	if diff := cmp.Diff(append([]string{"CMD"}, instruction(t, "HEALTHCHECK")...), s.Healthcheck.Test); diff != "" {
		t.Errorf("the health checks differ (-image +composition):\n%s", diff)
	}
	if !s.ReadOnly || !slices.Contains(s.Ports, "127.0.0.1:4100:4100") {
		t.Errorf("the service is %+v; want a read-only root and the port 4100 of this machine", s)
	}
	g := grammarOf(t)
	for _, words := range [][]string{s.Command, s.Healthcheck.Test[2:]} {
		if p := g.wrong(words); p != "" {
			t.Errorf("%v: %s", words, p)
		}
	}
}

// TestClusterComposition: both hubs of the composition run the image as it describes itself, with the
// same configuration but for their ids, and the balancer knows both.
func TestClusterComposition(t *testing.T) {
	t.Parallel()
	type service struct {
		Command     []string
		Environment map[string]string
		Volumes     []string
		Healthcheck struct{ Test []string }
	}
	var c struct{ Services map[string]service }
	folder := filepath.Join(deploy, "cluster")
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(folder, "compose.yaml"))), &c); err != nil {
		t.Fatal(err)
	}
	balancer, config := read(t, filepath.Join(folder, "haproxy.cfg")), read(t, filepath.Join(folder, "parley.yaml"))
	one, two := c.Services["one"], c.Services["two"]
	for name, s := range map[string]service{"one": one, "two": two} {
		if diff := cmp.Diff(instruction(t, "CMD"), s.Command); diff != "" {
			t.Errorf("the commands of the image and hub %s differ (-image +composition):\n%s", name, diff)
		}
		if s.Environment["HUB_ID"] != name || !slices.Contains(s.Volumes, name+":/data") || len(s.Healthcheck.Test) == 0 {
			t.Errorf("hub %s is %+v; want its own id and volume", name, s)
		}
		if !strings.Contains(balancer, "server "+name+" "+name+":4100") {
			t.Errorf("the balancer does not know hub %s", name)
		}
		for _, m := range regexp.MustCompile(`\$\{([A-Z_]+)`).FindAllStringSubmatch(config, -1) {
			if s.Environment[m[1]] == "" {
				t.Errorf("hub %s has no %s, which its configuration needs", name, m[1])
			}
		}
	}
	one.Environment["HUB_ID"] = "two"
	if diff := cmp.Diff(one.Environment, two.Environment); diff != "" {
		t.Errorf("the hubs have different variables (-one +two):\n%s", diff)
	}
}

// TestImage runs the command of the image in a root that has only the files of the image, as its
// user, which may write /data alone: the hub gets ready, passes its own health check, and stops.
func TestImage(t *testing.T) {
	t.Parallel()
	testenv.Env(t, testenv.CI) // it builds the program
	testenv.Root(t)
	image, addr := imageRoot(t), testenv.Addr(t)
	command := append(instruction(t, "ENTRYPOINT"), instruction(t, "CMD")...)
	for i, w := range command {
		command[i] = strings.Replace(w, "0.0.0.0:4100", addr, 1)
	}
	hub := inside(t, image, addr, command...)
	log, err := hub.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for s := bufio.NewScanner(log); s.Scan() && !strings.Contains(s.Text(), `"msg":"ready"`); {
		lines.WriteString(s.Text() + "\n")
	}
	if out, err := inside(t, image, addr, instruction(t, "HEALTHCHECK")...).CombinedOutput(); err != nil {
		t.Errorf("health: %v\n%s\n%s", err, out, &lines)
	}
	if err := hub.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	rest, _ := io.ReadAll(log)
	if err := hub.Wait(); err != nil {
		t.Errorf("the hub ended with %v, want nil:\n%s%s", err, &lines, rest)
	}
}

// imageRoot returns a folder with the files of the image.
func imageRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "parley-image")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "parley"), "./cmd/parley")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, d := range []string{"data", "etc/parley", "etc/ssl/certs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := []byte(read(t, filepath.Join(deploy, "parley.yaml")))
	err = os.WriteFile(filepath.Join(dir, "etc/parley/parley.yaml"), config, 0o644)
	if err == nil {
		err = os.Chown(filepath.Join(dir, "data"), nonroot, nonroot)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// inside returns a command in the root of the image.
func inside(t *testing.T, image, addr string, command ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = "/data"
	cmd.Env = []string{"PARLEY_ADMIN_KEY=" + strings.Repeat("k", 32), "PARLEY_URL=http://" + addr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: nonroot, Gid: nonroot}}
	return cmd
}
