// Package amqpbus is the bus on RabbitMQ 3.10 and later, over AMQP 0-9-1.
//
// # What it is
//
// A [Bus] has two connections, one of which publishes. A queue of the bus is a quorum queue
// of the same name; it is declared before the first message of a connection goes to it, and
// by whoever receives there, so that it keeps what nobody receives yet. A topic is a
// routing key of the exchange parley.topics; each listener has a queue of its own, which
// goes with it. A message that is to come back later waits in a queue parley:delay:TIME,
// which belongs to no agent; there is one for each of seven times, and the next longer one
// is taken. Which queues there are is for people and for KEDA: their names are stable.
//
// # Guarantees
//
// Publish to a queue returns nil when the broker has confirmed the message: it is on the
// disks of the queue's nodes. Many goroutines publish side by side on few channels, and
// none waits for another one's confirm. A message that no queue takes, because somebody has
// deleted it, is given back by the broker and sent again.
//
// A connection that breaks is made anew, for as long as it takes, and receivers go on. What
// was published and not confirmed when it broke is bus.ErrUnknown: the caller sends it
// again with the same id. A broker whose disk or memory is full is bus.ErrFull, within the
// time of the context; nothing hangs.
//
// An envelope that was delivered bus.MaxDeliveries times goes to bus.Dead before it is
// delivered once more, also if its receivers have died. So does what is no envelope. What
// this package moves, to Dead or to a delay, is confirmed there before it leaves its queue.
//
// A broker that refuses the user, the password or the virtual host is asked again, at last
// every half a minute, until somebody has mended that. Meanwhile Publish says so at once,
// and receivers wait. The log tells when the broker is lost and reached again, and in
// between what is wrong every half a minute.
//
// The address of the broker is never logged or in an error with its user or password.
//
// # What it does not promise
//
// RabbitMQ has no lease: it gives a message to another receiver when the connection of the
// first has ended, which it notices within half a minute if the machine is gone.
// Subscription.Lease and Extend do nothing. But a message that is held longer than the
// broker's consumer_timeout (30 minutes unless it was changed) makes the broker close the
// channel, and comes again: raise the timeout, or let the second receiver find out that
// there is nothing to do.
//
// Depth does not know what receivers hold: AMQP does not tell.
//
// RabbitMQ 3.10 writes the name of a new quorum queue down some seconds after its
// declaration. If it is killed before, the queue is lost with what was confirmed in it,
// and stays without a leader: it must be deleted. After that the guarantees hold for
// kill -9.
//
// A queue that is there already with other arguments is used as it is; then what is said
// about it here depends on them. If a virtual host is deleted, RabbitMQ 3.10 may stop to
// move what comes out of the delays of all others until it is restarted.
//
// # Concurrency
//
// A Bus is safe for concurrent use once its fields are set. Its goroutines begin with its
// first use and end with Close. The body of a loop over Receive may take its time: the
// subscription is renewed meanwhile.
//
// # Testing
//
// The suite internal/testing/suite/bustest and tests of its own run on a private RabbitMQ
// (internal/testing/rabbittest), which is killed, filled and frozen.
package amqpbus
