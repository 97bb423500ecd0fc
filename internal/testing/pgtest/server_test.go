package pgtest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(pgtest.Exit)) }

// query returns the first value that a statement returns.
func query(ctx context.Context, url, sql string) (string, error) {
	c, err := pgconn.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer c.Close(context.Background())
	result := c.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	if result.Err != nil || len(result.Rows) == 0 {
		return "", result.Err
	}
	return string(result.Rows[0][0]), nil
}

func expect(t *testing.T, url, sql, want string) {
	t.Helper()
	if got, err := query(t.Context(), url, sql); got != want || err != nil {
		t.Errorf("%s = %q, %v, want %q", sql, got, err, want)
	}
}

// Databases of a shared server do not see each other, and sort unlike bytes.
func TestDatabase(t *testing.T) {
	s := pgtest.Shared(t)
	one, other := s.Database(t), s.Database(t)
	if _, err := query(t.Context(), one, "CREATE TABLE mine (a text)"); err != nil {
		t.Fatal(err)
	}
	expect(t, one, "SELECT count(*) FROM mine", "0")
	if _, err := query(t.Context(), other, "SELECT count(*) FROM mine"); err == nil {
		t.Error("a database shows the table of another one")
	}
	expect(t, one, "SELECT 'a' < 'B'", "t")
	expect(t, one, "SHOW fsync", "off")
}

// A database that was killed, stopped and frozen has all that was committed, at the same address.
func TestControl(t *testing.T) {
	s := pgtest.Start(t)
	url := s.Database(t)
	expect(t, url, "SHOW fsync", "on")
	if _, err := query(t.Context(), url, "CREATE TABLE kept AS SELECT 1 AS a"); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(){"Kill": s.Kill, "Stop": s.Stop} {
		end()
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port())); err == nil {
			c.Close()
			t.Fatalf("a process listens after %s", name)
		}
		s.Launch(t)
		expect(t, url, "SELECT a FROM kept", "1")
	}
	thaw := s.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := query(ctx, url, "SELECT a FROM kept"); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("query of a frozen server: %v, want an expired deadline", err)
	}
	thaw()
	expect(t, url, "SELECT a FROM kept", "1")
}
