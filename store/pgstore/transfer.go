package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// transferTasks is the number of tasks that one transaction copies or removes.
const transferTasks = 1024

// Transfer copies the tasks of an owner from one shard to another, with all that belongs to them. It belongs to one
// goroutine.
type Transfer struct {
	src, dst *carrier
	scopes   tables.Scopes // in the target
	mapped   map[int64]int64
}

// Transfer begins to copy the tasks of an owner to a target, which has none of them afterwards. Later changes are
// noted for Catch.
func (db *DB) Transfer(ctx context.Context, owner task.Owner, target *DB) (_ *Transfer, err error) {
	t := new(Transfer)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("transfer from %s to %s: %w", db.name, target.name, err), t.Close())
		}
	}()
	if t.src, err = db.carry(ctx, owner); err != nil {
		return nil, err
	}
	if t.dst, err = target.carry(ctx, owner); err != nil {
		return nil, err
	}
	// The first task of an owner may come only after this.
	for _, c := range []*carrier{t.src, t.dst} {
		if err := c.enroll(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.dst.clear(ctx); err != nil {
		return nil, err
	}
	// The target is not swept while it has only some of the tasks.
	if err := t.dst.script(ctx, fmt.Sprintf("INSERT INTO shard_moving VALUES (%d) ON CONFLICT DO NOTHING", t.dst.number)); err != nil {
		return nil, err
	}
	if err := t.src.watch(ctx); err != nil {
		return nil, err
	}
	return t, t.src.script(ctx, fmt.Sprintf("DELETE FROM shard_changes WHERE owner = %d", t.src.number))
}

// Close closes the connections.
func (t *Transfer) Close() error {
	var errs []error
	for _, c := range []*carrier{t.src, t.dst} {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}

// array returns the literal of an array.
func array(keys []int64) string {
	b := []byte("'{")
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, key, 10)
	}
	return string(append(b, "}'::bigint[]"...))
}

// sidecarsOf returns the places of the sidecars of tasks.
func sidecarsOf(keys []int64) (places []int64) {
	for kind := range task.SidecarKinds {
		for _, key := range keys {
			places = append(places, sqlstore.SidecarPlace(kind, task.Key(key)))
		}
	}
	return places
}

// ranges returns a table v with the first and the last place of each task, after those in from.
func ranges(keys []int64, from map[int64]int64) string {
	var b strings.Builder
	b.WriteString("(VALUES ")
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		first := max(sqlstore.Place(task.Key(key), 0), from[key]+1)
		fmt.Fprintf(&b, "(%d::bigint, %d::bigint)", first, sqlstore.Place(task.Key(key), sqlstore.MaxVersion))
	}
	b.WriteString(") v(a, b)")
	return b.String()
}

// removal returns the statements that remove tasks with what belongs to them, but their entries.
func removal(keys []int64) string {
	all := array(keys)
	return "DELETE FROM tasks WHERE key = ANY(" + all + "); DELETE FROM snapshots WHERE task = ANY(" + all + ");" +
		"DELETE FROM requests WHERE task = ANY(" + all + "); DELETE FROM messages WHERE task = ANY(" + all + ");" +
		"DELETE FROM hooks WHERE task = ANY(" + all + "); DELETE FROM dead_letters WHERE task = ANY(" + all + ");" +
		"DELETE FROM task_words WHERE task = ANY(" + all + "); DELETE FROM sidecars WHERE place = ANY(" + array(sidecarsOf(keys)) + ");" +
		"DELETE FROM journal USING " + ranges(keys, nil) + " WHERE place BETWEEN v.a AND v.b;"
}

func removeEntries(keys []int64) string {
	return "DELETE FROM entries USING " + ranges(keys, nil) + " WHERE place BETWEEN v.a AND v.b;"
}

// All copies all tasks, and the contents of their parts.
func (t *Transfer) All(ctx context.Context) error {
	for after := int64(0); ; {
		keys, err := t.src.next(ctx, after)
		if err == nil && len(keys) > 0 {
			err = t.copyTasks(ctx, keys)
		}
		if err != nil {
			return fmt.Errorf("copy tasks after %d: %w", after, err)
		}
		if len(keys) < transferTasks {
			return t.contents(ctx)
		}
		after = keys[len(keys)-1]
	}
}

// Catch copies the tasks that have changed since they were copied, and returns their number.
func (t *Transfer) Catch(ctx context.Context) (n int, err error) {
	keys, err := t.src.numbers64(ctx, fmt.Sprintf(`WITH taken AS (DELETE FROM shard_changes WHERE owner = %d RETURNING task)
	SELECT DISTINCT task FROM taken ORDER BY task`, t.src.number))
	for n = len(keys); err == nil && len(keys) > 0; {
		some := keys[:min(len(keys), transferTasks)]
		keys = keys[len(some):]
		err = t.copyTasks(ctx, some)
	}
	if err != nil {
		return 0, fmt.Errorf("copy changed tasks: %w", err)
	}
	return n, nil
}

// Finish copies the rest while nothing changes.
func (t *Transfer) Finish(ctx context.Context) error {
	if _, err := t.Catch(ctx); err != nil {
		return err
	}
	if err := t.contents(ctx); err != nil {
		return err
	}
	if err := t.dst.script(ctx, "BEGIN"); err != nil {
		return err
	}
	err := t.references(ctx)
	if err == nil {
		err = t.counters(ctx)
	}
	if err == nil {
		err = t.dst.script(ctx, "COMMIT")
	}
	if err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	return nil
}

// rows copies the rows that a statement returns into columns of a table.
func (t *Transfer) rows(ctx context.Context, into, from string) error {
	r, w := io.Pipe()
	var reader sync.WaitGroup
	var unread error
	reader.Go(func() {
		_, unread = t.src.raw.CopyTo(ctx, w, "COPY ("+from+") TO STDOUT (FORMAT binary)")
		_ = w.CloseWithError(unread)
	})
	_, err := t.dst.raw.CopyFrom(ctx, r, "COPY "+into+" FROM STDIN (FORMAT binary)")
	_ = r.CloseWithError(io.ErrClosedPipe)
	reader.Wait()
	if err = errors.Join(unread, err); err != nil {
		return fmt.Errorf("copy into %s: %w", into, err)
	}
	return nil
}

// copyTasks replaces tasks in the target by those in the source. Of their entries, it copies only new ones.
func (t *Transfer) copyTasks(ctx context.Context, keys []int64) error {
	if err := t.src.script(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return err
	}
	if err := t.dst.script(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := t.mapScopes(ctx); err != nil {
		return err
	}
	there, err := t.src.numbers64(ctx, fmt.Sprintf("SELECT key FROM tasks WHERE key = ANY(%s) AND owner = %d", array(keys), t.src.number))
	if err != nil {
		return err
	}
	gone := without(keys, there)
	text := removal(keys)
	if len(gone) > 0 {
		text += removeEntries(gone)
	}
	if err := t.dst.script(ctx, text); err != nil {
		return err
	}
	if len(there) > 0 {
		if err := t.copyRows(ctx, there); err != nil {
			return err
		}
	}
	if err := t.dst.script(ctx, "COMMIT"); err != nil {
		return err
	}
	return t.src.script(ctx, "COMMIT")
}

// without returns the keys that some do not contain.
func without(keys, some []int64) (left []int64) {
	have := make(map[int64]bool, len(some))
	for _, key := range some {
		have[key] = true
	}
	for _, key := range keys {
		if !have[key] {
			left = append(left, key)
		}
	}
	return left
}

// mapScopes finds or makes the scopes of the owner in the target.
func (t *Transfer) mapScopes(ctx context.Context) error {
	result := t.src.raw.ExecParams(ctx, fmt.Sprintf("SELECT id, agent FROM scopes WHERE owner = %d", t.src.number), nil, nil, nil, formats[:1]).Read()
	if result.Err != nil {
		return result.Err
	}
	if t.mapped == nil {
		t.mapped = make(map[int64]int64)
	}
	for _, row := range result.Rows {
		s := stmt{conn: t.src.conn, row: row, at: -1}
		id, agent := s.Int(), s.Text()
		if s.err != nil {
			return s.err
		}
		if t.mapped[id] != 0 {
			continue
		}
		scope, err := t.scopes.Number(t.dst.conn, t.src.owner, task.Agent(agent))
		if err != nil {
			return err
		}
		t.mapped[id] = scope.ID
	}
	return nil
}

// scope returns the expression of the number in the target of a scope in the source. It is NULL, which no table takes,
// for one that mapScopes does not know.
func (t *Transfer) scope(column string) string {
	b := []byte("CASE " + column)
	for from, to := range t.mapped {
		b = fmt.Appendf(b, " WHEN %d THEN %d::bigint", from, to)
	}
	return string(append(b, " END"...))
}

// copyRows copies the rows of tasks.
func (t *Transfer) copyRows(ctx context.Context, keys []int64) error {
	have, err := t.dst.numbers64(ctx, "SELECT e.place FROM "+ranges(keys, nil)+
		" CROSS JOIN LATERAL (SELECT place FROM entries WHERE place BETWEEN v.a AND v.b ORDER BY place DESC LIMIT 1) e")
	if err != nil {
		return err
	}
	newest := make(map[int64]int64, len(have))
	for _, place := range have {
		newest[int64(sqlstore.KeyAt(place))] = place
	}
	all, to := array(keys), strconv.FormatInt(t.dst.number, 10)
	mark := func(owner int64) string { return strconv.FormatInt(owner, 36) }
	if err := t.dst.script(ctx, "CREATE TEMP TABLE IF NOT EXISTS moved_requests (LIKE "+schemaName+".requests) ON COMMIT DELETE ROWS"); err != nil {
		return err
	}
	for _, c := range [...]struct{ into, from string }{
		{"entries (place, data)", "SELECT e.place, e.data FROM " + ranges(keys, newest) +
			" CROSS JOIN LATERAL (SELECT place, data FROM entries WHERE place BETWEEN v.a AND v.b) e"},
		{
			"tasks (key, owner, scope, status_at, ended, rev, version, updated_at, epoch, shown, state, due, dispatch, id, context, holder, rest)",
			"SELECT key, " + to + "::bigint, " + t.scope("scope") + ", status_at, ended, rev, version, updated_at, epoch, shown, state, due, dispatch, id, context, holder, rest FROM tasks WHERE key = ANY(" + all + ")",
		},
		{"snapshots (task, version, data)", "SELECT task, version, data FROM snapshots WHERE task = ANY(" + all + ")"},
		{"journal (place, data)", "SELECT j.place, j.data FROM " + ranges(keys, nil) +
			" CROSS JOIN LATERAL (SELECT place, data FROM journal WHERE place BETWEEN v.a AND v.b) j"},
		{"sidecars (place, parent, data)", "SELECT place, parent, data FROM sidecars WHERE place = ANY(" + array(sidecarsOf(keys)) + ")"},
		{
			"moved_requests (scope, key, fingerprint, task, version, at)",
			"SELECT " + t.scope("scope") + ", key, fingerprint, task, version, at FROM requests WHERE task = ANY(" + all + ")",
		},
		{"messages (owner, id, task)", "SELECT " + to + "::bigint, id, task FROM messages WHERE task = ANY(" + all + ")"},
		{
			"hooks (task, id, url, dialect, scheme, secret, created_at, delivered, settled)",
			"SELECT task, id, url, dialect, scheme, secret, created_at, delivered, settled FROM hooks WHERE task = ANY(" + all + ")",
		},
		{
			"dead_letters (task, hook, first, last, at, attempts, reason)",
			"SELECT task, hook, first, last, at, attempts, reason FROM dead_letters WHERE task = ANY(" + all + ")",
		},
		// The words end with the number of the owner.
		{"task_words (task, words)", "SELECT task, (SELECT array_to_tsvector(coalesce(array_agg(regexp_replace(w, '·" + mark(t.src.number) + "$', '·" + mark(t.dst.number) +
			"')), '{}')) FROM unnest(tsvector_to_array(words)) w) FROM task_words WHERE task = ANY(" + all + ")"},
	} {
		if err := t.rows(ctx, c.into, c.from); err != nil {
			return err
		}
	}
	// A key that has expired may belong to a later task.
	return t.dst.script(ctx, `INSERT INTO requests SELECT * FROM moved_requests
	ON CONFLICT (scope, key) DO UPDATE SET fingerprint = excluded.fingerprint, task = excluded.task, version = excluded.version, at = excluded.at`)
}

// bytea returns the literal of bytes.
func bytea(s string) string { return fmt.Sprintf(`'\x%x'::bytea`, s) }

func (c *carrier) space() string {
	return blobstore.NameOf(blobstore.Key{Owner: c.owner}, blobstore.Digest{}).Space
}

var (
	qContentsIn = prepared("SELECT id, digest, size, chunk FROM part_contents WHERE space = $1 AND id > $2 ORDER BY id LIMIT 1")
	qHasContent = prepared("SELECT count(*) FROM part_contents WHERE space = $1 AND digest = $2")
)

// contents copies the contents of parts that the target does not have.
func (t *Transfer) contents(ctx context.Context) error {
	for after := int64(0); ; {
		id, err := t.content(ctx, after)
		if err != nil {
			return fmt.Errorf("copy parts: %w", err)
		}
		if id == 0 {
			return nil
		}
		after = id
	}
}

// content copies the first content after an id, and returns its id; zero if there is none.
func (t *Transfer) content(ctx context.Context, after int64) (int64, error) {
	if err := t.src.run(qBegin); err != nil {
		return 0, err
	}
	s := t.src.start(qContentsIn)
	s.text(t.src.space())
	s.int(after)
	if !s.next() {
		return 0, errors.Join(s.err, t.src.run(qCommit))
	}
	id, digest, size, chunk := s.Int(), s.Blob(), s.Int(), s.Int()
	s = t.dst.start(qHasContent)
	s.text(t.src.space())
	s.blob(digest)
	if n, err := s.only(); err != nil || n > 0 {
		return id, errors.Join(err, t.src.run(qCommit))
	}
	if err := t.dst.run(qBeginNow); err != nil {
		return 0, err
	}
	s = t.dst.start(qNextContent)
	next, err := s.only()
	if err != nil {
		return 0, err
	}
	if err := t.rows(ctx, "part_chunks (content, n, crc, data)", fmt.Sprintf("SELECT %d::bigint, n, crc, data FROM part_chunks WHERE content = %d", next, id)); err != nil {
		return 0, err
	}
	s = t.dst.start(qAddContent)
	s.int(next)
	s.text(t.src.space())
	s.blob(digest)
	s.int(size)
	s.int(chunk)
	if err := s.done(); err != nil {
		return 0, err
	}
	return id, errors.Join(t.dst.run(qCommit), t.src.run(qCommit))
}

// references copies the references to parts, in a transaction of the target.
func (t *Transfer) references(ctx context.Context) error {
	const columns = "owner, task, digest, space, size, media, filename, keep, stored, pending, holders, held_at"
	owner := bytea(string(t.src.owner))
	if err := t.dst.script(ctx, "DELETE FROM part_refs WHERE owner = "+owner); err != nil {
		return err
	}
	return t.rows(ctx, "part_refs ("+columns+")", "SELECT "+columns+" FROM part_refs WHERE owner = "+owner)
}

// counters copies the numbers of tasks, in a transaction of the target.
func (t *Transfer) counters(ctx context.Context) error {
	if err := t.mapScopes(ctx); err != nil {
		return err
	}
	if err := t.dst.script(ctx, fmt.Sprintf("DELETE FROM counters WHERE scope IN (SELECT id FROM scopes WHERE owner = %d)", t.dst.number)); err != nil {
		return err
	}
	if len(t.mapped) == 0 {
		return nil
	}
	return t.rows(ctx, "counters (scope, state, n, slot)", "SELECT "+t.scope("scope")+", state, sum(n)::bigint, 0::smallint FROM counters WHERE scope = ANY("+
		array(slices.Collect(maps.Keys(t.mapped)))+") GROUP BY scope, state")
}
