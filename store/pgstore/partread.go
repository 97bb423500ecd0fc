package pgstore

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/task"
)

var (
	qPart = prepared(`SELECT r.size, r.media, r.filename, r.keep, r.stored, coalesce(c.id, 0), coalesce(c.chunk, 0)
	FROM part_refs r LEFT JOIN part_contents c ON c.space = r.space AND c.digest = r.digest
	WHERE r.owner = $1 AND r.task = $2 AND r.digest = $3`)
	qChunk = prepared("SELECT crc, data FROM part_chunks WHERE content = $1 AND n = $2")
)

// Open implements blobstore.Store. A damaged chunk is found when it is read; Open reads the first one.
func (p *Parts) Open(k blobstore.Key, d blobstore.Digest) (*blobstore.Content, error) {
	part, found := blobstore.Part{Digest: d}, false
	in := &partBytes{db: p.db, digest: d, loaded: -1}
	err := p.db.read(context.Background(), func(c *conn) (err error) {
		s := c.start(qPart)
		bindRef(&s, k, d)
		if found, err = s.describe(&part); found && err == nil {
			in.id, in.chunk, in.size = s.Int(), s.Int(), part.Size
			err = s.err
		}
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("open part: %w", err)
	case !found:
		return nil, blobstore.ErrNotFound
	case in.id == 0:
		return nil, blobstore.ErrLost
	}
	if part.Size > 0 {
		if err := in.load(0); err != nil {
			return nil, fmt.Errorf("open part: %w", err)
		}
	}
	return &blobstore.Content{Part: part, Bytes: in}, nil
}

// partBytes reads a content. It holds one chunk in memory.
type partBytes struct {
	db              *DB
	digest          blobstore.Digest
	id, chunk, size int64
	at              int64 // of Read

	mu     sync.Mutex // guards the fields below
	loaded int64      // the number of the chunk in data; negative before the first one
	data   []byte
}

// Read implements io.Reader.
func (b *partBytes) Read(into []byte) (int, error) {
	n, err := b.ReadAt(into, b.at)
	b.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (b *partBytes) ReadAt(into []byte, at int64) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n < len(into) {
		if at >= b.size {
			return n, io.EOF
		}
		if err := b.load(at / b.chunk); err != nil {
			return n, err
		}
		more := copy(into[n:], b.data[at%b.chunk:])
		n, at = n+more, at+int64(more)
	}
	return n, nil
}

// load reads a chunk, unless it is in memory.
func (b *partBytes) load(n int64) error {
	if n == b.loaded {
		return nil
	}
	return b.db.read(context.Background(), func(c *conn) error {
		data, err := c.chunk(b.id, n, min(b.chunk, b.size-n*b.chunk))
		if err != nil {
			return fmt.Errorf("part %s: %w", b.digest, err)
		}
		b.loaded, b.data = n, data
		return nil
	})
}

// chunk reads a chunk of a known size and checks it.
func (c *conn) chunk(content, n, size int64) ([]byte, error) {
	s := c.start(qChunk)
	s.int(content)
	s.int(n)
	if !s.next() {
		if s.err != nil {
			return nil, s.err
		}
		return nil, fmt.Errorf("chunk %d is missing: %w", n, task.ErrCorrupt)
	}
	crc, data := s.Int(), s.Blob()
	if s.err == nil && (int64(len(data)) != size || crc != int64(crc32.Checksum(data, castagnoli))) {
		s.err = fmt.Errorf("chunk %d is damaged: %w", n, task.ErrCorrupt)
	}
	return data, s.err
}

// Close implements io.Closer.
func (b *partBytes) Close() error { return nil }
