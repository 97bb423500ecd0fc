// Package ratelimit bounds how much one caller may ask of a hub: requests per second,
// with bursts, and bytes of requests per second.
//
// A [Limiter] keeps a bucket per caller. A request takes one token; tokens come
// back at the configured rate, up to the burst. Bytes are counted once they have
// been read, so a request may take more than is there: the caller is then in debt,
// and refused until the debt is paid.
//
// # Guarantees
//
// A refusal says when to come back, and a caller who waits that long is served
// unless it has asked for something else meanwhile. What is refused is not counted,
// so a caller who tries too often is not locked out. Memory is bounded: a full
// bucket says nothing and is forgotten.
//
// # What it does not promise
//
// It knows one process. A caller with many callers behind it, such as a gateway, is
// one caller here; so are all anonymous ones.
//
// # Concurrency
//
// A Limiter is safe for concurrent use. A nil Limiter allows everything.
//
// # Testing
//
// The time is that of package time, so tests run in a bubble of testing/synctest.
package ratelimit
