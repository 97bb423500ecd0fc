// Package natsbus is a bus on NATS: queues on JetStream, topics on core NATS.
//
// # Overview
//
// One stream (PARLEY, subjects parley.queue.>) holds all queues. It is a work queue: an
// acknowledged envelope is deleted. Each queue with a receiver has one durable pull consumer
// with a stable name (ConsumerName), from which an autoscaler reads the backlog. The topic NAME
// is the subject parley.topic.NAME. The bus creates a missing stream, and a missing consumer
// when the first receiver of a queue starts or the first envelope is published. It creates
// neither per request, and deletes nothing. It uses an existing stream unchanged, so operators
// choose its limits and replicas. Such a stream must be a work queue with these subjects.
//
// # Servers
//
// NATS 2.9 and later. A server confirms a message once it is written to the operating system.
// That is safe when the server is killed, but a failure of its machine may lose the last two
// minutes. From 2.10 on, sync_interval: always in the jetstream block of the server's
// configuration closes that gap. Version 2.9 lacks this setting; there, use replicas on several
// machines. Newer servers have further features for operators (compression and metadata in
// 2.10, pausing a consumer in 2.11); this package needs none of them.
//
// # Guarantees
//
// Those of package bus. Publish returns nil when the stream has confirmed. While disconnected
// it retries with the same id, and the server drops duplicates for two minutes (Nats-Msg-Id).
// Receivers continue after a reconnection, even if the server has lost its streams. An envelope
// that was delivered MaxDeliveries times, or cannot be decoded, is first published at Dead and
// then acknowledged. It may therefore appear twice at Dead, but is never lost.
//
// An acknowledgement names its envelope by the sequence in the stream. A stream that the bus
// creates begins at a random sequence. So a late acknowledgement of a delivery from an earlier
// stream, such as one in the memory of a server that was restarted, matches no envelope of the
// new one. A receiver distinguishes envelopes of equal sequences by the time of their storage,
// and counts both as held.
//
// # Non-guarantees
//
// The lease is a property of the queue on the server: the newest Subscription sets it for all.
// Depth counts a receiver only while it waits. Purge drops held envelopes as well. A server of
// NATS 2.9 that was killed restores some acknowledged messages: it delivers them to no receiver,
// but they take space in the stream until an operator purges it; Depth does not count them as
// ready. NATS 2.9 begins every stream at sequence 1: if an operator deletes a stream in use, a
// late acknowledgement may remove an envelope of the next one. A slow receiver of a topic loses
// envelopes beyond 4,096 or 8 MiB; the loss is logged.
//
// # Concurrency
//
// A Bus is safe for concurrent use. It has one connection; Close ends it, after unsettled
// envelopes were returned to their queues.
//
// # Testing
//
// The suite of package bustest runs on a server in the process, and on nats-server processes of
// Debian 12 (2.9) and of the current release.
package natsbus
