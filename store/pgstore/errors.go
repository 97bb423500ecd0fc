package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
)

// Reasons for which a database is refused. The error around them names the database and the
// remedy. Callers test with errors.Is.
var (
	// ErrNewer is returned for a schema that a newer version of Parley has written.
	ErrNewer = errors.New("written by a newer version")
	// ErrForeign is returned for a schema that is not Parley's.
	ErrForeign = errors.New("not a schema of parley")
	// ErrEncoding is returned by Open for a database whose encoding is not UTF8: the words of notes are
	// texts.
	ErrEncoding = errors.New("the encoding of the database is not UTF8")
	// ErrDamaged is returned for damaged contents: by Open, and together with
	// ErrUnavailable by all other methods.
	ErrDamaged = errors.New("database is damaged")
	// ErrInUse is returned if another hub uses the database. A hub that has lost its connection
	// returns it with ErrUnavailable from all writes if another hub has used the database
	// since: it must be started again.
	ErrInUse = errors.New("another hub is using the database")
	// ErrRefused is returned by Open if the database refuses the user or a setting in the address, or has
	// no such database.
	ErrRefused = errors.New("database refused the connection")
	// ErrNoHints is returned by Listen if the address is that of a pooler.
	ErrNoHints = errors.New("a pooler passes no notifications")
	// ErrUnavailable is returned while the database cannot be reached, or fails.
	ErrUnavailable = task.ErrUnavailable
)

// errPooler refuses a pooler for work that needs the database alone.
var errPooler = fmt.Errorf("%w: a pooler is in front of the database, so a lock would not last: set hub_id, or use the address of the database itself (store_direct)", ErrRefused)

var errClosed = fmt.Errorf("%w: closed", task.ErrUnavailable)

// unavailable wraps err as an error of an unavailable store, unless it states why the database
// cannot be used at all.
func unavailable(err error) error {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	if connecting {
		err = connectError{err}
	}
	for _, final := range []error{ErrNewer, ErrForeign, ErrEncoding, ErrInUse, ErrRefused, task.ErrUnavailable} {
		if errors.Is(err, final) {
			return err
		}
	}
	if damaged(err) {
		return fmt.Errorf("%w: %w: %w", task.ErrUnavailable, ErrDamaged, err)
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Errorf("%w: %w", task.ErrUnavailable, err)
	}
	switch {
	case pg.Code == "53100":
		return fmt.Errorf("%w: %w", task.ErrFull, err)
	case pg.Code == "25006":
		return fmt.Errorf("%w: %w", task.ErrReadOnly, err)
	}
	if advice := remedy(pg, connecting); advice != "" {
		return fmt.Errorf("%w: %w; %s", ErrRefused, err, advice)
	}
	return fmt.Errorf("%w: %w", task.ErrUnavailable, err)
}

// remedy returns the advice for an error that lasts until a person acts; empty for others.
// PgBouncer has one code for all errors, so its messages count.
func remedy(err *pgconn.PgError, connecting bool) string {
	switch {
	case strings.HasPrefix(err.Code, "28"), connecting && strings.HasSuffix(err.Message, " authentication failed"):
		return "correct the user and the password in the address, or the rules of the database (pg_hba.conf)"
	case err.Code == "3D000", connecting && strings.HasPrefix(err.Message, "no such database"):
		return "create the database (createdb --encoding=UTF8 --template=template0), or correct its name in the address"
	case err.Code == "42501":
		return "give the user all rights on the database"
	case connecting && strings.HasPrefix(err.Message, "unsupported startup parameter"):
		return "remove the parameter from the address, or add it to ignore_startup_parameters of PgBouncer"
	case connecting && wrongSetting(err.Code):
		return "remove the setting from the address, or correct it"
	}
	return ""
}

// wrongSetting reports whether a database refuses a connection because it does not know a setting, or
// its value is wrong.
func wrongSetting(code string) bool { return code == "42704" || code == "22023" }

// connectError is an error of a connection on one line. That of the driver has a line for each
// attempt: with TLS and without it, at each address.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

func (e connectError) Error() string {
	head, rest, _ := strings.Cut(e.error.Error(), "\n")
	var attempts []string
	noTLS := ""
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(line, "server refused TLS connection"):
			noTLS = line // an attempt without TLS follows, if the address permits it
		case !slices.Contains(attempts, line):
			attempts = append(attempts, line)
		}
	}
	if len(attempts) == 0 && noTLS != "" {
		attempts = []string{noTLS}
	}
	return strings.TrimSpace(head + " " + strings.Join(attempts, "; "))
}

// unavailableNow wraps err as an error of a store that was opened: whatever the reason, the caller
// may try again.
func unavailableNow(err error) error {
	if err = unavailable(err); !errors.Is(err, task.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", task.ErrUnavailable, err)
	}
	return err
}

// damaged reports whether err is caused by the contents of the database.
func damaged(err error) bool {
	return errors.Is(err, task.ErrCorrupt) || hasCode(err, "XX001") || hasCode(err, "XX002")
}

// broken reports whether the connection has ended, so that another one may succeed.
func broken(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "08")
	}
	return !pgconn.Timeout(err) && !errors.Is(err, cluster.ErrLost)
}
