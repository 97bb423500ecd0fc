package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// peerConnection is the connection to a peer with a capability of its card.
type peerConnection struct {
	*peer.Peer
	// callsBack states that the peer has webhooks and no streams.
	callsBack bool
}

// cardAge is how long a card is used before it is read again.
const cardAge = 10 * time.Minute

// maxOld is how many connections of earlier cards are kept. An agent may show another card each
// time.
const maxOld = 8

// connection holds the connection to a peer. The zero connection has none.
type connection struct {
	// changed states that the card is known to differ from the one below.
	changed atomic.Bool
	once    sync.Once // makes lookup
	// lookup is held while a goroutine looks up the peer; its capacity is 1.
	lookup chan struct{}

	// The fields below are guarded by lookup.
	card *card.Card
	read time.Time
	// age is how long card is used before it is read again.
	age  time.Duration
	peer *peer.Peer
	// old holds the last connections of earlier cards, which runs may still use: at most maxOld.
	old []*peer.Peer
	// trees is the connection of ReadTree, for treesCard; nil before the first use.
	trees     *peer.Peer
	treesCard *card.Card
}

// lock locks the connection, unless ctx ends first.
func (l *connection) lock(ctx context.Context) (unlock func(), err error) {
	l.once.Do(func() { l.lookup = make(chan struct{}, 1) })
	select {
	case l.lookup <- struct{}{}:
		return func() { <-l.lookup }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// peer returns the connection to the agent, whose card is read again periodically.
func (a *Agent) peer(ctx context.Context) (*peerConnection, error) {
	l := &a.connection
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if l.changed.Swap(false) || l.peer == nil || time.Since(l.read) > l.age {
		if err := a.connect(ctx); err != nil && l.peer == nil {
			return nil, err
		}
	}
	return &peerConnection{l.peer, l.card.A2A.Capabilities.PushNotifications && !l.card.A2A.Capabilities.Streaming}, nil
}

// CardChanged makes the next call read the card of the agent again, before its time, because a
// different card was seen. Calls in progress keep their connection. It is safe for concurrent
// use.
func (a *Agent) CardChanged() { a.connection.changed.Store(true) }

// connect reads the card, and creates a new connection if the card has changed.
func (a *Agent) connect(ctx context.Context) error {
	l, o := &a.connection, a.options()
	if call := agent.CallFrom(ctx); call != nil {
		o.Name = string(call.Agent) // the name in the card may change
	}
	c, found, err := a.fetch(ctx, o)
	if l.age = cardAge; err == nil && !found {
		l.age = cardlessAge
	}
	if err != nil || !found && l.peer != nil {
		l.read = time.Now() // an older card is used a while longer
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
	if len(l.old) > maxOld {
		_ = l.old[0].Close() // over HTTP no call ends; a stream over gRPC does, and its run continues it
		l.old = slices.Delete(l.old, 0, 1)
	}
	l.card, l.peer, l.read = c, p, time.Now()
	return nil
}

// options returns the options of the connection. Runs have a deadline of their own, and do not
// cancel the remote task when they end early.
func (a *Agent) options() *peer.Options {
	o := &peer.Options{
		URL: a.URL, Target: a.Target, FollowCard: a.Unpinned, Deadline: -1, Retries: connectTries - 1, Detach: true,
		Poll:       peer.Poll{Interval: a.Poll, Initial: a.PollInitial, Max: a.PollMax, HistoryLength: a.HistoryLength},
		Idempotent: a.Idempotent, Logger: a.Logger, Header: a.Header, HTTP: a.HTTP, Identity: a.Identity,
		// gRPC comes last, because it carries numbers as doubles and loses unknown fields.
		Bindings:   []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON},
		Transports: a.Transports, Jobs: a.Direct.Jobs,
	}
	if a.Credentials != nil {
		o.Credentials = *a.Credentials
	}
	return o
}

// adapt applies the configuration to the card. A target is the tenant of each interface, unless
// its URL contains it already.
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

func (a *Agent) closeConnections() error {
	l := &a.connection
	if unlock, err := l.lock(context.Background()); err == nil {
		defer unlock()
	}
	var errs []error
	for _, p := range append(l.old, l.peer, l.trees) {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	l.old, l.peer, l.trees = nil, nil, nil
	return errors.Join(errs...)
}

// timeout returns how long a message may take; zero means no limit.
func (a *Agent) timeout() time.Duration { return max(0, cmp.Or(a.Timeout, defaultTimeout)) }
