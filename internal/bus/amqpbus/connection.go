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

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/wake"
)

const (
	// heartbeat is the interval of heartbeats in both directions. A connection without traffic
	// for three of them is closed.
	heartbeat = 10 * time.Second
	// dialTimeout limits the time to open a connection, closeTimeout the time to close one.
	dialTimeout  = 15 * time.Second
	closeTimeout = 2 * time.Second
)

// connection is one connection to the broker that is reopened when it breaks. It is opened at the
// first use.
type connection struct {
	bus      *Bus
	channels int // to publish on
	once     sync.Once

	mu      sync.Mutex // guards the fields below
	current *session   // nil while disconnected
	err     error      // of the last attempt
	changed wake.Broadcast
}

// session is one connection.
type session struct {
	conn       *amqp.Connection
	gone       chan struct{} // closed when it has ended
	publishers []*publisher
	calls      chan struct{} // capacity 1: a token for the call under way
	owned      sync.WaitGroup

	mu          sync.Mutex    // guards the fields below
	full        chan struct{} // closed when the broker accepts messages again; nil while it does
	blockReason string
	ending      bool // no goroutine may join owned any more
}

// session waits for a connection. It returns at once if the broker refuses this client, because
// that may last for long. The error is bus.ErrClosed or bus.ErrUnavailable.
func (c *connection) session(ctx context.Context) (*session, error) {
	for {
		s, changed, err := c.currentSession()
		switch {
		case s != nil:
			return s, nil
		case permanent(err):
			return nil, fmt.Errorf("%w: refused: %s: %w", bus.ErrUnavailable, refusalReason(err), err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, c.waitError(ctx, err)
		}
	}
}

// awaitSession is session without the early return: it waits until ctx ends.
func (c *connection) awaitSession(ctx context.Context) (*session, error) {
	for {
		s, changed, err := c.currentSession()
		if s != nil {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, c.waitError(ctx, err)
		}
	}
}

// currentSession returns the connection, or nil and the error of the last attempt. changed is
// closed at the next change.
func (c *connection) currentSession() (s *session, changed <-chan struct{}, why error) {
	c.once.Do(func() { c.bus.spawn(func() { c.run(c.bus.ctx) }) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if s = c.current; s != nil && s.ended() {
		s = nil
	}
	return s, c.changed.Next(), c.err
}

// waitError returns the error of a wait that ended with ctx.
func (c *connection) waitError(ctx context.Context, last error) error {
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
func (c *connection) run(ctx context.Context) {
	log, reach := c.bus.log().With("address", c.bus.address()), &c.bus.reachability
	hungUp, nodes := false, c.bus.nodes()
	for tries, node := 0, rand.IntN(len(nodes)); ctx.Err() == nil; tries, node = tries+1, (node+1)%len(nodes) {
		s, err := c.open(ctx, nodes[node])
		if again := errors.Is(err, amqp.ErrCredentials); again != hungUp {
			if hungUp = again; again {
				err = errClosedAtLogin
			}
		}
		if err != nil {
			c.set(nil, err)
			if ctx.Err() == nil {
				reach.failed(log, err)
			}
			pause(ctx, tries, err)
			continue
		}
		tries = 0
		c.bus.declared.clear() // it may be another broker
		c.set(s, nil)
		reach.reached(log)
		select {
		case <-s.gone:
			reach.lost(log)
		case <-ctx.Done():
		}
		s.end()
		c.set(nil, nil)
	}
}

// errClosedAtLogin is returned once if the broker closes the connection at login. RabbitMQ does so
// after a wrong user or password, but also when it stops. Only a second time in a row counts as
// refused.
var errClosedAtLogin = errors.New("the broker closed the connection during login")

// jitter returns a random time between half of d and one and a half of d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

func (c *connection) set(s *session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.err = s, err
	c.changed.Send()
}

// open connects to a node of the broker.
func (c *connection) open(ctx context.Context, node string) (*session, error) {
	b := c.bus
	config := amqp.Config{
		Heartbeat: heartbeat, Locale: "en_US", Properties: amqp.NewConnectionProperties(),
		Dial: func(network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return conn, conn.SetDeadline(time.Now().Add(dialTimeout)) // the client removes it
		},
	}
	if b.TLS != nil {
		config.TLSClientConfig = b.TLS.Clone()
	} else {
		config.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.Properties.SetClientConnectionName(clientName(b.Name))
	conn, err := amqp.DialConfig(node, config)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, gone: make(chan struct{}), calls: make(chan struct{}, 1)}
	s.watch(c)
	for range c.channels {
		p, err := newPublisher(s)
		if err != nil {
			s.end()
			return nil, err
		}
		s.publishers = append(s.publishers, p)
	}
	return s, nil
}

func clientName(name string) string {
	if name == "" {
		return "parley"
	}
	return name
}

// watch observes the notifications of the broker about the connection.
func (s *session) watch(l *connection) {
	closed := s.conn.NotifyClose(make(chan *amqp.Error, 1))
	blocked := s.conn.NotifyBlocked(make(chan amqp.Blocking, 8))
	s.owned.Go(func() {
		for n := range blocked { // closed with the connection
			if s.block(n) {
				l.bus.log().Warn("RabbitMQ accepts no more messages", "address", l.bus.address(), "reason", n.Reason)
			} else {
				l.bus.log().Info("RabbitMQ accepts messages again", "address", l.bus.address())
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
	s.blockReason = n.Reason
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
	return s.full, s.blockReason
}

// awaitUnblocked waits until the broker accepts messages. The error is bus.ErrFull.
func (s *session) awaitUnblocked(ctx context.Context) error {
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
	_ = s.conn.CloseDeadline(time.Now().Add(closeTimeout)) // it is closed even after an error
	s.owned.Wait()
}

// call runs f with a channel of its own, and waits for it until ctx ends. The channel is closed
// unless f succeeds in time. One call runs at a time: if the broker does not answer, it blocks
// one goroutine, until the connection is closed.
func (s *session) call(ctx context.Context, f func(*amqp.Channel) error) error {
	select {
	case s.calls <- struct{}{}:
	case <-s.gone:
		return errLost
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", bus.ErrUnavailable, context.Cause(ctx))
	}
	done := make(chan error)
	left := make(chan struct{})
	defer close(left)
	began := s.spawn(func() {
		defer func() { <-s.calls }()
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
		<-s.calls
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

// nameSet is a set. The zero nameSet is empty.
type nameSet struct {
	mu  sync.Mutex // guards the field below
	all map[string]bool
}

func (n *nameSet) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[name]
}

func (n *nameSet) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = make(map[string]bool)
	}
	n.all[name] = true
}

func (n *nameSet) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.all, name)
}

func (n *nameSet) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.all)
}
