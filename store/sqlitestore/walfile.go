package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// replay writes the committed pages of a write-ahead log into a file, as a checkpoint does. Other
// than SQLite, it continues behind a damaged page of the log, and needs no whole file. It returns
// the number of pages, and of those that are damaged.
func replay(db *os.File, walPath string) (pages, bad int, err error) {
	text, err := os.ReadFile(walPath)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) < walHeadSize {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	frames, bad := framesOf(text)
	last := -1
	for i, f := range frames {
		if f.commit > 0 {
			last = i
		}
	}
	for _, f := range frames[:last+1] {
		if _, err := db.WriteAt(f.data, int64(f.page-1)*int64(len(f.data))); err != nil {
			return pages, bad, fmt.Errorf("replay page %d: %w", f.page, err)
		}
		pages++
	}
	return pages, bad, nil
}

// frame is a page in a write-ahead log. commit is not zero for the last one of a commit.
type frame struct {
	page, commit uint32
	data         []byte
}

const frameHead = 24

// chain checks the frames of a log, whose sums each continue that of the one before.
type chain struct {
	order binary.ByteOrder
	size  int // of a page
	salts string
	sum   [2]uint32
}

// newChain reads the header of a log.
func newChain(head []byte) (c chain, ok bool) {
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
		c.order = binary.LittleEndian
	case 0x377f0683:
		c.order = binary.BigEndian
	default:
		return c, false
	}
	c.size = int(binary.BigEndian.Uint32(head[8:]))
	c.salts = string(head[16:24])
	c.sum = [2]uint32{binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint32(head[28:])}
	return c, c.size >= 512 && c.size <= 64<<10
}

// belongs reports whether a frame is of this log, and not of one that was here before.
func (c *chain) belongs(text []byte) bool { return string(text[8:16]) == c.salts }

// intact reports whether the sum of a frame is right. The next one may continue with the stored
// sum behind a damaged frame.
func (c *chain) intact(text []byte) bool {
	got := checksum(c.order, checksum(c.order, c.sum, text[:8]), text[frameHead:])
	c.sum = [2]uint32{binary.BigEndian.Uint32(text[16:]), binary.BigEndian.Uint32(text[20:])}
	return got == c.sum
}

func (c *chain) follows(text []byte) bool { return c.belongs(text) && c.intact(text) }

// framesOf returns the intact frames of a log, and the number of damaged ones.
func framesOf(text []byte) (all []frame, bad int) {
	c, ok := newChain(text)
	if !ok {
		return nil, 0
	}
	for rest := text[walHeadSize:]; len(rest) >= frameHead+c.size; rest = rest[frameHead+c.size:] {
		one := rest[:frameHead+c.size]
		if !c.belongs(one) {
			if len(all) == 0 || bad > 0 {
				bad++
				continue
			}
			break // the rest is of an earlier log
		}
		if !c.intact(one) {
			bad++
			continue
		}
		all = append(all, frame{binary.BigEndian.Uint32(one), binary.BigEndian.Uint32(one[4:]), one[frameHead:]})
	}
	return all, bad
}

// checksum continues SQLite's checksum of a log over b.
func checksum(order binary.ByteOrder, sum [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		sum[0] += order.Uint32(b) + sum[1]
		sum[1] += order.Uint32(b[4:]) + sum[0]
	}
	return sum
}

// copyFile copies a file to a new one, which only its user may read. A missing file is empty.
func copyFile(from, to string) (*os.File, error) {
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, in.Close())
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}
