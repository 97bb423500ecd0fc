package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// patience is the time limit for a start.
const patience = 2 * time.Minute

// Server is a server on loopback.
type Server struct {
	bin, dir string
	port     int
	sync     bool
	delay    time.Duration // of each sync to the disk
	user     *user         // nil for the user of this process
	process  *exec.Cmd
	log      *os.File
	release  func() // releases the port

	mu    sync.Mutex // guards the fields below
	free  []string   // databases that no test uses
	count int        // of all databases
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared returns the server that all tests of a package share. It must not be stopped.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	bin := programs(tb)
	shared.once.Do(func() { shared.server, shared.err = create(bin, new(Server)) })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server
}

// Exit ends the shared server and the process.
func Exit(code int) {
	if shared.server != nil {
		shared.server.remove()
	}
	os.Exit(code)
}

// Start runs a server until tb ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s, err := create(programs(tb), &Server{sync: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("log of the database:\n%s", s.logTail())
		}
		s.remove()
	})
	return s
}

// Need skips or fails a test of a program that calls Run if there is no PostgreSQL.
func Need(tb testing.TB) {
	tb.Helper()
	programs(tb)
}

// Run runs a server for a program that is no test, such as a bench. Its caller must call End. With a delay, each
// sync to the disk takes longer by it: strace, which must be installed, delays the return of the system call.
func Run(delay time.Duration) (*Server, error) {
	path, ok := testenv.Find("postgres")
	if !ok {
		return nil, errors.New("there is no PostgreSQL on this machine")
	}
	if _, err := exec.LookPath("strace"); err != nil && delay > 0 {
		return nil, errors.New("there is no strace on this machine")
	}
	return create(filepath.Dir(path), &Server{sync: true, delay: delay})
}

// End ends a server of Run and removes its files.
func (s *Server) End() { s.remove() }

// PID returns the id of the first process of the server, which is the parent of the others.
func (s *Server) PID() int { return s.process.Process.Pid }

// Create creates an empty database and returns its address.
func (s *Server) Create(name string) (string, error) {
	if err := s.exec("postgres", "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return s.URL(name), nil
}

// programs returns the folder of PostgreSQL's programs, the newest version. Without it, tb is
// skipped or fails.
func programs(tb testing.TB) string {
	tb.Helper()
	return filepath.Dir(testenv.Tool(tb, "postgres"))
}

// create makes a folder and starts the server s in it.
func create(bin string, s *Server) (*Server, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s.bin, s.dir, s.release = bin, dir, func() {}
	if err := s.prepare(); err != nil {
		s.remove()
		return nil, fmt.Errorf("prepare PostgreSQL: %w", err)
	}
	if err := s.launch(); err != nil {
		err = fmt.Errorf("start PostgreSQL: %w\n%s", err, s.logTail())
		s.remove()
		return nil, err
	}
	return s, nil
}

// prepare chooses the port and the user, and creates the files of the database.
func (s *Server) prepare() (err error) {
	if s.port, s.release, err = testenv.ReservePort(); err != nil {
		return err
	}
	if s.user, err = otherUser(); err != nil {
		return err
	}
	if err := s.user.own(s.dir); err != nil {
		return err
	}
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	// The locale sorts unlike bytes, as on most systems.
	cmd := s.command("initdb", "--pgdata="+s.data(), "--username=parley", "--auth=trust", "--no-sync",
		"--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en", "--locale=C.UTF-8")
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, s.logTail())
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command returns a command as the user of the server, with the environment that it needs.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "LC_ALL=C.UTF-8", "TZ=UTC")
	s.user.tie(cmd)
	return cmd
}

// launch starts the process and waits until it accepts connections.
func (s *Server) launch() error {
	onOff := map[bool]string{false: "off", true: "on"}[s.sync]
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.dir, "-h", "127.0.0.1"}
	for _, setting := range []string{
		"fsync=" + onOff, "full_page_writes=" + onOff, "max_connections=300", "shared_buffers=32MB", "log_min_messages=warning",
	} {
		args = append(args, "-c", setting)
	}
	ready, notify, err := s.listen()
	if err != nil {
		return err
	}
	s.process = s.command("postgres", args...)
	if s.delay > 0 {
		s.slow(s.process)
	}
	s.process.Env = append(s.process.Env, notify)
	s.process.Stdout, s.process.Stderr = s.log, s.log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return errors.Join(err, ready.Close())
	}
	return s.wait(ready)
}

// slow makes a command a child of strace. With -D the tracer is a grandchild of this process, and its filter in the
// kernel keeps other system calls quick.
func (s *Server) slow(cmd *exec.Cmd) {
	tracer, _ := exec.LookPath("strace") // Run has found it
	cmd.Args = append([]string{
		"strace", "-D", "-f", "--seccomp-bpf", "-o", os.DevNull, "-e", "trace=fdatasync",
		"-e", "inject=fdatasync:delay_exit=" + strconv.FormatInt(s.delay.Microseconds(), 10), cmd.Path,
	}, cmd.Args[1:]...)
	cmd.Path = tracer
}

// URL returns the address of a database.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("parley"), Host: "127.0.0.1:" + strconv.Itoa(s.port), Path: database}
	return u.String() + "?sslmode=disable"
}

// Port returns the port of the server.
func (s *Server) Port() int { return s.port }

// Database returns the address of a database that is empty and belongs to tb until it ends.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := s.take(tb)
	tb.Cleanup(func() {
		// Emptying a database takes a hundredth of the time that creating one takes.
		const empty = "DROP SCHEMA IF EXISTS parley CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public"
		if s.process == nil {
			return
		}
		if err := s.exec(name, empty); err != nil {
			tb.Errorf("empty the database, whose connections must be closed: %v", err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, name)
	})
	return s.URL(name)
}

// take returns the name of a free database.
func (s *Server) take(tb testing.TB) string {
	tb.Helper()
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		name := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return name
	}
	s.count++
	name := fmt.Sprintf("d%d", s.count)
	s.mu.Unlock()
	s.Exec(tb, "postgres", "CREATE DATABASE "+name)
	return name
}

// Exec executes SQL in a database.
func (s *Server) Exec(tb testing.TB, database, sql string) {
	tb.Helper()
	if err := s.exec(database, sql); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
}

func (s *Server) exec(database, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // cleanups use it, too
	defer cancel()
	c, err := pgconn.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql).ReadAll()
	return errors.Join(err, c.Close(ctx))
}

// logTail returns the last lines of the server's log.
func (s *Server) logTail() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	lines := slices.Collect(strings.Lines(string(b)))
	return strings.Join(lines[max(0, len(lines)-40):], "")
}

// remove ends the process and deletes the folder.
func (s *Server) remove() {
	s.Kill()
	if s.log != nil {
		_ = s.log.Close()
	}
	_ = os.RemoveAll(s.dir)
	s.release()
}
