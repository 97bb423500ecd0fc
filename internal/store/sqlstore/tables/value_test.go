package tables

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
)

// values are all types of values.
type values struct {
	name task.Owner
	n    int
	key  task.Key
	raw  task.Millis
	blob []byte
	long string
	at   time.Time
}

func (v *values) fields() []any {
	return []any{&v.name, &v.n, &v.key, &v.raw, &v.blob, bytesOf{&v.long}, &v.at}
}

// memoryRow is a row of values as a database returns them.
type memoryRow struct{ left []any }

func (r *memoryRow) next() any {
	v := r.left[0]
	r.left = r.left[1:]
	return v
}

func (r *memoryRow) Int() int64   { return r.next().(int64) }
func (r *memoryRow) Text() string { return r.next().(string) }
func (r *memoryRow) Blob() []byte { return r.next().([]byte) }

// TestValues: each value is read as it was bound, and an empty text is not NULL.
func TestValues(t *testing.T) {
	t.Parallel()
	full := values{"ann", -1, 7, 8, []byte{0, 1}, "long", time.UnixMilli(1_790_000_000_001).UTC()}
	for _, want := range []values{full, {}, {blob: []byte{}}} {
		var row memoryRow
		for _, v := range want.fields() {
			row.left = append(row.left, Plain(v))
		}
		if text, ok := row.left[5].([]byte); !ok || text == nil {
			t.Errorf("the text %q is bound as %v, want bytes", want.long, row.left[5])
		}
		var got values
		scan(&row, got.fields()...)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(values{})); diff != "" {
			t.Errorf("values read (-want +got):\n%s", diff)
		}
	}
	for _, v := range []any{"a", task.Owner("a"), &full.long} {
		if _, ok := Plain(v).(string); !ok {
			t.Errorf("Plain(%T) = %T, want string", v, Plain(v))
		}
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	const text = "SELECT a FROM t /*sqlite INDEXED BY i */ WHERE b = $1 OR $12 = $1"
	if got, want := SQLite(text), "SELECT a FROM t  INDEXED BY i  WHERE b = ?1 OR ?12 = ?1"; got != want {
		t.Errorf("SQLite(%s) = %s, want %s", text, got, want)
	}
	for q := range All() {
		if got := q.SQLite(); got != SQLite(q.PostgreSQL()) {
			t.Errorf("statement %d for SQLite is %s", q, got)
		}
	}
}

// TestTopics: statements that change what other hubs keep in memory have a topic, and no other one
// has. A hub whose own record of an agent changes notifies no other.
func TestTopics(t *testing.T) {
	t.Parallel()
	want := map[Query]string{
		qPutItem: cluster.TopicInbox, qSettleItem: cluster.TopicInbox, qSweepItems: cluster.TopicInbox,
		qPutRecord: cluster.TopicAgents, qDropRecord: cluster.TopicAgents, qPutKey: cluster.TopicKeys,
		qPutTrust: cluster.TopicTrust, qAddContacts: cluster.TopicTrust,
	}
	for q := range All() {
		if q.Topic() != want[q] {
			t.Errorf("%s\nhas topic %q, want %q", q.PostgreSQL(), q.Topic(), want[q])
		}
	}
}
