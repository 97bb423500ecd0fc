package sqlitestore

import "encoding/binary"

// pageSize is the size of the pages of all files of Parley.
const pageSize = 4096

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

// follows reports whether a frame is the next one of this log, and not damaged.
func (c *chain) follows(text []byte) bool {
	c.sum = checksum(c.order, checksum(c.order, c.sum, text[:8]), text[frameHead:])
	stored := [2]uint32{binary.BigEndian.Uint32(text[16:]), binary.BigEndian.Uint32(text[20:])}
	return string(text[8:16]) == c.salts && c.sum == stored
}

// checksum continues SQLite's checksum of a log over b.
func checksum(order binary.ByteOrder, sum [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		sum[0] += order.Uint32(b) + sum[1]
		sum[1] += order.Uint32(b[4:]) + sum[0]
	}
	return sum
}

func isNumber(kind uint64) bool { return kind >= 1 && kind <= 9 && kind != 7 }

// leafOf reports whether a page has rows of a table, with the shape that fits recognizes.
func leafOf(page []byte, fits func([]uint64) bool) bool {
	const leaf = 13
	cells := int(binary.BigEndian.Uint16(page[3:]))
	if page[0] != leaf || cells == 0 || 8+2*cells > len(page) {
		return false
	}
	at := int(binary.BigEndian.Uint16(page[8:]))
	if at < 8+2*cells || at >= len(page) {
		return false
	}
	types, ok := typesOf(page[at:])
	return ok && fits(types)
}

// typesOf returns the types of the values of a row.
func typesOf(cell []byte) (types []uint64, ok bool) {
	_, n := number(cell) // the length of the row
	_, m := number(cell[n:])
	row := cell[n+m:]
	size, n := number(row)
	if n == 0 || size < uint64(n) || size > uint64(len(row)) {
		return nil, false
	}
	for head := row[n:size]; len(head) > 0; {
		kind, n := number(head)
		if n == 0 {
			return nil, false
		}
		types, head = append(types, kind), head[n:]
	}
	return types, true
}

// number decodes a number of variable length, and returns its size; zero if it is cut off.
func number(b []byte) (v uint64, n int) {
	for n = range min(len(b), 9) {
		if n == 8 {
			return v<<8 | uint64(b[n]), 9
		}
		v = v<<7 | uint64(b[n]&0x7f)
		if b[n] < 0x80 {
			return v, n + 1
		}
	}
	return 0, 0
}
