package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/internal/testing/clocktest"
	"github.com/parley-a2a/parley/internal/testing/linktest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// faultKind is a kind of fault with its weight in the random choice.
type faultKind struct {
	name   string
	weight int
	happen func(*campaign, *node, *strike)
	// long is set if the fault always lasts for longer than a lease.
	long bool
	// needs reports whether the campaign can have the fault; nil means always.
	needs func(*campaign) bool
}

// faultKinds are all kinds of faults.
var faultKinds = []faultKind{
	{name: "kill hub", weight: 12, happen: (*campaign).killHub},
	{name: "end hub", weight: 8, happen: (*campaign).endHub},
	{name: "freeze hub", weight: 14, happen: (*campaign).freezeHub, long: true},
	{name: "move clock", weight: 10, happen: (*campaign).moveClock, needs: (*campaign).canMove},
	{name: "cut database", weight: 8, happen: func(_ *campaign, n *node, s *strike) { n.dbs[s.pick%len(n.dbs)].Cut() }},
	{name: "partition database", weight: 12, happen: (*campaign).partition, long: true},
	{name: "half-open database", weight: 10, happen: (*campaign).halfOpen},
	{name: "refuse database", weight: 8, happen: (*campaign).refuse},
	{name: "delay database", weight: 8, happen: (*campaign).delay},
	{name: "restart database", weight: 6, happen: (*campaign).restartDatabase},
	{name: "freeze database", weight: 5, happen: (*campaign).freezeDatabase},
	{name: "connection limit", weight: 6, happen: (*campaign).limitConnections},
	{name: "restart pooler", weight: 8, happen: (*campaign).restartPooler, needs: func(c *campaign) bool { return c.pooler != nil }},
	{name: "database away", weight: 8, happen: (*campaign).awayDatabase, needs: (*campaign).hasShards},
	{name: "move owner", weight: 30, happen: (*campaign).moveOwner, needs: (*campaign).hasShards},
	{name: "cut broker", weight: 8, happen: (*campaign).cutBroker, needs: (*campaign).hasBroker},
	{name: "partition broker", weight: 10, happen: (*campaign).partitionBroker, needs: (*campaign).hasBroker},
	{name: "kill broker", weight: 5, happen: (*campaign).killBroker, needs: func(c *campaign) bool { return c.broker.kill != nil }},
	{name: "kill worker", weight: 8, happen: (*campaign).killWorker, needs: (*campaign).hasBroker},
}

func (c *campaign) hasShards() bool { return len(c.all) > 1 }

func (c *campaign) hasBroker() bool { return c.broker.addr != "" }

// canMove reports whether the test can move clocks of other processes.
func (c *campaign) canMove() bool {
	err := clocktest.Move(c.nodes[0].Process().PID(), 0)
	if err != nil {
		c.t.Logf("clocks are not moved: %v", err)
	}
	return err == nil
}

// strike lets a planned fault happen.
func (c *campaign) strike(ctx context.Context, s *strike) {
	c.t.Helper()
	i := slices.IndexFunc(c.kinds, func(k faultKind) bool { return k.name == s.kind })
	n := c.nodes[s.hub]
	<-n.up
	c.t.Logf("%8.3f s: %s, hub %s, lasts %v", c.now().Seconds(), s.kind, n.id, s.lasts)
	c.kinds[i].happen(c, n, s)
	c.done[s.kind]++
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// lastingFault is a fault that has not ended.
type lastingFault struct {
	end   func() // may be called repeatedly, and concurrently
	timer *time.Timer
	ended chan struct{}
}

// lasts ends a fault after a while. A fault with the same name ends at once.
func (c *campaign) lasts(name string, d time.Duration, end func()) {
	c.over(name)
	ended := make(chan struct{})
	once := sync.OnceFunc(func() {
		defer close(ended)
		end()
	})
	c.lasting[name] = &lastingFault{once, time.AfterFunc(d, once), ended}
}

// over ends a fault that lasts.
func (c *campaign) over(name string) {
	if f := c.lasting[name]; f != nil {
		f.timer.Stop()
		f.end()
		delete(c.lasting, name)
	}
}

// calm waits until all faults have ended, and all hubs run. Their clocks stay wrong.
func (c *campaign) calm() {
	c.t.Helper()
	for name, f := range c.lasting {
		<-f.ended
		delete(c.lasting, name)
	}
	for _, n := range c.nodes {
		<-n.up
	}
}

// begin starts a hub again without waiting for it: the database may be down.
func (c *campaign) begin(n *node) {
	n.up = make(chan struct{})
	up := n.up
	c.starts.Go(func() {
		defer close(up)
		if err := n.begin(); err != nil {
			c.t.Error(err)
		}
	})
}

func (c *campaign) killHub(n *node, _ *strike) {
	n.Kill()
	c.over("freeze " + n.id)
	c.begin(n)
}

// endHub ends a hub in an orderly way.
func (c *campaign) endHub(n *node, _ *strike) {
	c.over("freeze " + n.id)
	if n.bus != nil {
		c.over("bus " + n.id)
	}
	for i := range c.all { // a hub without a database cannot end in time
		c.over(fmt.Sprint("db ", n.id, i))
		c.over(fmt.Sprint("database ", i))
	}
	if err := n.end(); err != nil {
		c.t.Logf("hub %s: %v", n.id, err)
	}
	c.begin(n)
}

func (c *campaign) freezeHub(n *node, s *strike) {
	c.over("freeze " + n.id)
	n.signal(syscall.SIGSTOP)
	c.lasts("freeze "+n.id, s.lasts, func() { n.signal(syscall.SIGCONT) })
}

func (c *campaign) moveClock(n *node, s *strike) {
	c.over("freeze " + n.id)
	if err := clocktest.Move(n.Process().PID(), s.jump); err != nil {
		c.t.Error(err)
	}
}

// stalls stops the bytes of a link for a while.
func (c *campaign) stalls(name string, l *linktest.Link, d linktest.Direction, s *strike) {
	c.over(name)
	flow := l.Stall(d)
	c.lasts(name, s.lasts, func() {
		l.Cut() // no real network keeps bytes for so long
		flow()
	})
}

// stallsLate is stalls, but at the end the bytes arrive.
func (c *campaign) stallsLate(name string, l *linktest.Link, d linktest.Direction, s *strike) {
	c.over(name)
	c.lasts(name, s.lasts, l.Stall(d))
}

// link returns the link of a hub to a database, and its name.
func (n *node) link(s *strike) (string, *linktest.Link) {
	i := s.pick % len(n.dbs)
	return fmt.Sprint("db ", n.id, i), n.dbs[i]
}

func (c *campaign) partition(n *node, s *strike) {
	name, link := n.link(s)
	c.stalls(name, link, linktest.Both, s)
}

// halfOpen stops the bytes to the database, or those from it. In the end they arrive: the writes of a
// hub that was lost meanwhile, too.
func (c *campaign) halfOpen(n *node, s *strike) {
	d := linktest.ToServer
	if s.jump > 0 {
		d = linktest.ToClient
	}
	name, link := n.link(s)
	c.stallsLate(name, link, d, s)
}

func (c *campaign) refuse(n *node, s *strike) {
	name, link := n.link(s)
	c.over(name)
	link.Refuse(true)
	c.lasts(name, s.lasts, func() { link.Refuse(false) })
}

func (c *campaign) delay(n *node, s *strike) {
	name, link := n.link(s)
	c.over(name)
	link.Delay(50 * time.Millisecond)
	c.lasts(name, s.lasts, func() { link.Delay(0) })
}

// server ends the fault of a server, and returns the server with the name of its faults.
func (c *campaign) server(s *strike) (string, *pgtest.Server) {
	i := s.pick % len(c.all)
	name := fmt.Sprint("database ", i)
	c.over(name)
	return name, c.all[i].server
}

func (c *campaign) restartDatabase(_ *node, s *strike) {
	_, server := c.server(s)
	server.Kill()
	server.Launch(c.t)
}

func (c *campaign) awayDatabase(_ *node, s *strike) {
	name, server := c.server(s)
	server.Kill()
	c.lasts(name, s.lasts, func() { server.Launch(c.t) })
}

// moveOwner orders a move of an owner to another database. The next faults happen meanwhile.
func (c *campaign) moveOwner(_ *node, s *strike) {
	owner, to := s.pick%c.owners(), s.pick/c.owners()%len(c.all)
	c.starts.Go(func() {
		ctx, cancel := context.WithTimeout(c.t.Context(), settling)
		defer cancel()
		if err := c.orderMove(ctx, owner, to); err != nil {
			c.t.Logf("no move: %v", err)
		}
	})
}

func (c *campaign) restartPooler(*node, *strike) {
	c.pooler.Kill()
	c.pooler.Start(c.t)
}

func (c *campaign) freezeDatabase(_ *node, s *strike) {
	name, server := c.server(s)
	c.lasts(name, s.lasts, server.Freeze())
}

// limitConnections leaves fewer connections than the hubs have.
func (c *campaign) limitConnections(_ *node, s *strike) {
	name, server := c.server(s)
	server.Exec(c.t, "postgres", "ALTER ROLE "+role+" CONNECTION LIMIT 4; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+role+"'")
	c.lasts(name, s.lasts, func() { server.Exec(c.t, "postgres", "ALTER ROLE "+role+" CONNECTION LIMIT -1") })
}

// busOf returns the link of a hub to the broker: of another hub for the one that has it inside.
func (c *campaign) busOf(n *node) *node {
	if n.bus == nil {
		return c.nodes[1]
	}
	return n
}

func (c *campaign) cutBroker(n *node, _ *strike) { c.busOf(n).bus.Cut() }

func (c *campaign) partitionBroker(n *node, s *strike) {
	n = c.busOf(n)
	c.stalls("bus "+n.id, n.bus, linktest.Both, s)
}

func (c *campaign) killBroker(_ *node, s *strike) {
	c.over("broker")
	c.broker.kill()
	c.lasts("broker", s.lasts, c.broker.start)
}

func (c *campaign) killWorker(*node, *strike) {
	first := c.workers[0]
	first.Kill()
	c.workers = c.workers[1:]
	c.startWorker(first.name)
}
