// Package amqpbus is the bus on RabbitMQ 3.10 and later, over AMQP 0-9-1.
//
// # Overview
//
// A [Bus] has two connections, one of which publishes. A queue of the bus is a quorum queue of
// the same name. It is declared before the first message of a connection is published to it,
// and by each receiver, so that it keeps messages while it has no receiver. A topic is a
// routing key of the exchange parley.topics; each listener has a queue of its own, which is
// deleted with it. A message that is to be redelivered later waits in a queue
// parley:delay:TIME, which belongs to no agent. There are seven such times, and the next longer
// one is used. The names of the queues are stable, so operators and KEDA may rely on them.
//
// # Guarantees
//
// Publish to a queue returns nil when the broker has confirmed the message: it is on the disks
// of the queue's nodes. Many goroutines publish concurrently on few channels, and none waits
// for another one's confirm. If the queue of a message was deleted, the broker returns the
// message, and the bus declares the queue and sends the message again.
//
// The bus reconnects for as long as it takes, and receivers continue. For messages that were
// unconfirmed when the connection broke, Publish returns bus.ErrUnknown: the caller sends them
// again with the same id. If the broker's disk or memory is full, Publish returns bus.ErrFull
// within the time of the context; nothing hangs.
//
// An envelope that was delivered bus.MaxDeliveries times goes to bus.Dead before it is
// delivered once more, even if its receivers have died. So does an undecodable message.
// Messages that this package moves, to Dead or to a delay, are confirmed there before they are
// removed from their queue.
//
// If the broker refuses the user, the password or the virtual host, the bus retries, in the end
// every half a minute, until an operator has corrected the configuration. Meanwhile Publish
// returns an error at once, and receivers wait. The bus logs when the broker is lost and
// reached again, and in between the reason every half a minute.
//
// The user and the password of the broker appear in no log record and no error.
//
// # Non-guarantees
//
// RabbitMQ has no lease: it delivers a message to another receiver when the connection of the
// first has ended. If a machine fails, the broker notices that within half a minute.
// Subscription.Lease and Extend have no effect. But if a message is held longer than the
// broker's consumer_timeout (30 minutes by default), the broker closes the channel and
// redelivers the message. In this case raise the timeout, or let the second receiver detect
// that the work is done already.
//
// Depth does not include held messages: AMQP does not report them.
//
// RabbitMQ 3.10 persists the name of a new quorum queue some seconds after its declaration. If
// the broker is killed before, the queue is lost with its confirmed messages and stays without
// a leader: it must be deleted. Later, the guarantees hold for kill -9.
//
// An existing queue with other arguments is used unchanged; its behaviour then depends on them.
// If a virtual host is deleted, RabbitMQ 3.10 may stop moving messages out of the delays of all
// others until it is restarted.
//
// # Concurrency
//
// A Bus is safe for concurrent use once its fields are set. Its goroutines begin with its first
// use and end with Close. The body of a loop over Receive may take its time: the subscription
// is renewed meanwhile.
//
// # Testing
//
// The suite internal/testing/suite/bustest and tests of its own run on a private RabbitMQ
// (internal/testing/rabbittest), which is killed, filled and frozen.
package amqpbus
