package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// CopyOptions are the options of Copy. The zero value refuses a file that has lost data.
type CopyOptions struct {
	// AcceptLoss copies a file also if it is known to have had more data; see Examined.Loss.
	AcceptLoss bool
}

// Copy copies the file at from into a new file at to, as of one moment. A hub may use the file
// meanwhile: its writes continue, and its write-ahead log grows until the copy is complete. Like Open,
// Copy refuses a file that is known to have had more data, with a *Loss. It examines the new file and
// returns an error if it is damaged; then and after any other error it removes it. The timeline of the
// copy has a name of its own, because both files continue with different changes. Copy returns
// ErrNoStore if there is no file.
func Copy(ctx context.Context, from, to string, o CopyOptions) (Examined, error) {
	n, err := copyStore(ctx, from, to, &o)
	if err != nil {
		return Examined{}, fmt.Errorf("copy %s: %w", from, errors.Join(err, context.Cause(ctx)))
	}
	return n, nil
}

func copyStore(ctx context.Context, from, to string, o *CopyOptions) (n Examined, err error) {
	source, err := openKnown(from, o.AcceptLoss)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	if to, err = filepath.Abs(to); err != nil {
		return n, err
	}
	f, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite would let others read it
	if err != nil {
		return n, err
	}
	// The incremental copy of SQLite would begin anew after each commit of a hub.
	source.raw.SetInterrupt(ctx.Done())
	err = source.script("VACUUM INTO '" + strings.ReplaceAll(to, "'", "''") + "'")
	var loss *Loss
	if err == nil {
		loss, err = source.adopt(to)
	}
	if err == nil && loss != nil && !o.AcceptLoss {
		err = loss
	}
	if err == nil {
		err = atomicfile.Sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		n, err = examineCopy(ctx, to)
	}
	n.Loss = loss
	if err != nil {
		err = errors.Join(err, os.Remove(to))
	}
	return n, err
}

// adopt gives the timeline of a copy a new name, and returns the loss of its source.
func (r *toRead) adopt(path string) (loss *Loss, err error) {
	c, err := openConn(connOptions{path: path, cache: 1 << 20})
	if err != nil {
		return nil, err
	}
	if loss, err = r.lost(c); err == nil {
		var has int64
		if has, err = c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'timeline_id'"); err == nil && has > 0 {
			err = c.script("UPDATE timeline_id SET name = lower(hex(randomblob(6)))")
		}
	}
	return loss, errors.Join(err, c.close())
}

// examineCopy returns an error for the first problems of a file.
func examineCopy(ctx context.Context, path string) (Examined, error) {
	const most = 3
	var errs []error
	n, err := Examine(ctx, path, func(p Problem) {
		if len(errs) < most {
			errs = append(errs, fmt.Errorf("%w: %s", ErrDamaged, p.Text))
		}
	})
	return n, errors.Join(append(errs, err)...)
}
