package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/linktest"
	"github.com/parley-a2a/parley/store/sqlitestore"
	"github.com/parley-a2a/parley/task"
)

// busSystem is a hub, its workers, and the broker between them.
type busSystem struct {
	t       *testing.T
	broker  *broker
	proxy   *linktest.Link
	rand    *rand.Rand
	bus     bus.Bus        // connection of the test, which does not go through the proxy
	front   *linktest.Link // between callers and the hub
	addr    string
	data    string
	record  string
	hubID   string
	ballast string // file that fills the disk; empty without a small disk
	hub     *hubtest.Process
	workers []*worker
	crowd   *crowd
	// done counts the faults by name.
	done map[string]int
}

// worker is a process that may be suspended.
type worker struct {
	*hubtest.Process
	role  string
	wakes time.Time   // time of the automatic wake-up, also after it
	alarm *time.Timer // wakes the process independently of the test; nil if it never slept
}

func (p *worker) asleep() bool { return time.Now().Before(p.wakes) }

// sleep suspends the process for d from now on, even if it sleeps already.
func (p *worker) sleep(d time.Duration) error {
	if p.wakes = time.Now().Add(d); p.alarm == nil {
		p.alarm = time.AfterFunc(d, p.goOn)
	} else {
		p.alarm.Reset(d)
	}
	return syscall.Kill(p.PID(), syscall.SIGSTOP)
}

// wake resumes the process if it sleeps.
func (p *worker) wake() {
	if p.alarm != nil && p.alarm.Stop() {
		p.wakes = time.Time{}
		p.goOn()
	}
}

// goOn resumes the process. It does nothing to a killed process.
func (p *worker) goOn() { _ = syscall.Kill(p.PID(), syscall.SIGCONT) }

const (
	workers = 3
	callers = 6
)

func newBusSystem(t *testing.T, b *broker, seed uint64) *busSystem {
	t.Helper()
	dir := t.TempDir()
	w := &busSystem{
		crowd: new(crowd), t: t, broker: b, proxy: linktest.New(t, b.addr), rand: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // to be repeated
		addr: hubtest.Addr(t), data: filepath.Join(dir, "hub.db"), record: filepath.Join(dir, "record"), done: map[string]int{}, hubID: ownID,
	}
	w.front = linktest.New(t, w.addr)
	roles := []string{workerRole, workerRole, workerRole}
	if b.commands {
		roles = []string{careful, robust, careful, robust}
		if b.mixed {
			roles = append(roles, serialQueue)
		}
		w.prepare(smallDisk(t))
	}
	if err := os.WriteFile(w.record, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.startHub()
	if b.commands {
		w.identify()
	}
	own, err := openBus(t.Context(), w.address(b.addr))
	if err != nil {
		t.Fatal(err)
	}
	w.bus = own
	t.Cleanup(func() {
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, role := range roles {
		w.workers = append(w.workers, &worker{Process: w.launch(role), role: role})
	}
	for _, p := range w.workers {
		w.await(p.Process)
	}
	return w
}

// launch starts a process.
func (w *busSystem) launch(role string) *hubtest.Process {
	w.t.Helper()
	p := hubtest.Launch(w.t, w.command(role))
	w.t.Cleanup(func() {
		if dir := os.Getenv("PARLEY_BUS_LOGS"); dir != "" && w.t.Failed() {
			_ = os.WriteFile(filepath.Join(dir, role+uuid.NewString()[:8]), []byte(p.Output()), 0o600)
		}
	})
	return p
}

// command returns the command line and environment of a process.
func (w *busSystem) command(role string) hubtest.Command {
	if w.broker.commands {
		return w.commandOf(role)
	}
	env := []string{
		roleVar + "=" + role, busVar + "=" + w.broker.through(w.proxy.Addr()),
		addrVar + "=" + w.addr, dataVar + "=" + w.data, recordVar + "=" + w.record,
	}
	if w.broker.inside {
		env = append(env, listenVar+"="+w.broker.addr)
	}
	return hubtest.Command{Path: os.Args[0], Env: env}
}

// await waits until a process is ready.
func (w *busSystem) await(p *hubtest.Process) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if err := p.Await(ctx, "msg=ready", "performing the tasks of an agent"); err != nil { // the hub, a worker
		w.t.Fatal(err)
	}
}

func (w *busSystem) startHub() {
	w.t.Helper()
	w.hub = w.launch(hubRole)
	w.await(w.hub)
}

// gather lets callers begin tasks until begin ends. The tasks must end before ctx does; then
// the returned channel is closed.
func (w *busSystem) gather(ctx, begin context.Context) <-chan struct{} {
	w.crowd.url, w.crowd.direct = "http://"+w.front.Addr(), "http://"+w.addr
	w.crowd.back = func() <-chan struct{} { return nil }
	w.crowd.next, w.crowd.check = w.nextJob, func(_ context.Context, j *job) error { return j.checkRun() }
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.crowd.run(ctx, begin, callers)
	}()
	return over
}

// nextJob creates a job for one of the agents.
func (w *busSystem) nextJob(_ string, i int) *job {
	kinds := []string{"stream", "ask", "stream", "fail", "stream"}
	if w.broker.commands {
		kinds = append(kinds, "cancel", "cancel")
	}
	j := &job{
		reader: reader{skips: true}, agent: []string{careful, robust}[i%2], kind: kinds[i%len(kinds)], keyed: true, chunks: 1 + rand.IntN(30),
		program: w.broker.commands,
	}
	if j.kind == "cancel" {
		j.cancelAt, j.chunks = 1+rand.IntN(6), 40
	}
	if i%3 == 0 {
		j.padding = protocol.MaxBatched // too large for an offer, so its work is in the queue
	}
	return j
}

// checkRun checks that exactly one run has performed the job: the final status names the run that
// wrote the output. That of a completed program has no message; checkExit checks its run.
func (j *job) checkRun() error {
	run, n, err := oneRun(j.words)
	if err != nil {
		return wrong("task %s, %s (%s): %v", j.id, j.state, j.why, err)
	}
	by := run
	if j.program {
		by = ""
	}
	switch {
	case j.state == "COMPLETED" && (n != j.chunks || j.why != by):
		return wrong("task %s is completed by run %s with %d chunks of %s, want %d: %q", j.id, j.why, n, run, j.chunks, j.words)
	case j.state == "FAILED" && strings.Contains(j.why, toldTo) && (n != j.chunks || !strings.Contains(j.why, "run "+run+" ")):
		return wrong("task %s has failed with %q and %d chunks of %s, want %d: %q", j.id, j.why, n, run, j.chunks, j.words)
	case j.state == "COMPLETED" && j.kind == "fail":
		return wrong("task %s is completed, and should have failed", j.id)
	case j.canceled != (j.state == "CANCELED") && !j.blind:
		return wrong("task %s, %s of %s, is %s (%s); that it was canceled: %v, and it was refused with %v", j.id, j.kind, j.name, j.state, j.why, j.canceled, j.refusal)
	case j.state == "FAILED" && j.kind != "fail" && !strings.Contains(j.why, "worker"):
		return wrong("task %s (%s) has failed for no fault: %q", j.id, j.kind, j.why)
	}
	return nil
}

// checkExit checks that the program that wrote the result of the job has exited without an error.
func (j *job) checkExit(lines []line) error {
	run, _, err := oneRun(j.words)
	exited := func(e line) bool { return e.Op == opExit && e.Task == j.id && e.Run == run }
	if err == nil && j.program && j.state == "COMPLETED" && !slices.ContainsFunc(lines, exited) {
		return wrong("task %s is completed with the output of run %s, which has not exited", j.id, run)
	}
	return err
}

// oneRun returns the run that wrote text and its number of chunks. The error states the reason
// if text is not the output of one run without gaps.
func oneRun(text string) (run string, n int, err error) {
	for i, chunk := range strings.Fields(text) {
		by, number, _ := strings.Cut(chunk, ":")
		if i == 0 {
			run = by
		}
		if by != run || number != strconv.Itoa(i) {
			return "", 0, fmt.Errorf("chunk %d of run %s is %q: %q", i, run, chunk, text)
		}
		n++
	}
	return run, n, nil
}

// fault is a kind of fault with its weight in the random choice.
type fault struct {
	name   string
	weight int
	happen func(*busSystem)
}

func (w *busSystem) faults() []fault {
	all := []fault{
		{"kill worker", 24, (*busSystem).killWorker},
		{"kill hub", 16, (*busSystem).killHub},
		{"freeze worker", 12, (*busSystem).freeze},
		{"cut connections", 16, func(w *busSystem) { w.proxy.Cut() }},
		{"cut callers", 16, func(w *busSystem) { w.front.Cut() }},
		{"stall connections", 12, (*busSystem).stall},
	}
	if !w.broker.commands {
		all = append(all, fault{"double work", 16, (*busSystem).doubleWork}, fault{"double report", 16, (*busSystem).doubleReport})
	}
	if w.ballast != "" {
		all = append(all, fault{"full disk", 12, (*busSystem).fillDisk})
	}
	if w.broker.kill != nil {
		all = append(all, fault{"kill broker", 16 / w.broker.patience, (*busSystem).killBroker})
	}
	return all
}

// hurt injects n faults.
func (w *busSystem) hurt(ctx context.Context, n int) {
	w.t.Helper()
	faults, sum := w.faults(), 0
	for _, f := range faults {
		sum += f.weight
	}
	once := w.rand.Perm(len(faults)) // first each fault once
	for i := range n {
		var f fault
		if i < len(once) {
			f = faults[once[i]]
		} else {
			at := w.rand.IntN(sum)
			for _, f = range faults {
				if at -= f.weight; at < 0 {
					break
				}
			}
		}
		f.happen(w)
		w.done[f.name]++
		w.wait(ctx, time.Duration(50+w.rand.IntN(300))*time.Millisecond)
	}
}

func (w *busSystem) wait(ctx context.Context, d time.Duration) {
	w.t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		w.t.Fatal(context.Cause(ctx))
	}
}

func (w *busSystem) killWorker() {
	w.t.Helper()
	i := w.rand.IntN(len(w.workers))
	w.workers[i].wake() // its alarm must not fire later
	role := w.workers[i].role
	w.workers[i].Kill()
	w.workers[i] = &worker{Process: w.launch(role), role: role}
}

func (w *busSystem) killHub() {
	w.t.Helper()
	w.hub.Kill()
	w.startHub()
}

func (w *busSystem) killBroker() {
	w.t.Helper()
	w.broker.kill(w.t)
	w.broker.start(w.t)
}

// freeze suspends a worker for longer than its lease, or for much longer. One worker of its
// agents always stays awake.
func (w *busSystem) freeze() {
	w.t.Helper()
	i := w.rand.IntN(len(w.workers))
	p := w.workers[i]
	awake := func(other *worker) bool { return other != p && other.role == p.role && !other.asleep() }
	if !slices.ContainsFunc(w.workers, awake) {
		w.calm()
	}
	w.sleep(p)
}

// sleep suspends a worker for longer than its lease.
func (w *busSystem) sleep(p *worker) {
	w.t.Helper()
	if err := p.sleep(jobLease + time.Duration(w.rand.IntN(1000))*time.Millisecond); err != nil {
		w.t.Fatal(err)
	}
}

func (w *busSystem) stall() {
	flow := w.proxy.Stall(linktest.Both)
	defer flow()
	w.wait(w.t.Context(), time.Duration(200+w.rand.IntN(1300))*time.Millisecond)
}

func (w *busSystem) doubleWork() {
	w.t.Helper()
	at := protocol.JobAt([]task.Agent{careful, robust}[w.rand.IntN(2)])
	w.double(protocol.TypeJob, at, at, at)
}

// doubleReport publishes a report again at both addresses to which a worker may send it.
func (w *busSystem) doubleReport() {
	w.t.Helper()
	w.double(protocol.TypeReport, protocol.ControlAt(w.hubID), protocol.ControlAt(w.hubID), protocol.ReportAt(w.hubID))
}

// double receives an envelope of a kind at an address, and publishes it again at others, at
// once or late.
func (w *busSystem) double(kind bus.Type, at bus.Address, to ...bus.Address) {
	w.t.Helper()
	late := w.rand.IntN(2) == 0
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for d, err := range w.bus.Receive(ctx, bus.Subscription{At: at}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if d.Type != kind {
			continue
		}
		if late {
			w.wait(ctx, 300*time.Millisecond)
		}
		for _, to := range to {
			e := *d.Envelope
			e.ID = uuid.NewString()
			if err := w.bus.Publish(ctx, to, &e); err != nil {
				w.t.Fatalf("publish twice: %v", err)
			}
		}
		if err := d.Ack(ctx); err != nil {
			w.t.Logf("acknowledge what was published twice: %v", err)
		}
		return
	}
	w.t.Errorf("nothing has come to %s within a minute; under way are %q", at, w.crowd.underWay())
}

// calm wakes all workers.
func (w *busSystem) calm() {
	w.t.Helper()
	for _, p := range w.workers {
		p.wake()
	}
}

// queues returns the queues that must be empty at the end.
func (w *busSystem) queues() []bus.Address {
	return []bus.Address{protocol.JobAt(careful), protocol.JobAt(robust), protocol.ReportAt(w.hubID), bus.Dead}
}

// silent checks that nothing more arrives after all processes have ended. Workers that are the
// command make a broker with leases hold their received messages for half a minute, and the test
// does not wait for these. With such workers, a late message must be about a known task; all of
// these have ended.
func (w *busSystem) silent(ids map[string]bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), brokerLease+time.Second)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	late := w.broker.commands && w.broker.left == nil
	for _, at := range w.queues() {
		wg.Go(func() {
			for d, err := range w.bus.Receive(ctx, bus.Subscription{At: at}) {
				if err != nil {
					w.t.Error(err)
					return
				}
				if at == bus.Dead || !late || !ids[d.Task] {
					w.t.Errorf("%s, delivery %d, about task %s is still in %s", d.Type, d.Number, d.Task, at)
				}
				if err := d.Ack(ctx); err != nil {
					w.t.Error(err)
				}
			}
		})
	}
}

// empty waits until all queues are empty.
func (w *busSystem) empty(ctx context.Context) {
	w.t.Helper()
	if w.broker.left != nil {
		for left := w.broker.left(w.t); len(left) > 0; left = w.broker.left(w.t) {
			if pause(ctx, nil) != nil {
				w.t.Errorf("these queues have messages: %v", left)
				return
			}
		}
		return
	}
	operator := w.operator()
	if w.broker.hidesHeld && !w.broker.commands { // workers reclaim their held messages within 5 s, and discard them
		w.wait(ctx, 6*time.Second)
	}
	for _, at := range w.queues() {
		for {
			d, err := operator.Depth(ctx, at)
			if w.broker.hidesHeld || w.broker.commands {
				d.Held = 0
			}
			if err == nil && d.Ready+d.Held == 0 {
				break
			}
			if pause(ctx, nil) != nil {
				w.t.Errorf("%s is not empty: %+v, %v", at, d, err)
				break
			}
		}
	}
}

func (w *busSystem) operator() bus.Operator {
	w.t.Helper()
	operator, ok := w.bus.(*hasty).Bus.(bus.Operator)
	if !ok {
		w.t.Fatal("the bus has no depth")
	}
	return operator
}

// staffed waits until all workers receive from the queues of both agents.
func (w *busSystem) staffed(ctx context.Context) {
	w.t.Helper()
	for _, name := range []task.Agent{careful, robust} {
		for {
			d, err := w.operator().Depth(ctx, protocol.JobAt(name))
			if err == nil && d.Receivers == workers {
				break
			}
			if pause(ctx, nil) != nil {
				w.t.Fatalf("the workers of %s are not there: %+v, %v", name, d, err)
			}
		}
	}
}

// letter is a dead letter. stored is set if the hub has its task.
type letter struct {
	queue.Letter

	stored bool
}

// stop ends all processes, checks their exit codes, and returns the dead letters.
func (w *busSystem) stop() []letter {
	w.t.Helper()
	for _, p := range w.workers {
		if err := p.Interrupt(); err != nil {
			w.t.Errorf("worker: %v", err)
		}
	}
	if err := w.hub.Interrupt(); err != nil {
		w.t.Errorf("hub: %v", err)
	}
	path := w.data
	if w.broker.commands {
		w.leftovers()
		path = filepath.Join(w.data, "parley.db")
	}
	db, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	dead, err := db.Letters().Letters(w.t.Context(), &queue.LetterQuery{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	var letters []letter
	for _, l := range dead {
		_, err := db.Tasks().Head(w.t.Context(), l.Owner, a2a.TaskID(l.Task))
		if err != nil && !errors.Is(err, task.ErrNotFound) {
			w.t.Fatal(err)
		}
		letters = append(letters, letter{l, err == nil})
	}
	return letters
}

// executions returns the number of executions of each message of an agent.
func executions(lines []line) map[string]map[string]int {
	all := map[string]map[string]int{careful: {}, robust: {}}
	for i := range lines {
		if e := &lines[i]; e.Op == "" {
			all[e.Agent][e.Task+" "+e.Key]++
		}
	}
	return all
}
