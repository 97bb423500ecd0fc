package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/internal/batch"
	"github.com/parley-a2a/parley/task"
)

// shift is one run of a Worker.
type shift struct {
	Worker
	id       string
	began    task.Millis
	cardJSON []byte
	// places has an element for each task that is performed. listening is closed once the
	// worker hears what hubs say to it.
	places    chan struct{}
	listening chan struct{}
	heard     sync.Once
	// present has room for one: the worker hears from now on when hubs ask who is there.
	present chan struct{}
	// posted is what goes to the topics of hubs.
	posted batch.Convoy[bus.Address, *bus.Envelope]

	// base outlives the tasks; over ends the shift.
	base context.Context
	over context.CancelCauseFunc
	work sync.WaitGroup
	idle *time.Timer // nil if the worker waits for ever

	mu   sync.Mutex // guards the fields below
	jobs map[jobKey]*workJob
	// draining is set once work is waited for: nothing is counted there any more.
	draining bool
	// pace is the time between two beats; quicker is signaled when it gets shorter.
	pace    time.Duration
	quicker chan struct{}
}

// jobKey finds a job: hubs do not know each other's tasks.
type jobKey struct {
	hub   string
	owner task.Owner
	task  string
}

// Why a worker ends what it does.
var (
	errShiftOver = errors.New("worker ends")
	errOnce      = errors.New("one task was performed")
	errIdle      = errors.New("there was nothing to do")
)

const (
	// grace is how long hubs and executors have to react when a worker ends.
	grace = 3 * time.Second
	// leaveWithin is how long a worker tries to say that it ends: hubs miss it anyway.
	leaveWithin = 500 * time.Millisecond
	// busMoment is how long a bus may be away without a word.
	busMoment = time.Second
)

// run receives work until ctx ends, and drains.
func (s *shift) run(ctx context.Context) error {
	s.began = task.MillisOf(time.Now())
	ctx, s.over = context.WithCancelCause(ctx)
	defer s.over(nil)
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	s.base = base
	var wg sync.WaitGroup
	failed := make(chan error, 3)
	attend := func(f func(context.Context) error) {
		wg.Go(func() {
			if err := f(base); err != nil {
				failed <- err
				s.over(err)
			}
		})
	}
	attend(s.listen)
	attend(s.inquiries)
	wg.Go(func() { s.tend(base) })
	drained := make(chan error, 1)
	if s.Idle > 0 {
		s.idle = time.AfterFunc(s.Idle, func() { s.over(errIdle) })
		defer s.idle.Stop()
	}
	if s.awaitBus(ctx) {
		if s.idle != nil {
			s.idle.Reset(s.Idle)
		}
		receiving, leave := context.WithCancel(base)
		wg.Go(func() {
			<-ctx.Done()
			drained <- s.drain()
			leave()
		})
		if err := s.receive(receiving, ctx); err != nil {
			failed <- err
			s.over(err)
		}
		leave()
	} else {
		if errors.Is(context.Cause(ctx), errIdle) {
			failed <- fmt.Errorf("worker: no broker for %v: %w", s.Idle, bus.ErrUnavailable)
		}
		drained <- nil
	}
	s.over(nil)
	err := <-drained
	s.leave()
	stop(errShiftOver)
	wg.Wait()
	close(failed)
	for f := range failed {
		err = errors.Join(err, f)
	}
	return err
}

// awaitBus waits until the worker hears what hubs say to it; it reports whether it does. A
// bus that is away for longer than a moment is something to be known.
func (s *shift) awaitBus(ctx context.Context) bool {
	moment := time.NewTimer(busMoment)
	defer moment.Stop()
	for {
		select {
		case <-s.listening:
			return true
		case <-ctx.Done():
			return false
		case <-moment.C:
			s.Logger.Warn("waiting for the broker; until it is there, no task is performed", "agent", s.Name)
		}
	}
}

// receive takes work until ctx ends. From the end of accepting on nothing is taken: it
// comes to another worker once the loop is left.
func (s *shift) receive(ctx, accepting context.Context) error {
	sub := bus.Subscription{At: protocol.WorkAt(s.Name), Prefetch: s.Concurrency}
	for d, err := range s.Bus.Receive(ctx, sub) {
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		select {
		case <-accepting.Done():
			continue
		case s.places <- struct{}{}:
		}
		if accepting.Err() != nil || !s.begin() {
			continue // nobody gives the place back, and nobody needs it
		}
		j := s.admit(d)
		if j == nil {
			s.work.Done()
			<-s.places
			continue
		}
		go func() { // drain waits for it
			defer s.work.Done()
			defer func() { <-s.places }()
			s.serve(accepting, j)
		}()
	}
	return nil
}

// begin counts one more job in work, unless the shift drains already.
func (s *shift) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.draining {
		s.work.Add(1)
	}
	return !s.draining
}

// admit returns the job of a delivery; nil if there is none, or if it is at work.
func (s *shift) admit(d *bus.Delivery) *workJob {
	j, err := s.newJob(d)
	if err != nil {
		s.Logger.Warn("work refused", "agent", s.Name, "task", d.Task, "from", d.Source, "error", err)
		s.settled(d.Bury(s.base, err.Error()))
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.jobs[j.key]; other != nil && !s.replaces(j, other) {
		return nil
	}
	s.jobs[j.key] = j
	if s.idle != nil {
		s.idle.Stop()
	}
	return j
}

// replaces reports whether a job takes the place of one that is at work for the same task.
// If it is the same work, which comes again, it does not; if it is newer, the hub does not
// care for the other one any more.
func (s *shift) replaces(j, other *workJob) bool {
	switch {
	case j.work.Delivery > other.work.Delivery:
		other.end(errStopped)
		return true
	case j.work.Delivery == other.work.Delivery:
		other.redelivered(j.delivery)
	default:
		j.ack()
	}
	return false
}

// serve performs one job.
func (s *shift) serve(accepting context.Context, j *workJob) {
	done := j.perform(accepting)
	s.mu.Lock()
	if s.jobs[j.key] == j {
		delete(s.jobs, j.key)
	}
	if s.idle != nil && len(s.jobs) == 0 {
		s.idle.Reset(s.Idle)
	}
	s.mu.Unlock()
	if done && s.Once {
		s.over(errOnce)
	}
}

// drain waits until the jobs have ended, and gives back those that have not in time.
func (s *shift) drain() error {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends when the executors do
		defer close(ended)
		s.work.Wait()
	}()
	if n := len(s.all()); n > 0 && s.DrainTimeout > 0 {
		s.Logger.Info("worker ends when its tasks have ended and hubs know it", "agent", s.Name, "tasks", n, "within", s.DrainTimeout)
	}
	if s.DrainTimeout > 0 && within(ended, s.DrainTimeout) {
		return nil
	}
	given := false
	for _, j := range s.all() {
		given = j.giveBack() || given
	}
	if given && within(ended, grace) {
		return nil
	}
	for _, j := range s.all() {
		j.end(errShiftOver)
	}
	if within(ended, grace) {
		return nil
	}
	return fmt.Errorf("worker: %d executors did not stop", len(s.all()))
}

// within reports whether a channel is closed within d.
func within(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

func (s *shift) all() []*workJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*workJob, 0, len(s.jobs))
	for _, j := range s.jobs {
		all = append(all, j)
	}
	return all
}

func (s *shift) find(k jobKey) *workJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[k]
}

// listen takes what hubs say to this worker.
func (s *shift) listen(ctx context.Context) error {
	sub := bus.Subscription{At: protocol.WorkerAt(s.id), Ready: s.ready}
	for d, err := range s.Bus.Receive(ctx, sub) {
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		if s.Keys != nil {
			if err := s.Keys.Verify(d.Envelope); err != nil {
				s.Logger.Warn("envelope ignored", "agent", s.Name, "error", err)
				continue
			}
		}
		if to := d.Destination; to != "" && to != s.source() {
			continue
		}
		all, err := protocol.Split(d.Envelope)
		if err != nil {
			s.Logger.Warn("batch ignored", "agent", s.Name, "error", err)
		}
		for _, e := range all {
			s.hear(ctx, e)
		}
	}
	return nil
}

// hear takes what a hub says about one job.
func (s *shift) hear(ctx context.Context, e *bus.Envelope) {
	if j := s.find(keyOf(e)); j != nil {
		j.hear(e)
	} else if e.Type == protocol.TypeGrant {
		s.decline(ctx, e)
	}
}

// decline gives back a job that was granted when nobody waited for it any more.
func (s *shift) decline(ctx context.Context, grant *bus.Envelope) {
	var g protocol.Grant
	hub := keyOf(grant).hub
	if protocol.Decode(grant.Body, &g) != nil || protocol.ReportAt(hub).Check() != nil {
		return
	}
	e := s.envelope(protocol.TypeReport)
	e.Destination, e.Task, e.Owner, e.Epoch, e.Seq = grant.Source, grant.Task, grant.Owner, grant.Epoch, 1
	s.say(ctx, protocol.ReportAt(hub), e, &protocol.Report{Token: g.Token, Worker: s.id, GivenBack: true})
}

// ready is called when the bus is there, and when it is there again: what the worker has
// said in between may be lost.
func (s *shift) ready() {
	s.heard.Do(func() {
		s.Logger.Info("performing the tasks of an agent", "agent", s.Name, "concurrency", s.Concurrency)
		close(s.listening)
	})
	for _, j := range s.all() {
		j.out.again()
	}
}

func keyOf(e *bus.Envelope) jobKey {
	return jobKey{strings.TrimPrefix(e.Source, "hub/"), e.Owner, e.Task}
}

// inquiries announces the agent to hubs that ask.
func (s *shift) inquiries(ctx context.Context) error {
	sub := bus.Subscription{At: protocol.Inquiry, Ready: func() {
		select {
		case s.present <- struct{}{}:
		default:
		}
	}}
	for _, err := range s.Bus.Receive(ctx, sub) {
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		s.announce(ctx)
	}
	return nil
}

// tend announces the agent, beats, and keeps the work that is being done.
func (s *shift) tend(ctx context.Context) {
	announce, beat := time.NewTicker(protocol.AnnounceEvery), time.NewTicker(s.paceNow())
	defer announce.Stop()
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.present:
			// Who listens from now on asks; who listened before hears it now.
			s.announce(ctx)
		case <-announce.C:
			s.announce(ctx)
		case <-beat.C:
			s.beat(ctx)
		case <-s.quicker:
			beat.Reset(s.paceNow())
		}
	}
}

// beatsPerLease is how often a worker beats within a lease, and leastPace the shortest
// time between two beats, whatever a hub says.
const (
	beatsPerLease = protocol.Lease / protocol.BeatEvery
	leastPace     = 100 * time.Millisecond
)

// keepWithin lets the worker beat often enough for a hub with such a lease, from now on.
func (s *shift) keepWithin(lease time.Duration) {
	pace := max(lease/beatsPerLease, leastPace)
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease <= 0 || pace >= s.pace {
		return
	}
	s.pace = pace
	select {
	case s.quicker <- struct{}{}:
	default:
	}
}

func (s *shift) paceNow() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pace
}

// maxHeld is how many jobs go into one beat.
const maxHeld = 500

// beat tells each hub which of its jobs are alive.
func (s *shift) beat(ctx context.Context) {
	held := map[bus.Address][]protocol.Held{}
	for _, j := range s.all() {
		if h, ok := j.held(); ok {
			held[j.hub] = append(held[j.hub], h)
		}
		s.settled(j.extend(ctx))
	}
	for hub, jobs := range held {
		for len(jobs) > 0 {
			n := min(len(jobs), maxHeld)
			s.say(ctx, hub, s.envelope(protocol.TypeBeat), &protocol.Beat{Worker: s.id, Jobs: jobs[:n]})
			jobs = jobs[n:]
		}
	}
}

func (s *shift) announce(ctx context.Context) {
	e, t := s.envelope(protocol.TypeAnnounce), agent.TraitsOf(s.Executor)
	e.Source = "agent/" + string(s.Name)
	s.say(ctx, protocol.Discovery, e, &protocol.Announce{
		Agent: s.Name, Card: s.cardJSON, Worker: s.id, Started: s.began, Idempotent: t.Idempotent, Serial: t.Serial,
	})
}

// leave says that the worker ends.
func (s *shift) leave() {
	ctx, stop := context.WithTimeout(s.base, leaveWithin)
	defer stop()
	e := s.envelope(protocol.TypeLeave)
	e.Source = "agent/" + string(s.Name)
	s.say(ctx, protocol.Discovery, e, &protocol.Leave{Agent: s.Name, Worker: s.id})
}

func (s *shift) source() string { return "worker/" + s.id }

// envelope returns an envelope of the worker. It has no id: send makes one, since most of them
// go together with others.
func (s *shift) envelope(kind bus.Type) *bus.Envelope {
	return &bus.Envelope{
		Type: kind, Time: task.MillisOf(time.Now()),
		Source: s.source(), ReplyTo: protocol.WorkerAt(s.id).Name,
	}
}

// say publishes something that may be lost.
func (s *shift) say(ctx context.Context, to bus.Address, e *bus.Envelope, body any) {
	if err := s.publish(ctx, to, e, body); err != nil && ctx.Err() == nil {
		s.Logger.Debug("not published", "type", e.Type, "at", to, "error", err)
	}
}

func (s *shift) publish(ctx context.Context, to bus.Address, e *bus.Envelope, body any) (err error) {
	if e.Body, err = protocol.Encode(body); err != nil {
		return err
	}
	return s.send(ctx, to, e)
}

func (s *shift) send(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	return s.Bus.Publish(ctx, to, e)
}

// post publishes e with a body at a hub's topic, together with others.
func (s *shift) post(ctx context.Context, to bus.Address, e *bus.Envelope, body any) (err error) {
	if e.Body, err = protocol.Encode(body); err != nil {
		return err
	}
	if len(e.Body) > protocol.MaxBatched {
		return s.send(ctx, to, e)
	}
	return s.posted.Send(ctx, to, e, func(all []*bus.Envelope) error {
		joined, err := protocol.Join(all)
		if err != nil {
			return err
		}
		return s.send(ctx, to, joined)
	})
}

// settled notes a settlement that has failed: the delivery comes again.
func (s *shift) settled(err error) {
	if err != nil {
		s.Logger.Debug("delivery not settled", "error", err)
	}
}
