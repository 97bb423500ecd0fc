package crash

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// agentVar names the agent that this program performs.
const agentVar = "CRASH_AGENT"

// commandOf returns the command of the hub, or of a worker of an agent.
func (w *busSystem) commandOf(role string) hubtest.Command {
	w.t.Helper()
	dir := filepath.Dir(w.record)
	if role == hubRole {
		args := []string{"serve", "--listen", w.addr, "--data", w.data, "--log-level", "debug"}
		args = append(args, "--agents", "builtin", "--push-allow", "loopback")
		if w.broker.inside {
			args = append(args, "--bus-listen", w.broker.addr)
		} else {
			args = append(args, "--bus", w.broker.through(w.proxy.Addr()))
		}
		return hubtest.Command{Args: args, Dir: dir}
	}
	slots := 4
	if role == serialQueue {
		slots = serialSlots
	}
	args := []string{"agent", "run", "--name", role, "--concurrency", strconv.Itoa(slots), "--drain", "1s", "--log-level", "debug"}
	if role == robust || role == serialQueue {
		args = append(args, "--idempotent")
	}
	if w.broker.inside && role == robust {
		args = append(args, "--data", w.data) // with the key of the hub; the others go through the proxy
	} else {
		args = append(args, "--bus", w.address(w.proxy.Addr()))
	}
	return hubtest.Command{
		Args: append(args, "--", os.Args[0]), Dir: dir,
		Env: []string{roleVar + "=" + programRole, agentVar + "=" + role, recordVar + "=" + w.record, "TMPDIR=" + w.temp()},
	}
}

// address returns the address of the broker at a host, or behind a proxy.
func (w *busSystem) address(host string) string {
	if !w.broker.inside {
		return w.broker.through(host)
	}
	c, err := natsbus.ReadContact(filepath.Join(w.data, natsbus.ContactFile))
	if err != nil {
		w.t.Fatal(err)
	}
	return "nats://" + c.Token + "@" + host
}

// temp is the folder in which workers keep the state of their programs.
func (w *busSystem) temp() string { return filepath.Join(filepath.Dir(w.record), "tmp") }

// prepare writes the configuration file of the hub, and places its data on a small disk, if
// there is one.
func (w *busSystem) prepare(disk string) {
	w.t.Helper()
	dir := filepath.Dir(w.record)
	w.data = filepath.Join(dir, "data")
	if disk != "" {
		w.data = filepath.Join(disk, "data")
		w.ballast = filepath.Join(disk, "ballast")
	}
	config := fmt.Sprintf("idempotency: {header: true}\nbus: {lease: %v}\nagents:\n  - {name: %s, queue: %s}\n  - {name: %s, queue: %s}\n",
		jobLease, robust, robust, careful, careful)
	config += w.ownAgents()
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Mkdir(w.temp(), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// leftovers fails the test if files of programs are left.
func (w *busSystem) leftovers() {
	w.t.Helper()
	left, err := os.ReadDir(w.temp())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(left) > 0 {
		w.t.Errorf("workers have left %v behind", left)
	}
}

// runProgram is the program that a worker runs. "stream 12" writes twelve chunks,
// "fail 12" fails after them, "cancel 12" writes them slowly, and "ask" asks a question. The status of a completed program does not name its run, so it notes that it exits.
func runProgram() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	run := uuid.NewString()[:8]
	attempt, err := strconv.Atoi(os.Getenv("PARLEY_ATTEMPT"))
	if err != nil {
		return err
	}
	taskID := os.Getenv("PARLEY_TASK_ID")
	if err := noteDurably(record{os.Getenv(agentVar), os.Getenv("PARLEY_RUN_KEY"), attempt, taskID, run}); err != nil {
		return err
	}
	what, number, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	if what == "ask" {
		os.Exit(3)
	}
	if err := sendReport(run, what, n); err != nil {
		return err
	}
	if what == "fail" {
		return fmt.Errorf("run %s %s", run, toldTo)
	}
	return noteDurably(line{Op: opExit, Task: taskID, Run: run})
}

// toldTo ends the error of a program that was told to fail.
const toldTo = "was told to fail"

// noteDurably appends a line to the file of executions.
func noteDurably(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(os.Getenv(recordVar), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(append(b, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// sendReport writes n chunks, each with the run and its number.
func sendReport(run, what string, n int) error {
	think, pace := 200*time.Millisecond, 20*time.Millisecond
	if rand.N(3) == 0 {
		think = 2 * time.Second
	}
	if what == "cancel" {
		pace = 200 * time.Millisecond
	}
	out := bufio.NewWriter(os.Stdout)
	timer := time.NewTimer(rand.N(think))
	defer timer.Stop()
	for i := range n {
		<-timer.C
		fmt.Fprintf(out, "%s:%d ", run, i)
		if err := out.Flush(); err != nil {
			return err
		}
		timer.Reset(rand.N(pace))
	}
	return nil
}
