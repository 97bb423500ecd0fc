package grpcbind

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/membudget"
)

// unmetered is the size in bytes up to which a message needs no memory from the budget to arrive.
const unmetered = 4 << 10

// prefixSize is the size of the prefix of a message: whether it is compressed, and its size.
const prefixSize = 5

// maxRatio is the largest ratio of compression by gzip.
const maxRatio = 1032

// arrivalFactor is the memory for a message until it is decoded, as a multiple of its size: the pieces as
// they arrived, their bytes joined, and the message. gRPC decodes it before it asks for the memory of the
// next step.
const arrivalFactor = 3

// arrivals bounds the memory of messages while they arrive.
type arrivals struct {
	// message is the largest size of a message.
	message int64
	memory  *membudget.Budget
	// small and large are the parts of memory that messages up to membudget.Small and larger ones may
	// occupy while they arrive, so that those that have arrived can be decoded. A message draws on
	// memory and on its part.
	small, large membudget.Budget
}

// newArrivals returns bounds for messages of a largest size.
func newArrivals(memory *membudget.Budget, message int64) *arrivals {
	a := &arrivals{message: max(message, 1), memory: memory}
	for _, part := range [...]*membudget.Budget{&a.small, &a.large} {
		part.Max, part.Wait = max(1, memory.Stats().Max/2), memory.Wait
	}
	return a
}

// arriving is the body of a call while its one message arrives. gRPC reads a body as fast as it can and
// keeps the bytes; a large message is therefore held back after its prefix, until the handler of
// the call has admitted it.
type arriving struct {
	body io.ReadCloser
	rc   *http.ResponseController
	all  *arrivals
	time time.Duration // for the message to arrive
	// known is closed when the prefix is read or will not come, done when the whole message is.
	known, done chan struct{}
	// admitted is closed when the message may arrive, closed when no handler waits for it.
	admitted, closed chan struct{}
	close            func()

	// The reading goroutine owns the following fields until known is closed.
	prefix [prefixSize]byte
	size   int64 // of the message on the wire; zero if the prefix did not come
	read   int   // bytes of the prefix that gRPC has got
	left   int64

	mu  sync.Mutex // guards the fields below
	err error      // the end of the message, written by the reading goroutine
	// part and hold are the memory of the message.
	part, hold *membudget.Hold
}

// within begins the time for the message to arrive.
func (a *arriving) within() {
	_ = a.rc.SetReadDeadline(time.Now().Add(a.time)) // fails if the stream has ended, and then Read does
}

// errSecondMessage is the end of a call that sends more than its message.
var errSecondMessage = errors.New("the call has more than one message")

// Read implements io.Reader. It fills p unless the message ends: gRPC keeps a buffer for each Read.
func (a *arriving) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.next(p)
	if err != nil {
		a.mu.Lock()
		a.err = err
		a.mu.Unlock()
		close(a.done)
	}
	return n, err
}

func (a *arriving) next(p []byte) (int, error) {
	if a.read == 0 {
		if err := a.readPrefix(); err != nil {
			return 0, err
		}
	}
	if a.read < prefixSize {
		n := copy(p, a.prefix[a.read:])
		a.read += n
		return n, nil
	}
	if a.left == a.size && a.size > unmetered {
		// The time for the message to arrive begins when it is admitted.
		_ = a.rc.SetReadDeadline(time.Time{})
		select {
		case <-a.admitted:
		case <-a.closed:
			return 0, http.ErrBodyReadAfterClose
		}
		a.within()
	}
	if a.left == 0 {
		return 0, a.end()
	}
	n, err := io.ReadFull(a.body, p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	return n, err
}

func (a *arriving) readPrefix() error {
	defer close(a.known)
	if _, err := io.ReadFull(a.body, a.prefix[:]); err != nil {
		return err
	}
	a.size = int64(binary.BigEndian.Uint32(a.prefix[1:]))
	a.left = a.size
	return nil
}

// end reads the end of the call after its message.
func (a *arriving) end() error {
	var more [1]byte
	switch _, err := io.ReadFull(a.body, more[:]); {
	case err == nil:
		return errSecondMessage
	case errors.Is(err, io.EOF):
		_ = a.rc.SetReadDeadline(time.Time{})
		return io.EOF
	default:
		return err
	}
}

// Close implements io.Closer.
func (a *arriving) Close() error {
	a.close()
	return a.body.Close()
}

// arrived waits for the message of a call, and admits a large one, whose caller must be known. gRPC then
// reads it from its own buffer. Its error is a status.
func (s *base) arrived(ctx context.Context) error {
	a := arrivingFrom(ctx)
	if a == nil {
		return nil
	}
	select {
	case <-a.known:
	case <-ctx.Done():
		return nil // gRPC knows the reason
	}
	size := a.size
	if size > a.all.message {
		return nil // gRPC refuses it
	}
	if size > unmetered {
		if a.prefix[0] != 0 {
			size = min(size*maxRatio, a.all.message)
		}
		err := s.known(ctx)
		if err == nil {
			err = a.acquire(ctx, size)
		}
		if err != nil {
			return s.fail(ctx, dialect.SendMessage, err)
		}
	}
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	return a.failure()
}

// failure returns the status of a call whose message has not arrived; nil if it has, or if gRPC knows
// the reason.
func (a *arriving) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case errors.Is(a.err, os.ErrDeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, "the message took too long to arrive")
	case errors.Is(a.err, errSecondMessage):
		return status.Error(codes.InvalidArgument, errSecondMessage.Error())
	}
	return nil
}

// known reports an error if the caller of a call is not known.
func (s *base) known(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	p, err := s.cfg.Auth.Authenticate(ctx, request(ctx, md))
	if err != nil {
		return err
	}
	return auth.Known(p)
}

// acquire acquires the memory of a message until the call ends.
func (a *arriving) acquire(ctx context.Context, size int64) error {
	need, all := arrivalFactor*size, &a.all.large
	if size <= membudget.Small {
		all = &a.all.small
	}
	part, err := all.Acquire(ctx, need)
	if err != nil {
		return err
	}
	hold, err := a.all.memory.Acquire(ctx, need)
	if err != nil {
		part.Release()
		return err
	}
	a.mu.Lock()
	a.part, a.hold = part, hold
	a.mu.Unlock()
	context.AfterFunc(ctx, a.release)
	close(a.admitted)
	return nil
}

// holds returns the memory of the message; both are nil if it needs none.
func (a *arriving) holds() (part, hold *membudget.Hold) {
	if a == nil {
		return nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.part, a.hold
}

// release releases the memory of the message.
func (a *arriving) release() {
	part, hold := a.holds()
	part.Release()
	hold.Release()
}

type arrivingKey struct{}

// arrivingFrom returns the body of a call; nil on a server of another owner.
func arrivingFrom(ctx context.Context) *arriving {
	a, _ := ctx.Value(arrivingKey{}).(*arriving)
	return a
}
