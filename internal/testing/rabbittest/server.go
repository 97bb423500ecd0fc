package rabbittest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// patience is the time limit for a start and for one command of the broker's tools.
const patience = 4 * time.Minute

// Server is a broker on loopback.
type Server struct {
	dir, node            string
	port, api, dist, epm int
	tls                  string // the lines of the configuration; empty without TLS
	tools                string // the folder of the broker's programs
	epmd, broker         *exec.Cmd
	log                  *os.File
	release              []func() // release the ports
}

// Start runs a broker until tb ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return start(tb, &Server{})
}

// StartTLS runs a broker that requires TLS until tb ends. The files have its certificate and its key
// as PEM.
func StartTLS(tb testing.TB, cert, key string) *Server {
	tb.Helper()
	return start(tb, &Server{tls: fmt.Sprintf("ssl_options.certfile = %s\nssl_options.keyfile = %s\n", cert, key)})
}

// Run runs a broker for a program that is no test, such as a bench. Its caller must call End.
func Run() (*Server, error) {
	path, ok := testenv.Find("rabbitmq-server")
	if !ok {
		return nil, errors.New("there is no RabbitMQ on this machine")
	}
	s := &Server{tools: filepath.Dir(path)}
	return s, s.create()
}

// End ends a broker of Run and removes its files.
func (s *Server) End() { s.remove() }

func start(tb testing.TB, s *Server) *Server {
	tb.Helper()
	s.tools = toolsOf(tb)
	err := s.create()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.explain(tb)
		s.remove()
	})
	return s
}

// toolsOf returns the folder of the broker's programs. Without it, tb is skipped or fails.
func toolsOf(tb testing.TB) string {
	tb.Helper()
	return filepath.Dir(testenv.Tool(tb, "rabbitmq-server"))
}

// create makes a folder and starts the broker in it.
func (s *Server) create() error {
	dir, err := os.MkdirTemp("", "rabbit")
	if err != nil {
		return err
	}
	s.dir = dir
	if err := s.prepare(); err != nil {
		s.remove()
		return err
	}
	if err := s.launch(); err != nil {
		err = fmt.Errorf("start RabbitMQ: %w\n%s", err, s.logTail())
		s.remove()
		return err
	}
	return nil
}

// prepare chooses ports, writes the configuration and starts the port mapper.
func (s *Server) prepare() error {
	if err := s.takePorts(); err != nil {
		return err
	}
	s.node = fmt.Sprintf("parley%d@localhost", s.port)
	config := fmt.Sprintf("management.tcp.port = %d\nmanagement.tcp.ip = 127.0.0.1\n"+
		"collect_statistics_interval = 1000\ndisk_free_limit.absolute = 1MB\n", s.api)
	if s.tls != "" {
		config += fmt.Sprintf("listeners.tcp = none\nlisteners.ssl.1 = 127.0.0.1:%d\n%s", s.port, s.tls)
	}
	for name, text := range map[string]string{"rabbit.conf": config, "plugins": "[rabbitmq_management].\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	s.log = log
	s.epmd = s.command("epmd", "-port", strconv.Itoa(s.epm), "-address", "127.0.0.1")
	return s.epmd.Start()
}

// takePorts reserves ports until the server is removed.
func (s *Server) takePorts() error {
	for _, p := range [...]*int{&s.port, &s.api, &s.dist, &s.epm} {
		n, release, err := testenv.ReservePort()
		if err != nil {
			return err
		}
		*p, s.release = n, append(s.release, release)
	}
	return nil
}

// command returns a command with the environment of the broker.
func (s *Server) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(),
		"HOME="+s.dir, "RUNNING_UNDER_SYSTEMD=true", // so that the script replaces itself with the broker
		"ERL_EPMD_PORT="+strconv.Itoa(s.epm), "ERL_EPMD_ADDRESS=127.0.0.1", "ERL_CRASH_DUMP_BYTES=0",
		"RABBITMQ_NODENAME="+s.node, "RABBITMQ_DIST_PORT="+strconv.Itoa(s.dist),
		"RABBITMQ_MNESIA_BASE="+filepath.Join(s.dir, "data"), "RABBITMQ_LOG_BASE="+s.dir, "RABBITMQ_LOGS=-",
		"RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_CONFIG_FILE="+filepath.Join(s.dir, "rabbit"),
		"RABBITMQ_ADVANCED_CONFIG_FILE="+filepath.Join(s.dir, "advanced.config"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(s.dir, "plugins"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
	)
	if s.tls == "" { // the variables add a listener without TLS
		cmd.Env = append(cmd.Env, "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT="+strconv.Itoa(s.port))
	}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	dieWithUs(cmd)
	return cmd
}

// launch starts the broker's process and waits until it is ready.
func (s *Server) launch() error {
	s.broker = s.command(filepath.Join(s.tools, "rabbitmq-server"))
	if err := s.broker.Start(); err != nil {
		s.broker = nil
		return err
	}
	_, err := s.ctl("wait", "--pid", strconv.Itoa(s.broker.Process.Pid), "--timeout", "200")
	return err
}

// ctl runs rabbitmqctl and returns its output.
func (s *Server) ctl(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	like := s.command("")
	cmd := exec.CommandContext(ctx, filepath.Join(s.tools, "rabbitmqctl"), append([]string{"-n", s.node}, args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = like.Dir, like.Env, like.SysProcAttr
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("rabbitmqctl %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// explain logs the end of the broker's log if tb has failed.
func (s *Server) explain(tb testing.TB) {
	tb.Helper()
	if tb.Failed() {
		tb.Logf("warnings and errors of the broker:\n%s", s.logTail())
	}
}

// logTail returns the last lines of the broker's log without those of the level info, of which
// a start alone writes hundreds.
func (s *Server) logTail() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	var kept []string
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, "[info]") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[max(0, len(kept)-60):], "")
}

// remove ends the processes and deletes the folder.
func (s *Server) remove() {
	for _, cmd := range []**exec.Cmd{&s.broker, &s.epmd} {
		end(cmd, syscall.SIGKILL)
	}
	if s.log != nil {
		_ = s.log.Close()
	}
	_ = os.RemoveAll(s.dir)
	for _, release := range s.release {
		release()
	}
}

// end signals a process and waits until it has ended.
func end(cmd **exec.Cmd, sig os.Signal) {
	if *cmd == nil || (*cmd).Process == nil {
		return
	}
	_ = (*cmd).Process.Signal(sig)
	_ = (*cmd).Wait() // Wait returns an error for a killed process
	*cmd = nil
}
