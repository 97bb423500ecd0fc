package grpcbind

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// maxMetadata is the maximum size of the metadata of a call in bytes, as HTTP/2 counts them.
const maxMetadata = 64 << 10

// leastRate is the number of bytes that a caller must read in a second, beyond Limits.SendTime.
const leastRate = 256 << 10

// ServeHTTP performs a call. Its message must arrive within Limits.BodyTime, and its answers must be read.
func (b *Binding) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isCall(r) {
		http.Error(w, "this address serves gRPC only: the content type must be application/grpc, over HTTP/2", http.StatusUnsupportedMediaType)
		return
	}
	if r.ProtoMajor != 2 {
		refuse(w, codes.Unimplemented, "gRPC requires HTTP/2, and the request came over HTTP/1.1: let the proxy pass gRPC to the hub (h2c)")
		return
	}
	if metadataSize(r.Header) > maxMetadata {
		refuse(w, codes.ResourceExhausted, "the metadata of the call is larger than 64 KiB")
		return
	}
	rc := http.NewResponseController(w)
	a := &arriving{
		body: r.Body, rc: rc, all: b.arrivals, time: b.cfg.Limits.BodyTime,
		known: make(chan struct{}), done: make(chan struct{}), admitted: make(chan struct{}), closed: make(chan struct{}),
	}
	a.close = sync.OnceFunc(func() { close(a.closed) })
	a.within()
	r = r.WithContext(context.WithValue(r.Context(), arrivingKey{}, a))
	r.Body = a
	b.server.ServeHTTP(&answer{ResponseWriter: w, rc: rc, time: b.cfg.Limits.SendTime}, r)
}

// metadataSize returns the size of a head as HTTP/2 counts it (RFC 9113 §6.5.2).
func metadataSize(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + 32
		}
	}
	return n
}

// refuse answers a call that gRPC does not get to see. The text must be ASCII without a percent sign.
func refuse(w http.ResponseWriter, code codes.Code, text string) {
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.Itoa(int(code)))
	h.Set("Grpc-Message", text)
}

// answer is the answer to a call. A caller that does not read it in time loses its call.
type answer struct {
	http.ResponseWriter

	rc   *http.ResponseController
	time time.Duration
	// until is the time by which all bytes must be read.
	until time.Time
}

// resetTime is the time after Limits.SendTime in which a caller of a stream can still read its error. Then
// the stream is reset, because net/http cannot end it otherwise.
const resetTime = 5 * time.Second

// Write implements http.ResponseWriter. gRPC flushes after each message.
func (a *answer) Write(b []byte) (int, error) {
	if a.until.IsZero() {
		a.until = time.Now().Add(a.time + resetTime)
	}
	a.until = a.until.Add(time.Duration(len(b)) * time.Second / leastRate)
	_ = a.rc.SetWriteDeadline(a.until) // fails if the stream has ended, and then Write does
	return a.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (a *answer) Flush() {
	_ = a.rc.Flush()
	if !a.until.IsZero() {
		a.until = time.Time{}
		_ = a.rc.SetWriteDeadline(a.until)
	}
}
