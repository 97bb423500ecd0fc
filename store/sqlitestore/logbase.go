package sqlitestore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"

	"zombiezen.com/go/sqlite"
)

// mixed returns the loss of a file that does not belong to the write-ahead log beside it. SQLite
// applies any valid log to any file, so an older file beside a newer log becomes a mixture of both.
//
// A log begins when the file has all earlier commits, and each commit writes the page of the
// identity. So the first such page in the log has the number of the first commit after those that
// the file must have without its log.
func mixed(path string) (*Loss, error) {
	// The log is read first: meanwhile a hub may move more commits into the file, never fewer.
	first, ok, err := firstInLog(path + "-wal")
	if err != nil || !ok {
		return nil, err
	}
	own, ok := withoutLog(path)
	base := first.commits - 1
	switch {
	case !ok || own.store == "" && base <= 0:
		return nil, nil // damaged, which others report; or made by an earlier version
	case own.store != "" && own.store != first.store:
		return &Loss{
			Reason: fmt.Sprintf("the write-ahead log belongs to another file: its store is %x, the file's is %x", first.store, own.store),
			Known:  base, Found: own.commits,
		}, nil
	case own.commits < base:
		return &Loss{
			Reason: fmt.Sprintf("the file is older than its write-ahead log: it has %d commits, and the log begins after commit %d", own.commits, base),
			Known:  base, Found: own.commits,
		}, nil
	}
	return nil, nil
}

// firstInLog returns the first identity in the intact beginning of a write-ahead log.
func firstInLog(path string) (m mark, ok bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	head := make([]byte, walHeadSize)
	if _, err := io.ReadFull(r, head); err != nil {
		return m, false, nil // it has no frame
	}
	c, ok := newChain(head)
	if !ok || c.size != pageSize {
		return m, false, nil
	}
	for text := make([]byte, frameHead+c.size); ; {
		if _, err := io.ReadFull(r, text); err != nil || !c.follows(text) {
			return m, false, nil // SQLite reads no further either
		}
		if m, ok = identityOf(text[frameHead:]); ok {
			return m, true, nil
		}
	}
}

// identityOf reads the page of the table of the identity; ok is false for other pages.
func identityOf(page []byte) (m mark, ok bool) {
	fits := func(types []uint64) bool {
		return len(types) == 3 && types[0] == 0 && types[1] == 12+2*16 && isNumber(types[2])
	}
	if binary.BigEndian.Uint16(page[3:]) != 1 || !leafOf(page, fits) {
		return m, false
	}
	cell := page[binary.BigEndian.Uint16(page[8:]):]
	_, n := number(cell)
	one, k := number(cell[n:])
	row := cell[n+k:]
	types, _ := typesOf(cell)
	size, _ := number(row)
	row = row[size:]
	width := widths[types[2]]
	if one != 1 || len(row) < 16+width {
		return m, false
	}
	m.store = string(row[:16])
	for _, b := range row[16 : 16+width] {
		m.commits = m.commits<<8 | int64(b)
	}
	if types[2] == 9 {
		m.commits = 1
	}
	return m, true
}

// widths are the sizes of SQLite's types of numbers in a row.
var widths = [10]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}

// withoutLog returns the identity that a file has without its write-ahead log; the zero mark
// for a file of an earlier version. ok is false if it cannot be read.
func withoutLog(path string) (m mark, ok bool) {
	if openable(path) != nil {
		return m, false
	}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: "immutable=1"}
	raw, err := sqlite.OpenConn(uri.String(), sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return m, false
	}
	c := &conn{raw: raw, stmts: make([]*sqlite.Stmt, len(queries))}
	defer c.close() //nolint:errcheck // it was only read
	has, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'identity'")
	if err != nil || has == 0 {
		return m, err == nil
	}
	m, err = identity(c)
	return m, err == nil
}
