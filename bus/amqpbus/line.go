package amqpbus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/bus"
)

const (
	// heartbeat is the interval of heartbeats in both directions. A connection without traffic
	// for three of them is closed.
	heartbeat = 10 * time.Second
	// handshake limits the time to open a connection, goodbye the time to close one.
	handshake = 15 * time.Second
	goodbye   = 2 * time.Second
)

// line is one connection to the broker that is reopened when it breaks. It is opened at the
// first use.
type line struct {
	bus      *Bus
	channels int // to publish on
	once     sync.Once

	mu      sync.Mutex // guards the fields below
	current *session   // nil while disconnected
	err     error      // of the last attempt
	changed chan struct{}
}

// session is one connection.
type session struct {
	conn       *amqp.Connection
	gone       chan struct{} // closed when it has ended
	publishers []*publisher
	turn       chan struct{} // capacity 1: a token for the call under way
	owned      sync.WaitGroup

	mu     sync.Mutex    // guards the fields below
	full   chan struct{} // closed when the broker accepts messages again; nil while it does
	why    string
	ending bool // no goroutine may join owned any more
}

// session waits for a connection. It returns at once if the broker refuses this client, because
// that may last for long. The error is bus.ErrClosed or bus.ErrUnavailable.
func (l *line) session(ctx context.Context) (*session, error) {
	for {
		s, changed, err := l.now()
		switch {
		case s != nil:
			return s, nil
		case forGood(err):
			return nil, fmt.Errorf("%w: refused: %s: %w", bus.ErrUnavailable, refusal(err), err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, l.noSession(ctx, err)
		}
	}
}

// patient is session without the early return: it waits until ctx ends.
func (l *line) patient(ctx context.Context) (*session, error) {
	for {
		s, changed, err := l.now()
		if s != nil {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, l.noSession(ctx, err)
		}
	}
}

// now returns the connection, or nil and the error of the last attempt. changed is closed at
// the next change.
func (l *line) now() (s *session, changed <-chan struct{}, why error) {
	l.once.Do(func() { l.bus.spawn(func() { l.run(l.bus.ctx) }) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if s = l.current; s != nil && s.ended() {
		s = nil
	}
	return s, l.changed, l.err
}

// noSession returns the error of a wait that ended with ctx.
func (l *line) noSession(ctx context.Context, last error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, bus.ErrClosed):
		return bus.ErrClosed
	case last != nil:
		return fmt.Errorf("%w: %w: %w", bus.ErrUnavailable, cause, last)
	}
	return fmt.Errorf("%w: %w", bus.ErrUnavailable, cause)
}

// run connects and reconnects until ctx ends.
func (l *line) run(ctx context.Context) {
	log, reach := l.bus.log().With("address", l.bus.where()), &l.bus.reach
	hungUp := false
	for tries := 0; ctx.Err() == nil; tries++ {
		s, err := l.open(ctx)
		if again := errors.Is(err, amqp.ErrCredentials); again != hungUp {
			if hungUp = again; again {
				err = errHungUp
			}
		}
		if err != nil {
			l.set(nil, err)
			if ctx.Err() == nil {
				reach.failed(log, err)
			}
			pause(ctx, tries, err)
			continue
		}
		tries = 0
		l.bus.declared.clear() // it may be another broker
		l.set(s, nil)
		reach.reached(log)
		select {
		case <-s.gone:
			reach.lost(log)
		case <-ctx.Done():
		}
		s.end()
		l.set(nil, nil)
	}
}

// errHungUp is returned once if the broker closes the connection at login. RabbitMQ does so
// after a wrong user or password, but also when it stops. Only a second time in a row counts as
// refused.
var errHungUp = errors.New("broker has hung up at login")

// jitter returns a random time between half of d and one and a half of d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

func (l *line) set(s *session, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.err = s, err
	close(l.changed)
	l.changed = make(chan struct{})
}

// open connects.
func (l *line) open(ctx context.Context) (*session, error) {
	b := l.bus
	config := amqp.Config{
		Heartbeat: heartbeat, Locale: "en_US", Properties: amqp.NewConnectionProperties(),
		Dial: func(network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, handshake)
			defer cancel()
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return conn, conn.SetDeadline(time.Now().Add(handshake)) // the client removes it
		},
	}
	if b.TLS != nil {
		config.TLSClientConfig = b.TLS.Clone()
	} else {
		config.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.Properties.SetClientConnectionName(orParley(b.Name))
	conn, err := amqp.DialConfig(b.URL, config)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, gone: make(chan struct{}), turn: make(chan struct{}, 1)}
	s.watch(l)
	for range l.channels {
		p, err := newPublisher(s)
		if err != nil {
			s.end()
			return nil, err
		}
		s.publishers = append(s.publishers, p)
	}
	return s, nil
}

func orParley(name string) string {
	if name == "" {
		return "parley"
	}
	return name
}

// watch observes the notifications of the broker about the connection.
func (s *session) watch(l *line) {
	closed := s.conn.NotifyClose(make(chan *amqp.Error, 1))
	blocked := s.conn.NotifyBlocked(make(chan amqp.Blocking, 8))
	s.owned.Go(func() {
		for n := range blocked { // closed with the connection
			if s.block(n) {
				l.bus.log().Warn("RabbitMQ takes nothing more", "address", l.bus.where(), "reason", n.Reason)
			} else {
				l.bus.log().Info("RabbitMQ takes messages again", "address", l.bus.where())
			}
		}
		s.block(amqp.Blocking{})
	})
	s.owned.Go(func() {
		for range closed { // one error if the connection was lost; then it is closed
		}
		close(s.gone)
	})
}

// block records whether the broker blocks publishing, and returns n.Active.
func (s *session) block(n amqp.Blocking) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n.Active && s.full == nil:
		s.full = make(chan struct{})
	case !n.Active && s.full != nil:
		close(s.full)
		s.full = nil
	}
	s.why = n.Reason
	return n.Active
}

// blocked returns a channel that is closed when the broker accepts messages again, and the
// reason of the block. It returns nil if there is no block.
func (s *session) blocked() (again <-chan struct{}, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full == nil {
		return nil, ""
	}
	return s.full, s.why
}

// room waits until the broker accepts messages. The error is bus.ErrFull.
func (s *session) room(ctx context.Context) error {
	again, why := s.blocked()
	if again == nil {
		return nil
	}
	select {
	case <-again:
		return nil
	case <-s.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %s", bus.ErrFull, why)
	}
}

func (s *session) ended() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// spawn runs f in a goroutine of the session, unless the session is ending.
func (s *session) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return false
	}
	s.owned.Go(f)
	return true
}

// end closes the connection and waits for the goroutines of the session.
func (s *session) end() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	_ = s.conn.CloseDeadline(time.Now().Add(goodbye)) // it is closed even after an error
	s.owned.Wait()
}

// call runs f with a channel of its own, and waits for it until ctx ends. The channel is closed
// unless f succeeds in time. One call runs at a time: if the broker does not answer, it blocks
// one goroutine, until the connection is closed.
func (s *session) call(ctx context.Context, f func(*amqp.Channel) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-s.gone:
		return errLost
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", bus.ErrUnavailable, context.Cause(ctx))
	}
	done := make(chan error)
	left := make(chan struct{})
	defer close(left)
	began := s.spawn(func() {
		defer func() { <-s.turn }()
		ch, err := s.conn.Channel()
		if err != nil {
			answer(done, left, err)
			return
		}
		err = f(ch)
		if !answer(done, left, err) || err != nil {
			_ = ch.Close() // the broker has closed it, or the connection ends
		}
	})
	if !began {
		<-s.turn
		return errLost
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", bus.ErrUnavailable, context.Cause(ctx))
	}
}

// answer reports whether the caller was still waiting for err.
func answer(done chan<- error, left <-chan struct{}, err error) bool {
	select {
	case done <- err:
		return true
	case <-left:
		return false
	}
}

// errLost is returned for a lost connection: nothing was published.
var errLost = errors.New("connection is lost")

// names is a set. The zero names is empty.
type names struct {
	mu  sync.Mutex // guards the field below
	all map[string]bool
}

func (n *names) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[name]
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = make(map[string]bool)
	}
	n.all[name] = true
}

func (n *names) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.all, name)
}

func (n *names) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.all)
}
