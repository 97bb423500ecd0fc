package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

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
		Args: append(args, "--", agentProgram), Dir: dir,
		Env: []string{agentVar + "=" + role, recordVar + "=" + w.record, "TMPDIR=" + w.temp()},
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
