package pgstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/store/dump"
	"github.com/parley-a2a/parley/task"
)

var (
	qAllContents = prepared("SELECT id, space, digest, size, chunk FROM part_contents WHERE id > $1 ORDER BY id LIMIT 1")
	qAllRefs     = prepared("SELECT " + refColumns + ", owner, task, digest, pending FROM part_refs" +
		" WHERE space = $1 AND digest = $2 ORDER BY owner, task")
	qLoadRef = prepared(`INSERT INTO part_refs (owner, task, digest, space, size, media, filename, keep, stored, pending, holders, held_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, ` + clock + `)`)
)

// content is a row of part_contents.
type content struct {
	id          int64
	name        blobstore.Name
	size, chunk int64
}

// nextContent returns the first content whose id is larger than after; nil after the last one.
func (c *conn) nextContent(after int64) (*content, error) {
	s := c.start(qAllContents)
	s.int(after)
	if !s.next() {
		return nil, s.err
	}
	found := &content{id: s.Int(), name: blobstore.Name{Space: s.Text()}}
	copy(found.name.Digest[:], s.Blob())
	found.size, found.chunk = s.Int(), s.Int()
	return found, s.err
}

// dumpParts writes contents and references as the files that a folder of parts has.
func dumpParts(c *conn, w *dump.Writer) error {
	for after := int64(0); ; {
		next, err := c.nextContent(after)
		if next == nil || err != nil {
			return err
		}
		after = next.id
		if err := w.File(dump.FileHead{Name: next.name.String(), Size: next.size}, &chunkReader{conn: c, content: *next}); err != nil {
			return err
		}
		if err := c.dumpRefs(next, w); err != nil {
			return err
		}
	}
}

func (c *conn) dumpRefs(of *content, w *dump.Writer) error {
	s := c.start(qAllRefs)
	s.text(of.name.Space)
	s.blob(of.name.Digest[:])
	for {
		var p blobstore.Part
		found, err := s.describe(&p)
		if !found || err != nil {
			return err
		}
		k := blobstore.Key{Owner: task.Owner(s.Text()), Task: a2a.TaskID(s.ID())}
		copy(p.Digest[:], s.Blob())
		pending := s.getBool()
		if s.err != nil {
			return s.err
		}
		b, err := blobstore.MarshalRef(k, &p)
		if err == nil {
			name := blobstore.RefName(k, p.Digest, pending).String()
			err = w.File(dump.FileHead{Name: name, Size: int64(len(b))}, bytes.NewReader(b))
		}
		if err != nil {
			return err
		}
	}
}

// chunkReader reads the bytes of a content in order.
type chunkReader struct {
	content
	conn *conn
	n    int64
	left []byte
}

// Read implements io.Reader.
func (r *chunkReader) Read(b []byte) (int, error) {
	if len(r.left) == 0 {
		if r.n*r.chunk >= r.size {
			return 0, io.EOF
		}
		data, err := r.conn.chunk(r.id, r.n, min(r.chunk, r.size-r.n*r.chunk))
		if err != nil {
			return 0, fmt.Errorf("part %s: %w", r.name.Digest, err)
		}
		r.left = data
		r.n++
	}
	n := copy(b, r.left)
	r.left = r.left[n:]
	return n, nil
}

// loadPart stores a file of a folder of parts, in the transaction of the connection.
func (c *conn) loadPart(h dump.FileHead, r io.Reader) error {
	name, ok := blobstore.ParseName(h.Name)
	if !ok {
		return fmt.Errorf("%w: invalid part name %q", dump.ErrDamaged, h.Name)
	}
	if name.Ref != "" {
		return c.loadRef(&name, r)
	}
	at := &chunker{conn: c, timeout: time.Hour}
	if err := errors.Join(at.copy(r), at.err); err != nil {
		return err
	}
	if at.digest != name.Digest {
		return fmt.Errorf("%w: the content of part %s has another digest", dump.ErrDamaged, name.Digest)
	}
	added, err := at.finish(name.Space)
	if err == nil && !added {
		err = fmt.Errorf("%w: duplicate part %s", dump.ErrDamaged, name.Digest)
	}
	return err
}

func (c *conn) loadRef(name *blobstore.Name, r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	k, p, err := blobstore.ParseRef(b)
	if err != nil || blobstore.RefName(k, name.Digest, name.Pending) != *name {
		return fmt.Errorf("%w: the reference %s does not match its part", dump.ErrDamaged, name)
	}
	s := c.start(qLoadRef)
	bindRef(&s, k, name.Digest)
	s.text(name.Space)
	s.int(p.Size)
	s.text(p.MediaType)
	s.text(p.Filename)
	s.int(int64(p.Keep / time.Second))
	s.int(p.Stored.UnixMilli())
	s.bool(name.Pending)
	return s.done()
}
