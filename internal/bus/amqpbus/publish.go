package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/bus"
)

// publishChannels is the number of channels that publish. All messages to one address use the
// same channel, so that they stay in order.
const publishChannels = 4

// message is a message to be published.
type message struct {
	to         bus.Address
	exchange   string        // empty for a queue
	delay      time.Duration // of the exchange, if that is one for delays
	properties amqp.Publishing
	foreign    *Exchange // set for a message that is no envelope
	waits      *Queue    // a queue to be declared before
}

// confirmed reports whether publishing m waits for the broker's confirm.
func (m *message) confirmed() bool { return m.to.Kind == bus.QueueKind }

// send publishes m and waits until the broker has stored it, or until it is certain that it has
// not.
func (b *Bus) send(ctx context.Context, m *message) error {
	ctx, cancel := b.withTimeout(ctx)
	defer cancel()
	for tries := 1; ; tries++ {
		s, err := b.out.session(ctx)
		if err == nil {
			err = s.awaitUnblocked(ctx)
		}
		if err == nil {
			err = b.declare(ctx, m)
		}
		if err == nil {
			err = s.publisher(m).publish(ctx, m)
		}
		switch {
		case errors.Is(err, errReturned) && m.foreign != nil && m.waits == nil:
			return nil
		case errors.Is(err, errReturned) && tries < maxReturns:
			b.declared.forget(m.declares()) // the queue was deleted
		case errors.Is(err, errReturned):
			return fmt.Errorf("%w: %w", bus.ErrUnavailable, err)
		case !errors.Is(err, errLost):
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", bus.ErrUnavailable, context.Cause(ctx))
		}
	}
}

// maxReturns is how often a message that the broker returns is sent.
const maxReturns = 5

// errReturned is returned for a message that the broker returned because no queue accepted it.
var errReturned = errors.New("broker has no such queue")

var seed = maphash.MakeSeed()

func (s *session) publisher(m *message) *publisher {
	return s.publishers[maphash.String(seed, m.to.Name)%uint64(len(s.publishers))]
}

// publisher publishes on one channel and receives its confirms. Its callers wait concurrently:
// each message is written at once, without waiting for earlier confirms.
type publisher struct {
	s    *session
	ch   *amqp.Channel
	jobs chan *job

	mu      sync.Mutex // guards the field below
	waiting map[uint64]*job

	returned map[string]string // reasons by message id; only listen uses it
}

// job is a message for which a caller waits.
type job struct {
	*message
	done chan error // capacity 1
}

// newPublisher opens a channel and starts its goroutines, which run until the connection ends.
func newPublisher(s *session) (*publisher, error) {
	ch, err := s.conn.Channel()
	if err != nil {
		return nil, err
	}
	if err := ch.Confirm(false); err != nil {
		return nil, err
	}
	p := &publisher{s: s, ch: ch, jobs: make(chan *job), waiting: map[uint64]*job{}, returned: map[string]string{}}
	// The channels are unbuffered, so that a return is handled before its confirm.
	confirms, returns := ch.NotifyPublish(make(chan amqp.Confirmation)), ch.NotifyReturn(make(chan amqp.Return))
	closed := ch.NotifyClose(make(chan *amqp.Error, 1))
	s.spawn(p.write)
	s.spawn(func() { p.listen(confirms, returns, closed) })
	return p, nil
}

// publish passes m to the channel. The error is errLost if the broker has not received it, and
// bus.ErrUnknown if it may have.
func (p *publisher) publish(ctx context.Context, m *message) error {
	j := &job{message: m, done: make(chan error, 1)}
	select {
	case p.jobs <- j:
	case <-p.s.gone:
		return errLost
	case <-ctx.Done():
		return p.late(ctx, bus.ErrUnavailable)
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return p.late(ctx, bus.ErrUnknown)
	}
}

// late returns the error of a message whose context ended too early. kind is the error if
// publishing was not blocked.
func (p *publisher) late(ctx context.Context, kind error) error {
	switch again, why := p.s.blocked(); {
	case again == nil:
		return fmt.Errorf("%w: %w", kind, context.Cause(ctx))
	case errors.Is(kind, bus.ErrUnknown):
		return fmt.Errorf("%w: %s: %w", bus.ErrFull, why, kind)
	default:
		return fmt.Errorf("%w: %s", bus.ErrFull, why)
	}
}

// write publishes the jobs, until the connection ends. As the only writer it knows their
// sequence numbers.
func (p *publisher) write() {
	for {
		select {
		case j := <-p.jobs:
			p.put(j)
		case <-p.s.gone:
			return
		}
	}
}

func (p *publisher) put(j *job) {
	number := p.ch.GetNextPublishSeqNo()
	if j.confirmed() {
		p.mu.Lock()
		p.waiting[number] = j
		p.mu.Unlock()
	}
	err := p.ch.Publish(j.exchange, j.to.Name, j.confirmed(), false, j.properties)
	switch {
	case err == nil && j.confirmed():
	case err == nil:
		j.done <- nil
	default:
		p.take(number)
		kind := bus.ErrUnknown
		if errors.Is(err, amqp.ErrClosed) {
			kind = errLost
		}
		j.end(fmt.Errorf("%w: %w", kind, err))
	}
}

// end passes err to the waiting caller, unless that was done before.
func (j *job) end(err error) {
	select {
	case j.done <- err:
	default:
	}
}

// take returns the job with a number, once.
func (p *publisher) take(number uint64) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.waiting[number]
	delete(p.waiting, number)
	return j
}

// listen handles the returns and confirms of the broker, until the channel ends. If the broker
// closes the channel, listen closes the whole connection, so that the next session has all
// channels.
func (p *publisher) listen(confirms <-chan amqp.Confirmation, returns <-chan amqp.Return, closed <-chan *amqp.Error) {
	for confirms != nil || returns != nil {
		select {
		case c, ok := <-confirms:
			if !ok {
				confirms = nil
				continue
			}
			p.confirm(c)
		case r, ok := <-returns:
			if !ok {
				returns = nil
				continue
			}
			p.returned[r.MessageId] = r.ReplyText
		}
	}
	err := error(errConnection)
	if e := <-closed; e != nil {
		err = e
	}
	p.fail(err)
	if !p.s.conn.IsClosed() {
		p.s.spawn(func() { _ = p.s.conn.Close() })
	}
}

var errConnection = errors.New("connection was lost before the broker's answer")

func (p *publisher) confirm(c amqp.Confirmation) {
	j := p.take(c.DeliveryTag)
	if j == nil {
		return
	}
	id := j.properties.MessageId
	why, returned := p.returned[id]
	delete(p.returned, id)
	switch {
	case returned:
		j.end(fmt.Errorf("%w: %s", errReturned, why))
	case !c.Ack:
		j.end(fmt.Errorf("rejected by the broker: %w: %w", bus.ErrFull, bus.ErrUnknown))
	default:
		j.end(nil)
	}
}

// fail ends all waiting jobs with bus.ErrUnknown.
func (p *publisher) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for number, j := range p.waiting {
		delete(p.waiting, number)
		j.end(fmt.Errorf("%w: %w", bus.ErrUnknown, err))
	}
}
