package workers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/internal/version"
)

// broker is a broker that can be restarted.
type broker struct {
	url     string
	restart func()
}

var brokers = map[string]func(t *testing.T) *broker{
	"nats": func(t *testing.T) *broker {
		s := natstest.Start(t, natstest.Current(t))
		return &broker{s.URL, func() { s.Stop(t); s.Start(t) }}
	},
	"rabbitmq": func(t *testing.T) *broker {
		s := rabbittest.Start(t)
		return &broker{s.URL("/"), func() { s.Sync(t); s.Stop(); s.Launch(t) }}
	},
}

// installed installs a package from its built file into a clean environment, and returns the
// command of the agent beside others. Each package is built and installed once.
var installed = map[string]func(t *testing.T) hubtest.Command{"Python": installWheel, "TypeScript": installTarball}

func installWheel(t *testing.T) hubtest.Command {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	must(t, os.CopyFS(source, os.DirFS(sdk(t, "python", "src"))))
	for _, name := range []string{"pyproject.toml", "README.md"} {
		text, err := os.ReadFile(sdk(t, "python", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(source, name), text, 0o600))
	}
	run(t, source, python(t), "-m", "flit_core.wheel", "--outdir", dir)
	wheels, err := filepath.Glob(filepath.Join(dir, "parley_worker-*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("the wheels are %v, %v; want one", wheels, err)
	}
	clean := filepath.Join(dir, "clean")
	run(t, dir, python(t), "-m", "venv", "--without-pip", clean)
	run(t, dir, python(t), "-m", "pip", "--python", filepath.Join(clean, "bin", "python"), "install", "--quiet", "--disable-pip-version-check", wheels[0])
	return hubtest.Command{Path: filepath.Join(clean, "bin", "python"), Args: []string{"-B", sdk(t, "python", "tests", "beside_agent.py")}, Dir: dir}
}

func installTarball(t *testing.T) hubtest.Command {
	t.Helper()
	node(t)
	testenv.Tool(t, "npm")
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o600))
	run(t, sdk(t, "ts"), "npm", "pack", "--silent", "--pack-destination", dir)
	run(t, dir, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--silent", "./parley-worker-"+version.Next+".tgz")
	text, err := os.ReadFile(sdk(t, "ts", "tests", "beside_agent.mjs"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "agent.mjs"), text, 0o600))
	return hubtest.Command{Path: testenv.Tool(t, "node"), Args: []string{"agent.mjs"}, Dir: dir}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v:\n%s", program, strings.Join(args, " "), err, out)
	}
}

// TestPackages runs the package of each language, installed from its built file, beside a worker
// in Go at one queue of each broker.
func TestPackages(t *testing.T) {
	t.Parallel()
	for language, install := range installed {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			command := install(t)
			for name, start := range brokers {
				t.Run(name, func(t *testing.T) { newBench(t, start(t), language, command).scenario() })
			}
		})
	}
}

// bench is a hub process with the agent poet, whose workers are other processes.
type bench struct {
	t        *testing.T
	broker   *broker
	hub      *hubtest.Hub
	language string
	command  hubtest.Command
}

func newBench(t *testing.T, b *broker, language string, command hubtest.Command) *bench {
	t.Helper()
	const config = "agents:\n  - {name: poet, queue: poet}\nbus:\n  lease: 3s\n"
	hub := hubtest.Start(t, hubtest.Options{Config: config, Flags: []string{"--bus", b.url}})
	return &bench{t, b, hub, language, command}
}

// foreign starts a worker of the package.
func (b *bench) foreign() *hubtest.Process {
	b.t.Helper()
	c := b.command
	c.Args = append(append([]string(nil), c.Args...), b.broker.url, "poet")
	return hubtest.Launch(b.t, c)
}

// golang starts a worker in Go.
func (b *bench) golang() *hubtest.Process {
	b.t.Helper()
	args := []string{"agent", "run", "--bus", b.broker.url, "--name", "poet", "--idempotent", "--concurrency", "1", "--exec", "printf 'Go: '; cat"}
	return hubtest.Launch(b.t, hubtest.Command{Args: args, Dir: b.t.TempDir()})
}

// call sends a message and returns the answer.
func (b *bench) call(text string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 4*time.Minute)
	defer cancel()
	answer, err := b.hub.Parley(ctx, "send", "--agent", "poet", text)
	if err != nil {
		b.t.Fatalf("send %q: %v", text, err)
	}
	return strings.TrimSpace(answer)
}

func (b *bench) want(text, language string) {
	b.t.Helper()
	if got, want := b.call(text), language+": "+text; got != want {
		b.t.Fatalf("the answer is %q, want %q", got, want)
	}
}

// scenario kills the worker, the hub, and the broker. The work continues each time.
func (b *bench) scenario() {
	b.t.Helper()
	first := b.foreign()
	b.want("hello", b.language)
	answer := make(chan string, 1)
	go func() { answer <- b.call("hold") }() // the test waits for it
	if err := first.Await(b.t.Context(), "holding"); err != nil {
		b.t.Fatal(err)
	}
	other := b.golang()
	first.Kill()
	if got := <-answer; got != "Go: hold" {
		b.t.Fatalf("after the worker was killed the answer is %q, want %q", got, "Go: hold")
	}
	second := b.foreign()
	b.beside()
	if err := other.Interrupt(); err != nil {
		b.t.Error(err)
	}
	b.hub.Restart()
	b.want("after the hub", b.language)
	b.broker.restart()
	b.want("after the broker", b.language)
	if err := second.Interrupt(); err != nil {
		b.t.Errorf("the worker did not end in order: %v", err)
	}
}

// beside calls the agent until workers in both languages have answered. The hub offers work to the
// worker in Go while that has a free slot, so the other gets work only if there are several calls at a time.
func (b *bench) beside() {
	b.t.Helper()
	const rounds, calls = 25, 8
	answered := map[string]int{}
	for n := 0; answered["Go"] == 0 || answered[b.language] == 0; n++ {
		if n == rounds {
			b.t.Fatalf("after %d calls the languages are %v, want both", rounds*calls, answered)
		}
		languages := make(chan string, calls)
		for range calls {
			go func() { // the test waits for it
				language := ""
				defer func() { languages <- language }()
				language, _, _ = strings.Cut(b.call("hello"), ":")
			}()
		}
		for range calls {
			answered[<-languages]++
		}
	}
}
