package rows

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// program is a server that is not part of this program. It follows the line protocol of package
// serve, of which it knows only the command stats.
type program struct {
	// dir is its folder in the repository, with slashes.
	dir string
	// needs is a file in dir that must exist, and install the command that creates it.
	needs, install string
	// build returns the command that builds it; nil if needs is all. Its output is out.
	build func(out string) []string
	// run returns the command that starts it; out is the output of build.
	run func(out string) []string
	env []string
	// version is the pinned version of its library.
	version string
}

// pythonVenv is the virtual environment of the interop tests, whose requirements pin the SDK.
const pythonVenv = "../../../internal/e2e/interop/python/v1/.venv/bin/python"

// programs are the servers of others.
var programs = map[serve.Kind]program{
	serve.JSSDK: {
		dir: "cmd/bench/js", needs: "node_modules", install: "cmd/bench/install", version: "@a2a-js/sdk 1.3.0",
		run: func(string) []string { return []string{"node", "server.mjs"} }, env: []string{"NODE_ENV=production"},
	},
	serve.PythonSDK: {
		dir: "cmd/bench/python", needs: pythonVenv, install: "cmd/bench/install", version: "a2a-sdk 1.3.0",
		run: func(string) []string { return []string{pythonVenv, "server.py"} },
	},
	serve.JavaSDK: {
		dir: "cmd/bench/java", needs: "target/quarkus-app/quarkus-run.jar", install: "cmd/bench/install",
		version: "a2a-java-sdk-reference-jsonrpc 0.3.3.Final",
		run: func(string) []string {
			return []string{"java", "-jar", "target/quarkus-app/quarkus-run.jar"}
		},
	},
	serve.TRPC: {
		dir: "cmd/bench/trpc", needs: "go.mod", version: "trpc-a2a-go v0.2.5",
		build: func(out string) []string { return []string{"go", "build", "-o", out, "."} },
		run:   func(out string) []string { return []string{out} },
	},
	serve.RustSDK: {
		dir: "cmd/bench/rust", needs: "Cargo.lock", version: "a2a-rs 0.4.1",
		build: func(out string) []string {
			return []string{"cargo", "build", "--quiet", "--release", "--locked", "--target-dir", out}
		},
		run: func(out string) []string { return []string{filepath.Join(out, "release", "bench-peer")} },
	},
}

// Version returns the pinned version of the library of a peer, or an empty text.
func Version(k serve.Kind) string { return programs[k].version }

// foreign reports whether the name of a measurement begins with that of a program of others.
func foreign(name string) bool {
	for k := range programs {
		if strings.HasPrefix(name, string(k)) {
			return true
		}
	}
	return false
}

// folder returns the folder of a program, and the path of the result of its build.
func (b *Bench) folder(p program) (dir, out string, err error) {
	out, err = filepath.Abs(filepath.Join(b.Work, "peers", filepath.Base(p.dir)))
	return filepath.Join(b.Root, filepath.FromSlash(p.dir)), out, err
}

// prepare builds the program of a server of others, which may take minutes. If this machine lacks
// a requirement, the error wraps ErrLeftOut and states it.
func (b *Bench) prepare(ctx context.Context, k serve.Kind) error {
	p, ok := programs[k]
	if !ok {
		return nil
	}
	dir, out, err := b.folder(p)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, p.needs)); err != nil {
		return fmt.Errorf("%w: run %s first", ErrLeftOut, p.install)
	}
	if p.build == nil {
		return nil
	}
	return buildPeer(ctx, dir, p.build(out))
}

// startProgram starts a server of others that is prepared.
func (b *Bench) startProgram(ctx context.Context, p program) (*child.Process, func() error, error) {
	dir, out, err := b.folder(p)
	if err != nil {
		return nil, nil, err
	}
	args := p.run(out)
	path, err := exec.LookPath(args[0])
	if strings.HasPrefix(args[0], ".") {
		path, err = filepath.Join(dir, args[0]), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: there is no %s on this machine", ErrLeftOut, args[0])
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), p.env...)
	if filepath.Base(dir) == "java" { // it reports the port that it was given
		addr, err := freeAddr(ctx)
		if err != nil {
			return nil, nil, err
		}
		cmd.Env = append(cmd.Env, "QUARKUS_HTTP_PORT="+addr[strings.LastIndexByte(addr, ':')+1:])
	}
	process, err := child.Start(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	return process, process.Stop, nil
}

// buildPeer runs a compiler. A failure leaves the peer out, with the compiler's last line.
func buildPeer(ctx context.Context, dir string, args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return fmt.Errorf("%w: there is no %s on this machine", ErrLeftOut, args[0])
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		return fmt.Errorf("%w: %s in %s: %w: %s", ErrLeftOut, args[0], filepath.Base(dir), err, lines[len(lines)-1])
	}
	return nil
}

// language is a version of the protocol over JSON-RPC.
type language struct {
	method, stream string
	// before and after surround the text of a message in the parameters.
	before, after string
	// completed is the state of a completed task, with its quotes.
	completed string
	// whole is set if before and after are the whole body, and not only the parameters.
	whole bool
	// path is the path of the server; empty means its root.
	path string
	// headers are further headers of each request.
	headers []string
}

// The versions of the protocol.
var (
	v10 = language{
		method: "SendMessage", stream: "SendStreamingMessage", completed: completed,
		before: `{"message":{"messageId":"` + wire.Mark + `","role":"ROLE_USER","parts":[{"text":"`, after: `"}]}}`,
	}
	v03 = language{
		method: "message/send", stream: "message/stream", completed: `"completed"`,
		before: `{"configuration":{"blocking":true},"message":{"kind":"message","messageId":"` + wire.Mark + `","role":"user","parts":[{"kind":"text","text":"`,
		after:  `"}]}}`,
	}
)

// languageOf returns the version that a server speaks.
func languageOf(k serve.Kind) language {
	switch k {
	case serve.JavaSDK, serve.TRPC:
		return v03
	case serve.RustSDK: // it makes no ids of tasks
		l := v10
		l.before = strings.Replace(l.before, `"role"`, `"taskId":"`+wire.Mark+`","role"`, 1)
		return l
	}
	return v10
}

// request returns a blocking request with a text.
func (l language) request(text string) *wire.Request { return l.call(l.method, text) }

// streaming returns a request with a text whose answer is a stream.
func (l language) streaming(text string) *wire.Request { return l.call(l.stream, text) }

func (l language) call(method, text string) *wire.Request {
	path := l.path
	if path == "" {
		path = "/"
	}
	if l.whole {
		return wire.Post(path, l.before+text+l.after, l.headers...)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + l.before + text + l.after + `}`
	return wire.Post(path, body, l.headers...)
}
