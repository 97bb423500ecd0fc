// Package shards keeps one log of tasks in several PostgreSQL databases, its shards.
//
// A task is in the shard of its owner, with all that belongs to it: entries, webhooks, keys of requests,
// journal, large parts. The home, shard 0, also keeps what owners share, and the place of each owner.
//
// # Guarantees
//
// The home gives an owner a place with its first task, by rendezvous hashing among the shards that answer.
// Another database moves no owner; only Move does. Every operation of an owner uses one shard, whose promises
// are those of package pgstore.
//
// The keys of all shards are from one sequence, that of the home, so that a task has the same key in any of them. A
// hub knows the owner of a task that it has seen by its key; otherwise it asks the shards.
//
// The home decides which hubs are members. Each has a row in every shard as well, which a transaction that
// writes locks, so that it fences there. A hub whose lease has ended is ended in each shard that answers before
// it is ended in the home. A shard that did not answer is used again once the hub has ended there those that the
// home does not know.
//
// The timeline is merged when it is read, by the time of the commits, and the home keeps the order: it is exact
// for each owner, and stable between owners.
//
// # Moves
//
// An owner moves while it works. Triggers in its shard note which tasks change while all are copied. When few are
// left, all members let the operations of the owner wait, and say so in the home once those that had begun have
// ended. Then the rest is copied, and one transaction in the home makes the target the place of the owner. No usual
// commit looks at any of this: a hub that writes is a member, and without the consent of each member nothing moves. A
// turn that takes longer than a second is ended by the home, at the request of any hub, and tried again.
//
// The home decides at each moment which of the two shards counts. The other one may have tasks of the owner as well;
// lists of all owners leave them out. If a hub ends in the middle of a move, another one removes its remains.
//
// # Availability
//
// While a shard does not answer, the operations of its owners fail with [task.ErrPartly] without waiting for it.
// Lists of all owners leave it out, and so does the work for all owners, which is made up for later.
//
// # Non-guarantees
//
// A hub that is lost and does not know it yet may read the tasks of an owner in its former place, or not find them.
//
// Without the home, no owner can be served. A list of all owners by words is in the order of shards. Steps of
// webhooks of several shards are not stored together.
package shards
