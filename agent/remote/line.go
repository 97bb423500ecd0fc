package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"net/url"
	"path"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/client/transport"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// asker brings messages to a peer.
type asker interface {
	Run(ctx context.Context, params []byte) iter.Seq2[peer.Event, error]
	Send(ctx context.Context, params []byte) (peer.Event, error)
}

// teller says what became of them.
type teller interface {
	Follow(ctx context.Context, at transport.Position) iter.Seq2[peer.Event, error]
	Get(ctx context.Context, id a2a.TaskID, historyLength *int) (peer.Event, error)
	List(ctx context.Context, params []byte) ([]byte, error)
}

// remotePeer is the connection to a peer: what a run asks of *peer.Peer.
type remotePeer interface {
	asker
	teller
	Cancel(ctx context.Context, id a2a.TaskID) (peer.Event, error)
}

var _ remotePeer = (*peer.Peer)(nil)

// link is the connection to a peer with what its card says.
type link struct {
	remotePeer
	// tells says that the peer has webhooks and no streams.
	tells bool
}

// cardAge is how long a card counts.
const cardAge = 10 * time.Minute

// line keeps the connection to a peer. The zero line has none.
type line struct {
	// changed says that the card is known to be another one than the one below.
	changed atomic.Bool
	// turn is taken by who looks for the peer; its capacity is 1.
	turn chan struct{}

	// The fields below belong to who has the turn.
	card *card.Card
	read time.Time
	// age is how long card counts.
	age  time.Duration
	peer *peer.Peer
	// old are connections that runs may still use.
	old []*peer.Peer
}

// peer returns the connection to the agent, whose card is read again from time to time.
func (a *Agent) peer(ctx context.Context) (*link, error) {
	a.once.Do(func() { a.line.turn = make(chan struct{}, 1) })
	l := &a.line
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l.changed.Swap(false) || l.peer == nil || time.Since(l.read) > l.age {
		if err := a.connect(ctx); err != nil && l.peer == nil {
			return nil, err
		}
	}
	return &link{l.peer, l.card.A2A.Capabilities.PushNotifications && !l.card.A2A.Capabilities.Streaming}, nil
}

// CardChanged lets the next call read the card of the agent again, before its time, because
// another one was seen. Calls in progress keep their connection.
func (a *Agent) CardChanged() { a.line.changed.Store(true) }

// connect reads the card, and makes a new connection if it has changed.
func (a *Agent) connect(ctx context.Context) error {
	l, o := &a.line, a.options()
	if call := agent.CallFrom(ctx); call != nil {
		o.Name = string(call.Agent) // what the card says may be another name each time
	}
	c, found, err := a.fetch(ctx, o)
	if l.age = cardAge; err == nil && !found {
		l.age = cardlessAge
	}
	if err != nil || !found && l.peer != nil {
		l.read = time.Now() // an older card counts a while longer
		return err
	}
	if l.peer != nil && bytes.Equal(c.Raw, l.card.Raw) {
		l.read = time.Now()
		return nil
	}
	a.adapt(c)
	p, err := peer.New(c, o)
	if err != nil {
		return err
	}
	if l.peer != nil {
		l.old = append(l.old, l.peer)
	}
	l.card, l.peer, l.read = c, p, time.Now()
	return nil
}

// options are those of the connection. Runs have a deadline of their own, and leave the
// remote task alone when they end early.
func (a *Agent) options() *peer.Options {
	o := &peer.Options{
		URL: a.URL, Target: a.Target, FollowCard: a.Unpinned, Deadline: -1, Retries: connectTries - 1, Detach: true,
		Poll:       peer.Poll{Interval: a.Poll, Initial: a.PollInitial, Max: a.PollMax, HistoryLength: a.HistoryLength},
		Idempotent: a.Idempotent, Logger: a.Logger, Header: a.Header, HTTP: a.HTTP, Identity: a.Identity,
		// Over gRPC numbers are doubles and unknown fields are lost, so it comes last.
		Bindings:   []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON},
		Transports: a.Transports,
	}
	if a.Credentials != nil {
		o.Credentials = *a.Credentials
	}
	return o
}

// adapt makes the card say what the configuration says. A target is the tenant of each
// interface, unless its URL has it: an agent must not be told twice.
func (a *Agent) adapt(c *card.Card) {
	if a.NoStreaming {
		c.A2A.Capabilities.Streaming = false
	}
	if a.Target == "" {
		return
	}
	for _, i := range c.A2A.SupportedInterfaces {
		if u, err := url.Parse(i.URL); err == nil && path.Base(u.Path) == a.Target {
			i.Tenant = ""
			continue
		}
		i.Tenant = a.Target
	}
}

// close gives up the connections.
func (a *Agent) closeLine() error {
	a.once.Do(func() { a.line.turn = make(chan struct{}, 1) })
	l := &a.line
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	var errs []error
	for _, p := range append(l.old, l.peer) {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	l.old, l.peer = nil, nil
	return errors.Join(errs...)
}

// timeout returns how long a message may take; zero means any time.
func (a *Agent) timeout() time.Duration { return max(0, cmp.Or(a.Timeout, DefaultTimeout)) }
