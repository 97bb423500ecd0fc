package sqlitestore

import (
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
)

// unprepared are statements that execute others, which SQLite prepares each time, and those that end the
// transaction.
var unprepared = []query{qBegin, qBeginNow, qCommit, qRollback, qLonger}

// TestStatementsStayPrepared executes each statement with other values. SQLite prepares a statement
// again if its plan may depend on a value, such as that of LIMIT ?, which costs ten times a short read.
func TestStatementsStayPrepared(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	c, err := openConn(connOptions{path: db.path, cache: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	prepared := 0
	if err := c.raw.SetAuthorizer(sqlite.AuthorizeFunc(func(sqlite.Action) sqlite.AuthResult {
		prepared++
		return sqlite.AuthResultOK
	})); err != nil {
		t.Fatal(err)
	}
	for q, text := range queries {
		if strings.HasPrefix(text, "PRAGMA") || slices.Contains(unprepared, query(q)) {
			continue
		}
		s, _, err := c.raw.PrepareTransient(text)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			prepared = 0
			for i := range s.BindParamCount() {
				s.BindInt64(i+1, int64(n))
			}
			for more := true; more && err == nil; {
				more, err = s.Step()
			}
			_ = s.Reset() // the error of Step: the values may be wrong
			err = nil
			if n > 1 && prepared > 0 {
				t.Errorf("%s\nis prepared again", text)
				break
			}
		}
		s.Finalize()
	}
}
