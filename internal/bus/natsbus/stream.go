package natsbus

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/parley-a2a/parley/internal/bus"
)

// The subjects.
const (
	queuePrefix = "parley.queue."
	topicPrefix = "parley.topic."
)

// remembered is the time for which the stream knows the ids of accepted messages.
const remembered = 2 * time.Minute

// Subject returns the subject of an address on NATS.
func Subject(a bus.Address) string {
	if a.Kind == bus.TopicKind {
		return topicPrefix + a.Name
	}
	return queuePrefix + a.Name
}

// ConsumerName returns the name of the durable consumer of a queue: its name, with a plus sign
// for each dot, which names of consumers must not have.
func ConsumerName(queue bus.Address) string { return strings.ReplaceAll(queue.Name, ".", "+") }

// messageID returns the id by which the stream detects duplicates. The same envelope id at
// another queue is no duplicate.
func messageID(queue, id string) string {
	if len(id) > 200 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		id = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id)))
	}
	return queue + "/" + id
}

// errStream is returned for a stream that is unsuitable for a bus.
var errStream = errors.New("stream is not for queues")

// permanent reports whether a retry cannot help.
func permanent(err error) bool {
	return errors.Is(err, errStream) || errors.Is(err, bus.ErrClosed) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// declare ensures that the stream exists, once for each connection.
func (b *Bus) declare(ctx context.Context) error {
	b.declaring.Lock()
	defer b.declaring.Unlock()
	if b.options.Agent != "" || b.isDeclared() {
		return nil
	}
	if _, err := b.await(ctx); err != nil {
		return err
	}
	s, err := b.js.Stream(ctx, b.options.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = b.create(ctx)
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", b.options.Stream, err)
	}
	info := s.CachedInfo()
	c := info.Config
	if c.Retention != jetstream.WorkQueuePolicy || !slices.Contains(c.Subjects, queuePrefix+">") {
		return fmt.Errorf("stream %s: it has subjects %q and retention %s, want %q and %s: %w",
			b.options.Stream, c.Subjects, c.Retention, queuePrefix+">", jetstream.WorkQueuePolicy, errStream)
	}
	if info.Cluster != nil && info.Cluster.Name != "" && c.Replicas == 1 {
		b.log.Warn("bus: one server of the cluster alone has the queues; \"nats stream edit\" gives the stream more replicas",
			"stream", b.options.Stream, "server", info.Cluster.Leader)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.declared = true
	b.memory = c.Storage == jetstream.MemoryStorage
	return nil
}

func (b *Bus) isDeclared() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.declared
}

// undeclare makes the next declare ask the server.
func (b *Bus) undeclare() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.declared = false
}

// The codes with which a single server, and a cluster with less than three servers that are up, refuses three replicas.
const (
	errCodeNoCluster jetstream.ErrorCode = 10074
	errCodeNoPeers   jetstream.ErrorCode = 10005
)

// create creates the stream, unless given otherwise with three replicas where the servers can keep them.
func (b *Bus) create(ctx context.Context) (jetstream.Stream, error) {
	c := b.streamConfig()
	if c.Replicas > 0 {
		return b.js.CreateStream(ctx, c)
	}
	c.Replicas = 3
	s, err := b.js.CreateStream(ctx, c)
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == errCodeNoCluster || api.ErrorCode == errCodeNoPeers) {
		c.Replicas = 1
		return b.js.CreateStream(ctx, c)
	}
	return s, err
}

func (b *Bus) streamConfig() jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: b.options.Stream, Subjects: []string{queuePrefix + ">"},
		Description: "Queues of Parley",
		Retention:   jetstream.WorkQueuePolicy,
		Discard:     jetstream.DiscardNew, // a full stream returns an error
		Replicas:    b.options.Replicas, Duplicates: remembered,
		FirstSeq: firstSequence(),
	}
	if b.options.MaxBytes > 0 {
		c.MaxBytes = b.options.MaxBytes
	}
	if b.options.Memory {
		c.Storage = jetstream.MemoryStorage
	}
	return c
}

// firstSequence returns the sequence with which a new stream begins. An acknowledgement names an
// envelope by its sequence alone. A random beginning prevents that a late acknowledgement of a
// delivery from an earlier stream with the same name, such as one in the memory of a server that
// was restarted, removes an envelope of the new one. All sequences are exact in JSON numbers.
func firstSequence() uint64 { return 1 + rand.Uint64N(1<<52) }

// show ensures, once for each connection, that a queue with envelopes has its consumer:
// autoscalers read the backlog there, and start the first receiver. Errors are ignored, because
// receivers create the consumer, too.
func (b *Bus) show(ctx context.Context, queue bus.Address) {
	b.mu.Lock()
	_, done := b.shown[queue.Name]
	b.shown[queue.Name] = struct{}{}
	b.mu.Unlock()
	if done || b.options.Agent != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout/4)
	defer cancel()
	_, err := b.js.Consumer(ctx, b.options.Stream, ConsumerName(queue))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		_, err = b.js.CreateConsumer(ctx, b.options.Stream, consumerConfig(queue, bus.DefaultLease))
	}
	if err != nil && !errors.Is(err, jetstream.ErrConsumerExists) {
		b.log.Debug("bus: no consumer for the queue of a published envelope", "queue", queue.Name, "error", err)
	}
}

// consumer ensures that the queue has its consumer with the lease.
func (b *Bus) consumer(ctx context.Context, queue bus.Address, lease time.Duration) error {
	if err := b.declare(ctx); err != nil {
		return err
	}
	name := ConsumerName(queue)
	c, err := b.js.Consumer(ctx, b.options.Stream, name)
	if err == nil && c.CachedInfo().Config.AckWait == lease {
		return nil
	}
	switch {
	case err == nil, errors.Is(err, jetstream.ErrConsumerNotFound):
	case errors.Is(err, jetstream.ErrStreamNotFound):
		b.undeclare()
		return err
	default:
		return fmt.Errorf("consumer %s: %w", name, err)
	}
	_, err = b.js.CreateOrUpdateConsumer(ctx, b.options.Stream, consumerConfig(queue, lease))
	if err != nil {
		return fmt.Errorf("consumer %s: %w", name, err)
	}
	return nil
}

func consumerConfig(queue bus.Address, lease time.Duration) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: ConsumerName(queue), FilterSubject: Subject(queue), AckPolicy: jetstream.AckExplicitPolicy, AckWait: lease,
		MaxDeliver:    -1, // the receiver moves to Dead, see docs/adr
		MaxAckPending: -1, MaxWaiting: 2048,
	}
}

// target returns the URL without secrets.
func (o *Options) target() string {
	if o.Server != nil {
		return "the server of this process"
	}
	var list []string
	for one := range strings.SplitSeq(o.URL, ",") {
		list = append(list, bare(strings.TrimSpace(one)))
	}
	return strings.Join(list, ",")
}

// bare returns the address of a server without a name, a password or a token.
func bare(at string) string {
	if !strings.Contains(at, "://") {
		at = "nats://" + at // as the client reads it
	}
	u, err := url.Parse(at)
	if err != nil {
		return "?"
	}
	u.User = nil
	return u.String()
}

// noStream reports whether err means that the stream does not exist or has no server.
func noStream(err error) bool {
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrStreamNotFound)
}
