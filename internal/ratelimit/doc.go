// Package ratelimit limits the requests of one caller: requests per second, with bursts, and
// bytes of requests per second.
//
// A [Limiter] keeps a bucket per caller. A request consumes one token; tokens accrue at the
// configured rate, up to the burst. Bytes are counted after they were read, so a request may
// consume more than is available: the caller is then in debt, and refused until the debt is
// paid.
//
// # Guarantees
//
// A refusal names the time after which to retry, and a caller that waits that long is served,
// unless it has sent other requests meanwhile. Refused requests are not counted, so that a
// caller that retries too often is not locked out. Memory is bounded: a full bucket is removed.
//
// # Non-guarantees
//
// Limits apply to one process. A gateway with many users counts as one caller, and so do all
// anonymous callers together.
//
// # Concurrency
//
// A Limiter is safe for concurrent use. A nil Limiter allows everything.
package ratelimit
