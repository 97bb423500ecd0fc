package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/internal/testing/clocktest"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/linktest"
)

// faultKind is a kind of fault with its weight in the random choice.
type faultKind struct {
	name   string
	weight int
	// happen lets the fault happen. It returns false if there was no victim.
	happen func(*campaign, context.Context, *strike) bool
	// needs reports whether the campaign can have the fault; nil means always.
	needs func(*campaign) bool
}

// faultKinds are all kinds of faults.
var faultKinds = []faultKind{
	{"kill hub", 10, (*campaign).strikeHub, nil},
	{"end hub", 6, (*campaign).endHub, nil},
	{"freeze hub", 8, (*campaign).freezeHub, nil},
	{"move hub clock", 10, (*campaign).moveHub, canMove},
	{"kill worker", 12, (*campaign).strikeWorker, nil},
	{"end worker", 8, (*campaign).endWorker, nil},
	{"freeze worker", 10, (*campaign).freezeWorker, nil},
	{"move worker clock", 8, (*campaign).moveWorker, canMove},
	{"kill program", 12, (*campaign).killProgram, nil},
	{"freeze program", 10, (*campaign).freezeProgram, nil},
	{"cut broker", 10, func(c *campaign, _ context.Context, _ *strike) bool { c.proxy.Cut(); return true }, nil},
	{"stall broker", 10, (*campaign).stallBroker, nil},
	{"kill broker", 8, (*campaign).strikeBroker, outside},
	{"freeze broker", 8, (*campaign).freezeBroker, outside},
	{"cut callers", 10, func(c *campaign, _ context.Context, _ *strike) bool { c.front.Cut(); return true }, nil},
	{"full disk", 10, (*campaign).fill, func(c *campaign) bool { return c.ballast != "" }},
	{"failing webhooks", 10, (*campaign).failHooks, nil},
}

func outside(c *campaign) bool { return !c.broker.inside }

// canMove reports whether the test can move clocks of other processes.
func canMove(c *campaign) bool {
	err := clocktest.Move(c.hub.PID(), 0)
	if err != nil {
		c.t.Logf("clocks are not moved: %v", err)
	}
	return err == nil
}

// choose selects the kinds of faults that are possible.
func (c *campaign) choose() {
	for _, k := range faultKinds {
		if k.needs == nil || k.needs(c) {
			if k.name == "kill broker" {
				k.weight = max(1, k.weight/c.broker.patience)
			}
			c.kinds = append(c.kinds, k)
		}
	}
}

// strike lets a planned fault happen.
func (c *campaign) strike(ctx context.Context, s *strike) {
	c.t.Helper()
	i := slices.IndexFunc(c.kinds, func(k faultKind) bool { return k.name == s.kind })
	c.t.Logf("%s: %s, lasts %v, jumps to %v", time.Now().Format("15:04:05.000"), s.kind, s.lasts, s.jump)
	if c.kinds[i].happen(c, ctx, s) {
		c.done[s.kind]++
	}
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		c.t.Fatal(context.Cause(ctx))
	}
}

// lastingFault is a fault that has not ended.
type lastingFault struct {
	end   func() // may be called repeatedly, and concurrently
	timer *time.Timer
}

// lasts ends a fault after a while. A fault with the same name ends at once.
func (c *campaign) lasts(name string, d time.Duration, end func()) {
	c.over(name)
	end = sync.OnceFunc(end)
	c.lasting[name] = &lastingFault{end, time.AfterFunc(d, end)}
}

// over ends a fault that lasts, and waits for its end.
func (c *campaign) over(name string) {
	if f := c.lasting[name]; f != nil {
		f.timer.Stop()
		f.end()
		delete(c.lasting, name)
	}
}

// calm ends all faults that last, and sets the clocks right.
func (c *campaign) calm() {
	c.t.Helper()
	for name := range c.lasting {
		c.over(name)
	}
	for _, p := range append([]*hubtest.Process{c.hub}, c.workerProcesses()...) {
		if !slices.ContainsFunc(c.kinds, func(k faultKind) bool { return k.name == "move hub clock" }) {
			return
		}
		if err := clocktest.Move(p.PID(), 0); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *campaign) workerProcesses() (all []*hubtest.Process) {
	for _, w := range c.workers {
		all = append(all, w.Process)
	}
	return all
}

func (c *campaign) strikeHub(context.Context, *strike) bool {
	c.over(nameOf(c.hub))
	c.over("disk") // no hub starts on a full disk
	c.hub.Kill()
	c.startHub()
	return true
}

func (c *campaign) endHub(context.Context, *strike) bool {
	c.over(nameOf(c.hub))
	c.over("disk")
	// A frozen program does not stop in time.
	if err := c.hub.Interrupt(); err != nil && !strings.Contains(err.Error(), "executors did not stop") {
		c.t.Errorf("hub: %v", err)
	}
	c.startHub()
	return true
}

func (c *campaign) freezeHub(_ context.Context, s *strike) bool {
	c.freezeProcess(c.hub, s.lasts)
	return true
}

func nameOf(p *hubtest.Process) string { return fmt.Sprint("process ", p.PID()) }

// freezeProcess suspends a process for a while.
func (c *campaign) freezeProcess(p *hubtest.Process, d time.Duration) {
	c.t.Helper()
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		c.t.Errorf("freeze process %d: %v", p.PID(), err)
		return
	}
	c.lasts(nameOf(p), d, func() {
		select {
		case <-p.Done():
		default:
			_ = syscall.Kill(p.PID(), syscall.SIGCONT) // it may end now
		}
	})
}

func (c *campaign) moveHub(_ context.Context, s *strike) bool { return c.move(c.hub, s.jump) }

func (c *campaign) move(p *hubtest.Process, by time.Duration) bool {
	c.t.Helper()
	c.over(nameOf(p))
	if err := clocktest.Move(p.PID(), by); err != nil {
		c.t.Error(err)
		return false
	}
	return true
}

// victim returns one of the workers.
func (c *campaign) victim(s *strike) int { return s.pick % len(c.workers) }

func (c *campaign) strikeWorker(_ context.Context, s *strike) bool {
	i := c.victim(s)
	c.over(nameOf(c.workers[i].Process))
	c.workers[i].Kill()
	c.replace(i)
	return true
}

// endWorker ends a worker in an orderly way.
func (c *campaign) endWorker(_ context.Context, s *strike) bool {
	c.t.Helper()
	i := c.victim(s)
	c.over(nameOf(c.workers[i].Process))
	c.await(c.workers[i].Process) // before that, the signal kills it
	if err := c.workers[i].Interrupt(); err != nil {
		c.t.Errorf("worker: %v", err)
	}
	c.replace(i)
	return true
}

func (c *campaign) replace(i int) {
	role := c.workers[i].role
	c.workers[i] = &worker{Process: c.launch(role), role: role}
}

func (c *campaign) freezeWorker(_ context.Context, s *strike) bool {
	c.freezeProcess(c.workers[c.victim(s)].Process, s.lasts)
	return true
}

func (c *campaign) moveWorker(_ context.Context, s *strike) bool {
	return c.move(c.workers[c.victim(s)].Process, s.jump)
}

// program waits for a moment until a program runs, and returns the process id of one.
func (c *campaign) program(ctx context.Context) (pid int, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		if all := c.runningPrograms(); len(all) > 0 {
			return all[rand.IntN(len(all))], true
		}
		if pause(ctx, nil) != nil {
			return 0, false
		}
	}
}

// runningPrograms returns the process ids of the programs of this campaign.
func (c *campaign) runningPrograms() (all []int) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.t.Error(err)
	}
	for _, folder := range folders {
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil && c.isProgram(pid) {
			all = append(all, pid)
		}
	}
	return all
}

// isProgram reports whether a process is a program of this campaign.
func (c *campaign) isProgram(pid int) bool {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || path != agentProgram {
		return false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains(string(env), recordVar+"="+c.record+"\x00")
}

func (c *campaign) killProgram(ctx context.Context, _ *strike) bool {
	pid, ok := c.program(ctx)
	return ok && syscall.Kill(pid, syscall.SIGKILL) == nil
}

func (c *campaign) freezeProgram(ctx context.Context, s *strike) bool {
	pid, ok := c.program(ctx)
	if !ok || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	c.lasts(fmt.Sprint("program ", pid), s.lasts, func() {
		if c.isProgram(pid) {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may end now
		}
	})
	return true
}

func (c *campaign) stallBroker(_ context.Context, s *strike) bool {
	c.over("link")
	c.lasts("link", s.lasts, c.proxy.Stall(linktest.Both))
	return true
}

func (c *campaign) strikeBroker(context.Context, *strike) bool {
	c.over("broker")
	c.killBroker()
	return true
}

func (c *campaign) freezeBroker(_ context.Context, s *strike) bool {
	c.over("broker")
	c.lasts("broker", s.lasts, c.broker.freeze(c.t))
	return true
}

// fill fills the disk of the hub's data for a while.
func (c *campaign) fill(_ context.Context, s *strike) bool {
	c.t.Helper()
	c.over("disk")
	c.filled.Store(true)
	f, err := os.Create(c.ballast)
	if err != nil {
		c.t.Error(err)
		return false
	}
	for block := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(block)
	}
	f.Close()
	c.lasts("disk", s.lasts, func() {
		if err := os.Remove(c.ballast); err != nil {
			c.t.Error(err)
		}
	})
	return true
}

func (c *campaign) failHooks(_ context.Context, s *strike) bool {
	c.hooks.fail(1 + s.pick%failHang)
	c.lasts("hooks", s.lasts, func() { c.hooks.fail(0) })
	return true
}
