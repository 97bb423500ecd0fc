package blobstore

import (
	"context"
	"io"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Store keeps the bytes of parts: a Folder, or the database of the hub. Its methods are safe for
// concurrent use. They are described at Folder. It is larger than other interfaces of this program,
// because an Externalizer needs the whole life of a part.
type Store interface {
	Writer
	Settler
	Reader
}

// Writer adds parts to tasks.
type Writer interface {
	// Put stores the bytes of r as a part of the task k. A store may read r again from its
	// beginning if r is an io.Seeker.
	Put(k Key, p Part, r io.Reader) (Part, error)
	// Link adds a part of the task from to the task k.
	Link(k Key, from a2a.TaskID, d Digest) (Part, error)
	// End records the end of a task.
	End(k Key, at time.Time)
}

// Settler settles the parts that were put or linked.
type Settler interface {
	Keep(k Key, d Digest)
	Drop(k Key, d Digest)
	Defer(k Key, d Digest)
}

// Reader reads and removes parts.
type Reader interface {
	Open(k Key, d Digest) (*Content, error)
	Sweep(ctx context.Context, tasks Tasks, now time.Time) (removed int, err error)
}

var _ Store = (*Folder)(nil)

// Content is an open part.
type Content struct {
	Part
	Bytes
}

// Bytes are the bytes of an open part. Only ReadAt may be called concurrently.
type Bytes interface {
	io.Reader
	io.ReaderAt
	io.Closer
}
