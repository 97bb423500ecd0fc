package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/blobstore"
)

// chunkSize is the number of bytes of the chunks of new contents.
const chunkSize = 256 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Parts keeps large parts in a database, for all hubs on it. A part and its reference are stored in
// one transaction of their own, before the entry that names them.
type Parts struct {
	db   *DB
	keep time.Duration
}

var _ blobstore.Store = (*Parts)(nil)

// Parts returns the large parts in the database. New ones are kept for a time after the end of
// their tasks; zero means blobstore.DefaultKeep.
func (db *DB) Parts(keep time.Duration) *Parts {
	return &Parts{db, cmp.Or(keep, blobstore.DefaultKeep)}
}

// refColumns are the columns that describe a part.
const refColumns = "size, media, filename, keep, stored"

// again counts one more holder of a reference that exists.
const again = " ON CONFLICT (owner, task, digest) DO UPDATE SET holders = part_refs.holders + 1, held_at = excluded.held_at RETURNING " + refColumns

var (
	qRollback = prepared("ROLLBACK")

	// The lock on the content keeps it until the reference is stored.
	qRefer = prepared("INSERT INTO part_refs SELECT $1, $2, c.digest, c.space, c.size, $3, $4, $5, " + clock + `, 1, 1, ` + clock + `
	FROM part_contents c WHERE c.space = $6 AND c.digest = $7 FOR SHARE` + again)
	qLinkRef = prepared("INSERT INTO part_refs SELECT r.owner, $1, r.digest, r.space, r.size, r.media, r.filename, $2, " + clock + `, 1, 1, ` + clock + `
	FROM part_refs r JOIN part_contents c ON c.space = r.space AND c.digest = r.digest
	WHERE r.owner = $3 AND r.task = $4 AND r.digest = $5 FOR SHARE OF c` + again)

	qNextContent = prepared("SELECT nextval(pg_get_serial_sequence('part_contents', 'id'))")
	qAddChunk    = prepared("INSERT INTO part_chunks VALUES ($1, $2, $3, $4)")
	qAddContent  = prepared(`INSERT INTO part_contents (id, space, digest, size, chunk) OVERRIDING SYSTEM VALUE
	VALUES ($1, $2, $3, $4, $5) ON CONFLICT (space, digest) DO NOTHING`)

	qKeepRef = prepared(`UPDATE part_refs SET pending = 0, holders = greatest(holders - 1, 0)
	WHERE owner = $1 AND task = $2 AND digest = $3`)
	qReleaseRef = prepared(`UPDATE part_refs SET holders = greatest(holders - 1, 0)
	WHERE owner = $1 AND task = $2 AND digest = $3`)
	qUnheldRef = prepared(`DELETE FROM part_refs
	WHERE owner = $1 AND task = $2 AND digest = $3 AND pending = 1 AND holders <= 0`)
)

// Put implements blobstore.Store. A content that the owner has is not sent again if r is an
// io.Seeker.
func (p *Parts) Put(k blobstore.Key, part blobstore.Part, r io.Reader) (blobstore.Part, error) {
	got, err := p.put(k, part, r)
	if err != nil {
		return blobstore.Part{}, fmt.Errorf("store part: %w", err)
	}
	return got, nil
}

func (p *Parts) put(k blobstore.Key, part blobstore.Part, r io.Reader) (blobstore.Part, error) {
	in, rewinds := r.(io.Seeker)
	if rewinds {
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return part, err
		}
		sum.Sum(part.Digest[:0])
		if found, err := p.refer(k, &part); found || err != nil {
			return part, err
		}
	}
	for {
		if rewinds {
			if _, err := in.Seek(0, io.SeekStart); err != nil {
				return part, err
			}
		}
		added, err := p.add(k, &part, r)
		if added || err != nil {
			return part, err
		}
		// Another hub has stored the content meanwhile, or removes it now.
		if found, err := p.refer(k, &part); found || err != nil {
			return part, err
		}
		if !rewinds {
			return part, errors.New("the content was removed meanwhile")
		}
	}
}

// refer adds a reference to a content, if the owner has it.
func (p *Parts) refer(k blobstore.Key, part *blobstore.Part) (found bool, err error) {
	err = p.db.read(context.Background(), func(c *conn) (err error) {
		found, err = p.referOn(c, k, part)
		return err
	})
	return found, err
}

func (p *Parts) referOn(c *conn, k blobstore.Key, part *blobstore.Part) (bool, error) {
	s := c.start(qRefer)
	s.text(string(k.Owner))
	s.id(string(k.Task))
	s.text(part.MediaType)
	s.text(part.Filename)
	s.int(int64(p.keep / time.Second))
	s.text(blobstore.NameOf(k, part.Digest).Space)
	s.blob(part.Digest[:])
	return s.describe(part)
}

// describe reads refColumns into a part.
func (s *stmt) describe(part *blobstore.Part) (found bool, err error) {
	if !s.next() {
		return false, s.err
	}
	part.Size, part.MediaType, part.Filename = s.Int(), s.Text(), s.Text()
	part.Keep = time.Duration(s.Int()) * time.Second
	part.Stored = time.UnixMilli(s.Int()).Truncate(time.Second)
	return true, s.err
}

// add stores a content with its first reference in one transaction. It reports false, and stores
// nothing, if the owner has the content already.
func (p *Parts) add(k blobstore.Key, part *blobstore.Part, r io.Reader) (added bool, err error) {
	var unread error
	err = p.db.exclusive(func(c *conn) error {
		if err := c.run(qBeginNow); err != nil {
			return err
		}
		at := &chunker{conn: c, timeout: p.db.readers.timeout}
		if unread = at.copy(r); at.err != nil {
			return at.err
		}
		if unread != nil {
			return c.run(qRollback)
		}
		part.Digest, part.Size = at.digest, at.size
		if added, err = at.finish(blobstore.NameOf(k, at.digest).Space); err != nil {
			return err
		}
		if !added {
			return c.run(qRollback)
		}
		if _, err := p.referOn(c, k, part); err != nil {
			return err
		}
		return c.run(qCommit)
	})
	return added, errors.Join(err, unread)
}

// exclusive runs f once with a connection.
func (db *DB) exclusive(f func(*conn) error) error {
	ran := false
	return db.read(context.Background(), func(c *conn) error {
		if ran {
			return errors.New("the connection has ended")
		}
		ran = true
		return f(c)
	})
}

// chunker writes the chunks of a content.
type chunker struct {
	conn    *conn
	timeout time.Duration
	id      int64
	digest  blobstore.Digest
	size, n int64
	err     error // of the database
}

// copy stores the bytes of r. The error is that of r.
func (w *chunker) copy(r io.Reader) error {
	s := w.conn.start(qNextContent)
	if w.id, w.err = s.only(); w.err != nil {
		return nil
	}
	sum, b := sha256.New(), new(bytes.Buffer)
	b.Grow(chunkSize + bytes.MinRead)
	for {
		b.Reset()
		n, err := io.CopyN(b, r, chunkSize) // io.ReadFull would hide that r was cut off
		if n > 0 {
			sum.Write(b.Bytes())
			if w.err = w.chunk(b.Bytes()); w.err != nil {
				return nil
			}
		}
		switch {
		case err == io.EOF:
			sum.Sum(w.digest[:0])
			return nil
		case err != nil:
			return err
		}
	}
}

func (w *chunker) chunk(b []byte) error {
	if err := w.conn.limit(w.timeout); err != nil {
		return err
	}
	s := w.conn.start(qAddChunk)
	s.int(w.id)
	s.int(w.n)
	s.int(int64(crc32.Checksum(b, castagnoli)))
	s.blob(b)
	w.n++
	w.size += int64(len(b))
	return s.done()
}

// finish names the content. It reports false if there is one with the name.
func (w *chunker) finish(space string) (bool, error) {
	s := w.conn.start(qAddContent)
	s.int(w.id)
	s.text(space)
	s.blob(w.digest[:])
	s.int(w.size)
	s.int(chunkSize)
	n, err := s.changed()
	return n == 1, err
}

// Link implements blobstore.Store.
func (p *Parts) Link(k blobstore.Key, from a2a.TaskID, d blobstore.Digest) (blobstore.Part, error) {
	part, found := blobstore.Part{Digest: d}, false
	err := p.db.read(context.Background(), func(c *conn) (err error) {
		s := c.start(qLinkRef)
		s.id(string(k.Task))
		s.int(int64(p.keep / time.Second))
		bindRef(&s, blobstore.Key{Owner: k.Owner, Task: from}, d)
		found, err = s.describe(&part)
		return err
	})
	switch {
	case err != nil:
		return blobstore.Part{}, fmt.Errorf("link part: %w", err)
	case !found:
		return blobstore.Part{}, blobstore.ErrNotFound
	}
	return part, nil
}

func bindRef(s *stmt, k blobstore.Key, d blobstore.Digest) {
	s.text(string(k.Owner))
	s.id(string(k.Task))
	s.blob(d[:])
}

// End implements blobstore.Store. Sweep reads the ends of tasks from the database.
func (p *Parts) End(blobstore.Key, time.Time) {}

// Keep implements blobstore.Store. If it fails, Sweep looks up the part.
func (p *Parts) Keep(k blobstore.Key, d blobstore.Digest) { _ = p.settle(qKeepRef, k, d) }

// Defer implements blobstore.Store. If it fails, Sweep looks up the part.
func (p *Parts) Defer(k blobstore.Key, d blobstore.Digest) { _ = p.settle(qReleaseRef, k, d) }

// Drop implements blobstore.Store. If it fails, Sweep looks up the part.
func (p *Parts) Drop(k blobstore.Key, d blobstore.Digest) {
	if p.settle(qReleaseRef, k, d) == nil {
		_ = p.remove(qUnheldRef, k, d)
	}
}

func (p *Parts) settle(q query, k blobstore.Key, d blobstore.Digest) error {
	return p.db.read(context.Background(), func(c *conn) error {
		s := c.start(q)
		bindRef(&s, k, d)
		return s.done()
	})
}
