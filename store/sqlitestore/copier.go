package sqlitestore

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
)

// copyAll copies the readable rows of a table. The error is one of the new file.
func (t *SalvagedTable) copyAll(old, to *conn) error {
	cp, err := newCopier(t, old, to)
	if err != nil || cp == nil {
		return err
	}
	defer cp.insert.Finalize() //nolint:errcheck // a failed insert was counted
	if cp.key != "" {
		// Without row numbers, the only place to continue behind damage is the other end.
		if _, err := cp.rows(cp.read + " ORDER BY " + cp.key); err != nil {
			t.Gaps++
			_, _ = cp.rows(cp.read + " ORDER BY " + strings.ReplaceAll(cp.key, ",", " DESC,") + " DESC")
		}
		return nil
	}
	for after, more := int64(math.MinInt64), true; more; {
		last, err := cp.rows(fmt.Sprintf("%s WHERE rowid > %d ORDER BY rowid", cp.read, after))
		if err == nil {
			return nil
		}
		t.Gaps++
		after, more = cp.behind(max(last, after))
	}
	if order := inIndex[t.Name]; order != "" {
		_, _ = cp.rows(cp.read + " ORDER BY " + order) // an index has all columns
	}
	return nil
}

// inIndex are the orders in which SQLite reads a table from an index with all its columns alone.
var inIndex = map[string]string{"owners": "name", "scopes": "owner, agent"}

// copier copies rows of one table.
type copier struct {
	table  *SalvagedTable
	old    *conn
	insert *sqlite.Stmt
	// read selects the number of the row, or zero, and all columns.
	read string
	// key are the columns of the primary key of a table without row numbers; otherwise empty.
	key     string
	columns int
}

// newCopier returns nil if the old file does not have the table.
func newCopier(t *SalvagedTable, old, to *conn) (*copier, error) {
	mine, key, err := columnsOf(to, t.Name)
	if err != nil {
		return nil, err
	}
	theirs, _, err := columnsOf(old, t.Name)
	if err != nil || len(theirs) == 0 {
		return nil, nil
	}
	mine = slices.DeleteFunc(mine, func(name string) bool { return !slices.Contains(theirs, name) })
	all := strings.Join(mine, ", ")
	cp := &copier{table: t, old: old, columns: len(mine), read: "SELECT rowid, " + all + " FROM " + t.Name}
	if s, _, err := to.raw.PrepareTransient("SELECT rowid FROM " + t.Name); err != nil {
		cp.key, cp.read = strings.Join(key, ", "), "SELECT 0, "+all+" FROM "+t.Name
	} else if err := s.Finalize(); err != nil {
		return nil, err
	}
	places := strings.TrimSuffix(strings.Repeat("?, ", len(mine)), ", ")
	cp.insert, _, err = to.raw.PrepareTransient("INSERT OR IGNORE INTO " + t.Name + " (" + all + ") VALUES (" + places + ")")
	return cp, err
}

// columnsOf returns the columns of a table, and those of its primary key.
func columnsOf(c *conn, table string) (all, key []string, err error) {
	s, _, err := c.raw.PrepareTransient("SELECT name, pk FROM pragma_table_info('" + table + "') ORDER BY pk, cid")
	if err != nil {
		return nil, nil, err
	}
	defer s.Finalize() //nolint:errcheck // its last step reports the error
	for {
		more, err := s.Step()
		if err != nil || !more {
			return all, key, err
		}
		all = append(all, s.ColumnText(0))
		if s.ColumnInt(1) > 0 {
			key = append(key, s.ColumnText(0))
		}
	}
}

// rows copies the rows of a query until it ends or meets damage. It returns the number of the
// last row.
func (cp *copier) rows(query string) (last int64, err error) {
	last = math.MinInt64
	s, _, err := cp.old.raw.PrepareTransient(query)
	if err != nil {
		return last, err
	}
	defer s.Finalize() //nolint:errcheck // its last step reports the error
	for {
		more, err := s.Step()
		if err != nil || !more {
			return last, err
		}
		last = s.ColumnInt64(0)
		cp.row(s)
	}
}

// row inserts the current row of s.
func (cp *copier) row(s *sqlite.Stmt) {
	for i := 1; i <= cp.columns; i++ {
		switch s.ColumnType(i) {
		case sqlite.TypeInteger:
			cp.insert.BindInt64(i, s.ColumnInt64(i))
		case sqlite.TypeFloat:
			cp.insert.BindFloat(i, s.ColumnFloat(i))
		case sqlite.TypeText:
			cp.insert.BindText(i, s.ColumnText(i))
		case sqlite.TypeBlob:
			b := make([]byte, s.ColumnLen(i))
			s.ColumnBytes(i, b)
			cp.insert.BindBytes(i, b)
		case sqlite.TypeNull:
			cp.insert.BindNull(i)
		}
	}
	if _, err := cp.insert.Step(); err != nil {
		cp.table.Refused++
	} else {
		cp.table.Rows++
	}
	_ = cp.insert.Reset() // it repeats the error of the step
}

// behind returns the number after which rows can be read again, behind the damage that follows
// row last. It goes ahead in growing steps, and then back by halves.
func (cp *copier) behind(last int64) (after int64, found bool) {
	bad, step := last, int64(1)
	for {
		if step <= 0 || last > math.MaxInt64-step {
			return 0, false
		}
		if cp.readable(last + step) {
			break
		}
		bad, step = last+step, step*2
	}
	good := last + step
	for good-bad > 1 {
		if middle := bad + (good-bad)/2; cp.readable(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good, true
}

// readable reports whether the first row behind a number can be read, or there is none.
func (cp *copier) readable(after int64) bool {
	s, _, err := cp.old.raw.PrepareTransient(fmt.Sprintf("%s WHERE rowid > %d ORDER BY rowid LIMIT 1", cp.read, after))
	if err != nil {
		return false
	}
	_, err = s.Step()
	_ = s.Finalize() // it repeats the error of the step
	return err == nil
}
