package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// The gateways that Python's registry offers. The script install installs them.
const (
	liteLLM      serve.Kind = "litellm"
	contextForge serve.Kind = "contextforge"
)

// gateway is a running server in front of a remote agent.
type gateway struct {
	p    *child.Process
	as   language
	stop func() error
}

// gateways measures the latency and the processor time that a server in front of a remote agent
// adds to a call. The agent is Parley in memory; the case direct calls it without a gateway. Of
// all gateways only Parley stores the task before it answers.
func gateways(ctx context.Context, b *Bench) ([]Result, error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	agent, stop, err := b.start(ctx, serve.ParleyMemory)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	var all []Result
	for _, k := range []serve.Kind{serve.ParleyMemory, serve.Proxy, command, liteLLM, contextForge} {
		b.Log("gateway: %s", k)
		r, err := b.throughGateway(ctx, k, func() (gateway, error) {
			switch k {
			case serve.ParleyMemory:
				return gateway{agent, v10, func() error { return nil }}, nil
			case serve.Proxy:
				p, stop, err := b.start(ctx, k, "-remote", "http://"+agent.Addr)
				return gateway{p, v10, stop}, err
			case liteLLM:
				return b.startLiteLLM(ctx, agent.Addr)
			case contextForge:
				return b.startContextForge(ctx, agent.Addr)
			}
			return b.startAsGateway(ctx, path, agent.Addr)
		})
		if err != nil && (k == liteLLM || k == contextForge) { // its failure is no error of the bench
			b.Log("gateway: %s: %v", k, err)
			r, err = leftOut(k, err), nil
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", k, err)
		}
		r.Row, r.Case = "gateway", "through it"
		if k == serve.ParleyMemory {
			r.Case = direct
		}
		if all = append(all, r); r.Left == "" && len(all) > 1 {
			r := &all[len(all)-1]
			r.Beside, r.AddedP50, r.AddedP99 = direct, r.P50-all[0].P50, r.P99-all[0].P99
		}
	}
	return all, err
}

func (b *Bench) throughGateway(ctx context.Context, k serve.Kind, start func() (gateway, error)) (r Result, err error) {
	g, err := start()
	if errors.Is(err, ErrLeftOut) {
		return leftOut(k, err), nil
	}
	if err != nil {
		return r, err
	}
	defer closing(&err, g.stop)
	of := *b
	of.Conns = min(b.Conns, 32) // so that each is used before a gateway closes it after 5 idle seconds
	ops, hangUp, err := of.senders(ctx, g.p.Addr, g.as)
	if err != nil {
		return r, err
	}
	defer hangUp()
	l := &openLoop{ops: ops, rate: b.GatewayRate}
	if _, err := l.run(ctx, max(b.Warmup, time.Second)); err != nil {
		return r, fmt.Errorf("warm-up: %w", err)
	}
	var runs []run
	for range b.Runs {
		var lat []time.Duration
		r, err := metered(ctx, external{g.p}, func() (err error) {
			lat, err = l.run(ctx, b.Duration)
			return err
		})
		if err != nil {
			return Result{}, err
		}
		r.latencies, r.ops, r.units, r.wall = lat, len(lat), 1, b.Duration
		runs = append(runs, r)
	}
	r = summary(k, "sends/s", runs)
	r.Resident, err = g.p.Resident()
	return r, err
}

// external is a server that reports no allocations.
type external struct{ p *child.Process }

// Usage implements target, with the processes that the server has started.
func (e external) Usage() (child.Usage, error) { return child.TreeUsage(e.p.PID()) }

// Mallocs implements target.
func (external) Mallocs(context.Context) (uint64, error) { return 0, nil }

// startAsGateway starts the command with a remote agent. It keeps each task in its file.
func (b *Bench) startAsGateway(ctx context.Context, path, agent string) (gateway, error) {
	p, stop, err := b.spawnWith(ctx, path, "directory:\n  allow: [loopback]\nagents:\n  - name: bench\n    description: Answers.\n    url: http://"+agent+"\n")
	as := v10
	as.path = "/a2a/bench"
	return gateway{p, as, stop}, err
}

// venv returns the interpreter of a gateway's virtual environment.
func (b *Bench) venv(k serve.Kind) (string, error) {
	path, err := filepath.Abs(filepath.Join(b.Work, "gateways", string(k), "bin", "python"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: run cmd/bench/install first", ErrLeftOut)
	}
	return path, nil
}

// startLiteLLM starts LiteLLM's proxy with the agent in its configuration, without a database.
func (b *Bench) startLiteLLM(ctx context.Context, agent string) (gateway, error) {
	python, err := b.venv(liteLLM)
	if err != nil {
		return gateway{}, err
	}
	const key = "sk-bench"
	config := fmt.Sprintf(`general_settings: {master_key: %s}
agents:
  - agent_name: bench
    agent_card_params:
      {protocolVersion: "1.0", name: bench, description: Answers., version: "1", url: "http://%s/", capabilities: {streaming: true},
       defaultInputModes: [text/plain], defaultOutputModes: [text/plain], skills: []}
`, key, agent)
	g, err := b.launch(ctx, launched{
		config: config, ready: "/health/liveliness", env: []string{"LITELLM_LOCAL_MODEL_COST_MAP=True", "LITELLM_LOG=ERROR"},
		args: func(port, file string) []string {
			return []string{python, filepath.Join(filepath.Dir(python), "litellm"), "--config", file, "--host", "127.0.0.1", "--port", port, "--telemetry", "False"}
		},
	})
	g.as = v10
	g.as.path, g.as.headers = "/a2a/bench", []string{"Authorization: Bearer " + key}
	return g, err
}

// The secrets of ContextForge, which refuses its own defaults.
const (
	forgeSecret = "0123456789abcdef0123456789abcdef-Bench-7"
	forgeWord   = "Bench-Passw0rd-7x"
	forgeAdmin  = "admin@example.com"
)

// startContextForge starts ContextForge on a file of SQLite of its own, and registers the agent.
func (b *Bench) startContextForge(ctx context.Context, agent string) (gateway, error) {
	python, err := b.venv(contextForge)
	if err != nil {
		return gateway{}, err
	}
	env := []string{
		"DATABASE_URL=sqlite:///./mcp.db", "MCPGATEWAY_A2A_ENABLED=true", "MCPGATEWAY_UI_ENABLED=false", "CACHE_TYPE=memory",
		"JWT_SECRET_KEY=" + forgeSecret, "AUTH_ENCRYPTION_SECRET=f" + forgeSecret, "PLATFORM_ADMIN_EMAIL=" + forgeAdmin,
		"PLATFORM_ADMIN_PASSWORD=" + forgeWord, "BASIC_AUTH_PASSWORD=" + forgeWord + "8", "LOG_LEVEL=ERROR", "ENVIRONMENT=development",
		"SSRF_ALLOW_LOCALHOST=true", "SSRF_ALLOW_PRIVATE_NETWORKS=true", "RATE_LIMITING_ENABLED=false",
	}
	g, err := b.launch(ctx, launched{
		ready: "/health", env: env,
		args: func(port, _ string) []string {
			return []string{python, "-m", "uvicorn", "mcpgateway.main:app", "--host", "127.0.0.1", "--port", port, "--log-level", "error"}
		},
	})
	if err != nil {
		return g, err
	}
	cmd := exec.CommandContext(ctx, python, "-m", "mcpgateway.utils.create_jwt_token",
		"--username", forgeAdmin, "--exp", "10080", "--secret", forgeSecret, "--admin")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		return g, errors.Join(fmt.Errorf("token: %w", err), g.stop())
	}
	lines := strings.Fields(string(out))
	bearer := "Bearer " + lines[len(lines)-1]
	body := `{"agent":{"name":"bench","endpoint_url":"http://` + agent + `/","agent_type":"jsonrpc","protocol_version":"1.0","description":"Answers."},"visibility":"public"}`
	if err := register(ctx, "http://"+g.p.Addr+"/a2a", bearer, body); err != nil {
		return g, errors.Join(err, g.stop())
	}
	g.as = v10
	g.as.whole, g.as.path, g.as.headers = true, "/a2a/bench/invoke", []string{"Authorization: " + bearer}
	g.as.before, g.as.after = `{"interaction_type":"query","parameters":{"method":"SendMessage","params":`+v10.before, v10.after+`}}`
	return g, nil
}

func register(ctx context.Context, url, bearer, body string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", bearer)
	r.Header.Set("Content-Type", "application/json")
	resp, start, err := exchange(&http.Transport{}, r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("%w: its registration of an agent answers %s: %.300s", ErrLeftOut, resp.Status, bytes.TrimSpace(start))
	}
	return nil
}

// launched is a program of others that takes its port from its arguments.
type launched struct {
	config string
	// ready is a path that answers 200 when the program is ready.
	ready string
	env   []string
	args  func(port, file string) []string
}

// launchTime is the time limit for the start of a gateway.
const launchTime = 2 * time.Minute

func (b *Bench) launch(ctx context.Context, l launched) (g gateway, err error) {
	dir, err := b.temp()
	if err != nil {
		return g, err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return g, err
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(l.config), 0o600); err != nil {
		return g, err
	}
	args := l.args(addr[strings.LastIndexByte(addr, ':')+1:], file)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), l.env...)
	if g.p, err = child.Launch(cmd, addr); err != nil {
		return g, err
	}
	g.stop = func() error { return errors.Join(g.p.Stop(), os.RemoveAll(dir)) }
	ctx, cancel := context.WithTimeoutCause(ctx, launchTime, errLate)
	defer cancel()
	for {
		c, err := wire.Dial(ctx, addr)
		if err == nil {
			_, err = c.Do(wire.Get(l.ready).With(0))
			c.Close()
		}
		if err == nil {
			return g, nil
		}
		if sleep(ctx, 200*time.Millisecond) != nil {
			return g, errors.Join(fmt.Errorf("%w: not ready after %v: %s", ErrLeftOut, launchTime, g.p.Output()), g.stop())
		}
	}
}
