package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// answerInquiries announces the agent when a hub inquires.
func (r *run) answerInquiries(ctx context.Context) error {
	sub := bus.Subscription{At: protocol.Inquiry, Ready: r.announceNow.Send}
	for _, err := range r.Bus.Receive(ctx, sub) {
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		r.announceNow.Send()
	}
	return nil
}

// repeats reports whether the agent permits that another worker performs a job after the loss of this one.
func (r *run) repeats() bool { return agent.TraitsOf(r.Executor).AfterCrash.Repeats(false) }

// keepAlive announces the agent, sends heartbeats, and extends the deliveries of its jobs. It begins when the
// worker receives messages from hubs: a hub answers the first announcement of a worker that it gives no tasks.
func (r *run) keepAlive(ctx context.Context) {
	select {
	case <-r.subscribed:
	case <-ctx.Done():
		return
	}
	announce, beat := time.NewTicker(protocol.AnnounceInterval), time.NewTicker(r.heartbeatInterval())
	defer announce.Stop()
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.announceNow:
			// Hubs that subscribe later inquire; those that have subscribed receive this.
			r.announce(ctx)
		case <-announce.C:
			r.announce(ctx)
		case <-beat.C:
			r.heartbeat(ctx)
		case <-r.intervalCut:
			beat.Reset(r.heartbeatInterval())
		}
	}
}

// heartbeatsPerLease is the number of heartbeats within a lease. minInterval is the shortest
// time between two of them, whatever lease a hub grants.
const (
	heartbeatsPerLease = protocol.Lease / protocol.HeartbeatInterval
	minInterval        = 100 * time.Millisecond
)

// limitInterval shortens the time between two heartbeats if lease needs it.
func (r *run) limitInterval(lease time.Duration) {
	interval := max(lease/heartbeatsPerLease, minInterval)
	r.mu.Lock()
	defer r.mu.Unlock()
	if lease <= 0 || interval >= r.interval {
		return
	}
	r.interval = interval
	r.intervalCut.Send()
}

func (r *run) heartbeatInterval() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.interval
}

// maxHeartbeatJobs is the largest number of jobs in one heartbeat.
const maxHeartbeatJobs = 500

// heartbeat reports to each hub which of its jobs are alive.
func (r *run) heartbeat(ctx context.Context) {
	held := map[bus.Address][]protocol.HeldJob{}
	for _, j := range r.allJobs() {
		if h, ok := j.held(); ok {
			held[j.hubTopic] = append(held[j.hubTopic], h)
		}
		j.mu.Lock()
		all := slices.Clone(j.deliveries)
		j.mu.Unlock()
		for _, d := range all {
			j.run.logSettlement(d.Extend(ctx))
		}
	}
	for hub, jobs := range held {
		for len(jobs) > 0 {
			n := min(len(jobs), maxHeartbeatJobs)
			r.trySend(ctx, hub, r.envelope(protocol.TypeHeartbeat), &protocol.Heartbeat{Worker: r.id, Jobs: jobs[:n]})
			jobs = jobs[n:]
		}
	}
}

func (r *run) announce(ctx context.Context) {
	e, t := r.envelope(protocol.TypeAnnounce), agent.TraitsOf(r.Executor)
	e.Source = "agent/" + string(r.Name)
	r.trySend(ctx, protocol.Discovery, e, &protocol.Announce{
		Agent: r.Name, Card: r.cardJSON, Worker: r.id, Started: r.began, Idempotent: r.repeats(), Serial: t.Serial,
	})
}

// announceLeave announces that the worker ends.
func (r *run) announceLeave() {
	ctx, stop := context.WithTimeout(r.base, leaveWithin)
	defer stop()
	e := r.envelope(protocol.TypeGoodbye)
	e.Source = "agent/" + string(r.Name)
	r.trySend(ctx, protocol.Discovery, e, &protocol.Goodbye{Agent: r.Name, Worker: r.id})
}
