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
	// heartbeat is how often both sides say that they are there. A connection on which
	// nothing was heard for three of them is given up.
	heartbeat = 10 * time.Second
	// handshake is how long a connection may take to begin, goodbye how long to end.
	handshake = 15 * time.Second
	goodbye   = 2 * time.Second
	// backoffFirst and backoffMost are the pauses between two attempts to connect. They are
	// well below DefaultTimeout, so that who publishes when the broker is back succeeds.
	backoffFirst = 100 * time.Millisecond
	backoffMost  = 2 * time.Second
)

// line is one connection to the broker that is made anew when it breaks. It begins with
// the first use.
type line struct {
	bus      *Bus
	channels int // to publish on
	once     sync.Once

	mu      sync.Mutex // guards the fields below
	current *session   // nil while there is none
	err     error      // of the last attempt
	final   bool       // err does not go away by itself
	changed chan struct{}
}

// session is one connection.
type session struct {
	conn       *amqp.Connection
	gone       chan struct{} // closed when it has ended
	publishers []*publisher
	turn       chan struct{} // capacity 1: taken by who speaks with the broker
	owned      sync.WaitGroup

	mu     sync.Mutex    // guards the fields below
	full   chan struct{} // closed when the broker takes something again; nil while it does
	why    string
	ending bool // nobody joins owned any more
}

// session waits for a connection. The error is bus.ErrClosed, or bus.ErrUnavailable.
func (l *line) session(ctx context.Context) (*session, error) {
	l.once.Do(func() { l.bus.owned.Go(func() { l.run(l.bus.ctx) }) })
	for {
		l.mu.Lock()
		s, err, final, changed := l.current, l.err, l.final, l.changed
		l.mu.Unlock()
		switch {
		case s != nil && !s.ended():
			return s, nil
		case final:
			return nil, errFinal{fmt.Errorf("%w: %w", bus.ErrUnavailable, err)}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, l.noSession(ctx, err)
		}
	}
}

// noSession says why there was none before ctx ended.
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

// errFinal is an error that does not go away by itself.
type errFinal struct{ error }

func (e errFinal) Unwrap() error { return e.error }

// run connects, again and again, until ctx ends.
func (l *line) run(ctx context.Context) {
	ever := false
	for tries := 0; ctx.Err() == nil; tries++ {
		s, err := l.open(ctx)
		if err != nil {
			refused := !ever && forGood(err)
			l.set(nil, err, refused)
			if ctx.Err() == nil {
				l.bus.log().Warn("RabbitMQ is not reachable", "address", l.bus.where(), "try", tries+1, "error", err)
			}
			if refused {
				return
			}
			pause(ctx, tries)
			continue
		}
		ever, tries = true, 0
		l.bus.declared.clear() // it may be another broker
		l.set(s, nil, false)
		select {
		case <-s.gone:
			l.bus.log().Warn("connection to RabbitMQ is lost", "address", l.bus.where())
		case <-ctx.Done():
		}
		s.end()
		l.set(nil, nil, false)
	}
}

// pause waits before the next attempt, longer each time, and not everybody equally long.
func pause(ctx context.Context, tries int) {
	d := min(backoffFirst<<min(tries, 10), backoffMost)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (l *line) set(s *session, err error, final bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.err, l.final = s, err, final
	close(l.changed)
	l.changed = make(chan struct{})
}

// forGood reports whether the broker has refused something that it will refuse again:
// wrong credentials, a virtual host or a permission that is not there.
func forGood(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && (e.Code == amqp.AccessRefused || e.Code == amqp.NotAllowed)
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
			return conn, conn.SetDeadline(time.Now().Add(handshake)) // the client takes it away
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

// watch notes what the broker says about the connection.
func (s *session) watch(l *line) {
	closed := s.conn.NotifyClose(make(chan *amqp.Error, 1))
	blocked := s.conn.NotifyBlocked(make(chan amqp.Blocking, 8))
	s.owned.Go(func() {
		for n := range blocked { // it is closed with the connection
			if s.block(n) {
				l.bus.log().Warn("RabbitMQ takes nothing more", "address", l.bus.where(), "reason", n.Reason)
			} else {
				l.bus.log().Info("RabbitMQ takes messages again", "address", l.bus.where())
			}
		}
		s.block(amqp.Blocking{})
	})
	s.owned.Go(func() {
		for range closed { // an error if the connection was lost; then it is closed
		}
		close(s.gone)
	})
}

// block notes whether the broker takes something, and returns n.Active.
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

// blocked returns a channel that is closed when the broker takes something again, and why
// it does not; nil if it does.
func (s *session) blocked() (again <-chan struct{}, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full == nil {
		return nil, ""
	}
	return s.full, s.why
}

// room waits until the broker takes something. The error is bus.ErrFull.
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

// spawn runs f in a goroutine of the session, unless that ends already.
func (s *session) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return false
	}
	s.owned.Go(f)
	return true
}

// end closes the connection and waits for what belongs to it.
func (s *session) end() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	_ = s.conn.CloseDeadline(time.Now().Add(goodbye)) // it is closed whatever that says
	s.owned.Wait()
}

// call runs f, which speaks with the broker on a channel of its own, and waits for it until
// ctx ends. The channel is closed unless f succeeds in time. One call runs at a time: a
// broker that does not answer holds up one goroutine, until the connection is given up.
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
			_ = ch.Close() // the broker has closed it, or the connection goes
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

// answer reports whether anybody waited for err.
func answer(done chan<- error, left <-chan struct{}, err error) bool {
	select {
	case done <- err:
		return true
	case <-left:
		return false
	}
}

// errLost is about a connection that is no more: nothing was published.
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
