// Package natsbus is a bus on NATS: queues on JetStream, topics on core NATS.
//
// # What it is
//
// One stream (PARLEY, subjects parley.queue.>) holds all queues. It is a work queue: what
// is acknowledged is gone. Each queue that somebody receives at has one durable pull
// consumer with a stable name (ConsumerName), which is what an autoscaler reads the backlog of. The
// topic NAME is the subject parley.topic.NAME. The stream is made when there is none, a
// consumer when the first one receives at its queue; neither is made per request, and
// nothing is ever deleted. A stream that exists is taken as it is, so operators choose its
// limits and replicas. It must be a work queue with these subjects.
//
// # Servers
//
// NATS 2.9 and later. A server confirms what its operating system has; that is safe when
// the server is killed, but when its machine fails, up to two minutes of it are lost. From
// 2.10 on sync_interval: always, in the jetstream block of the server's configuration,
// closes that gap; 2.9 does not know it, and replicas on several machines are the way.
// Beyond that newer servers add what an operator may want (compression and metadata in
// 2.10, pausing a consumer in 2.11), and nothing that this package needs.
//
// # Guarantees
//
// Those of package bus. Publish returns nil when the stream has confirmed; it tries again
// with the same id while the connection is away, and the server drops doubles for two
// minutes (Nats-Msg-Id). Receivers go on when the connection is back, also when the server
// has lost its streams. An envelope that was delivered MaxDeliveries times, or is none, is
// published at Dead first and acknowledged then, so it may come twice there but is never
// lost.
//
// # What it does not promise
//
// The lease is a property of the queue on the server: the Subscription that began last
// decides it for all. Depth counts a receiver only while it waits. Purge takes what is
// held as well. A server of NATS 2.9 that was killed brings back some of what was
// acknowledged: nobody is given it, and it takes space in the stream until an operator
// purges it; Depth does not count it as ready. A topic's reader that is slow loses what
// does not fit into 4,096 envelopes or 8 MiB, which is logged.
//
// # Concurrency
//
// A Bus is safe for concurrent use. It has one connection; Close ends it, after what is
// not settled was given back.
//
// # Testing
//
// The suite of package bustest runs on a server in the process, and on nats-server
// processes of Debian 12 (2.9) and of the current release.
package natsbus
