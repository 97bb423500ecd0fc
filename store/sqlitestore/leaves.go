package sqlitestore

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// shapes recognize the rows of the tables whose pages are looked for one by one, by the types of
// the values as SQLite numbers them. No other table has rows of the same shape, except that of
// journals, whose rows no log contains.
var shapes = map[string]func(types []uint64) bool{
	"tasks": func(types []uint64) bool {
		return len(types) == 14 && types[0] == 0 && isNumber(types[1]) && isNumber(types[2]) && isBlob(types[13])
	},
	"entries": func(types []uint64) bool { return len(types) == 2 && types[0] == 0 && isBlob(types[1]) },
}

func isNumber(kind uint64) bool { return kind >= 1 && kind <= 9 && kind != 7 }

func isBlob(kind uint64) bool { return kind >= 12 && kind%2 == 0 }

// copyLeaves copies the rows of pages that the damaged table does not lead to. For each page of
// the file that has rows of its shape, it makes this page the whole table, and reads that. path is
// a private copy.
func (t *SalvagedTable) copyLeaves(path string, to *conn) (err error) {
	fits := shapes[t.Name]
	if fits == nil || t.Gaps == 0 {
		return nil
	}
	root, err := rootOf(path, t.Name)
	if err != nil || root < 2 {
		return nil // the list of tables is lost, too
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	page := make([]byte, pageSize)
	for n := int64(1); ; n++ {
		if _, err := f.ReadAt(page, n*pageSize); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if n == root-1 || !leafOf(page, fits) {
			continue
		}
		if _, err := f.WriteAt(page, (root-1)*pageSize); err != nil {
			return err
		}
		if err := t.copyPage(path, to); err != nil {
			return err
		}
	}
}

// rootOf returns the number of the first page of a table.
func rootOf(path, table string) (int64, error) {
	c, err := openConn(connOptions{path: path, cache: 1 << 20})
	if err != nil {
		return 0, err
	}
	n, err := c.number("SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'")
	return n, errors.Join(err, c.close())
}

// copyPage copies the rows of a table that consists of one page.
func (t *SalvagedTable) copyPage(path string, to *conn) error {
	old, err := openConn(connOptions{path: path, cache: 1 << 20})
	if err != nil {
		return nil // no row can be read
	}
	before := t.Gaps
	err = t.copyAll(old, to)
	t.Gaps = before // counted already
	_ = old.close() // it is removed
	return err
}

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
