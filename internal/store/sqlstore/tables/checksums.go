package tables

import (
	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// BesideRow is a row of a table beside tasks, by its number.
type BesideRow struct {
	Table, Column string
	Number        int64
}

// besideTables are the tables beside tasks whose data has checksums.
var besideTables = []struct {
	table, column string
	page          Query
}{
	{"snapshots", "task", prepared("SELECT task, data FROM snapshots WHERE task > $1 ORDER BY task LIMIT 64")},
	{"sidecars", "place", prepared("SELECT place, data FROM sidecars WHERE place > $1 ORDER BY place LIMIT 64")},
	{"journal", "place", prepared("SELECT place, data FROM journal WHERE place > $1 ORDER BY place LIMIT 64")},
}

// EachDamaged reads the rows beside tasks and calls f with each whose checksum is wrong. After an
// error of the database in one table, it reads the next one; the error is the first.
func EachDamaged(c Conn, f func(BesideRow)) (first error) {
	for _, t := range besideTables {
		for after, more := int64(-1), true; more; {
			more = false
			err := eachRow(c, t.page, []any{after}, func(row Row) error {
				after, more = row.Int(), true
				if _, err := sqlstore.Content(row.Blob()); err != nil {
					f(BesideRow{t.table, t.column, after})
				}
				return nil
			})
			if err != nil && first == nil {
				first = err
			}
			more = more && err == nil
		}
	}
	return first
}
