package tables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/tasktext"
)

// WordIndex reads and searches the texts of tasks in the way of a database.
type WordIndex interface {
	// Entries returns a page of the entries of a task; see task.Log.Read.
	Entries(c Conn, key task.Key, after int64) ([]task.Entry, error)
	// Damaged reports whether an error of a connection is caused by stored data.
	Damaged(err error) bool
	// AllOf returns an expression of the index for tasks with all words, or with words that begin so.
	AllOf(words []string, begin bool) string
}

// endOfWord separates a word from the mark of its owner. It is no letter, and no ASCII.
const endOfWord = "·"

// mark returns the end of all words of an owner.
func mark(owner int64) string { return endOfWord + strconv.FormatInt(owner, 36) }

const (
	// fewMissing is the number of moments that the index may be behind without a notice.
	fewMissing = 1024
	// maxRead is the number of pages of entries that are read of one task.
	maxRead = 16
	// skew bounds the time between the moment of a task and its commit.
	skew = 60_000
)

// indexed is how far the index has come. See the schema.
type indexed struct{ seq, seen, at, key, building int64 }

func (x *indexed) fields() []any { return []any{&x.seq, &x.seen, &x.at, &x.key, &x.building} }

var (
	qIndexed    = prepared("SELECT seq, seen, at, key, building FROM text_index WHERE one = 1")
	qSetIndexed = prepared(`UPDATE text_index SET seq = $1, seen = $2, at = $3, key = $4, building = $5
	WHERE one = 1 AND seq = $6 AND at = $7 AND key = $8 AND building = $9`)

	qEndedFrom = prepared(`SELECT ended, key FROM tasks
	WHERE ended > 0 AND ended >= $1 AND NOT (ended = $1 AND key <= $2) ORDER BY ended, key LIMIT $3`)

	// A task may have been deleted since its words were read.
	qSetTaskWords = prepared(`INSERT /*sqlite OR REPLACE*/ INTO task_words (/*sqlite rowid*/ /*postgres{*/ task /*}*/, words)
	SELECT $1, /*sqlite $2*/ /*postgres{*/ array_to_tsvector(string_to_array(convert_from($2, 'UTF8'), ' ')) /*}*/
	WHERE EXISTS (SELECT 1 FROM tasks WHERE key = $1)
	/*postgres{*/ ON CONFLICT (task) DO UPDATE SET words = excluded.words /*}*/`)

	// OFFSET 0 keeps the planner of PostgreSQL to this order: the words, the newest tasks first, and each task
	// by its key, up to the limit.
	qByWords = prepared("SELECT " + HeadColumns + ` FROM
	/*sqlite task_words w CROSS JOIN tasks t ON t.key = w.rowid WHERE task_words MATCH $1 AND w.rowid < $2*/
	/*postgres{*/ (SELECT task FROM task_words WHERE words @@ convert_from($1, 'UTF8')::tsquery AND task < $2 ORDER BY task DESC OFFSET 0) w
	CROSS JOIN LATERAL (SELECT * FROM tasks WHERE key = w.task OFFSET 0) t WHERE true /*}*/
	AND t.shown = 0 AND ($3 = 0 OR t.owner = $3) AND ($4 = 0 OR t.state = $4)
	AND ($5 = 0 OR t.context = $9) AND t.status_at >= $6 AND t.status_at < $7
	AND ($8 = '' OR (SELECT s.agent FROM scopes s WHERE s.id = t.scope) = $8)
	ORDER BY /*sqlite w.rowid*/ /*postgres{*/ w.task /*}*/ DESC LIMIT $10`)
)

// ListText lists the tasks with all words of q.Text. The page ends after messages of most bytes.
func (t Tasks) ListText(c Conn, q *task.Query, most int) (page task.ListPage, err error) {
	var owner int64
	begin := endOfWord
	if !q.AllOwners {
		if owner, err = c.Names().Owner(c, q.Owner); owner == 0 || err != nil {
			return page, err
		}
		begin = mark(owner)
	}
	words := tasktext.Words(q.Text)
	if len(words) == 0 {
		return page, nil
	}
	for i := range words {
		words[i] += begin
	}
	before, key := q.After.At, q.After.Key
	if before == 0 {
		before = math.MaxInt64
	}
	if key == 0 {
		key = math.MaxInt64
	}
	found, more, err := firstHeads(c, pageSize{bytes: most}, qByWords, t.DB.AllOf(words, q.AllOwners), int64(key),
		owner, int64(q.State), len(q.ContextID), int64(q.Since), int64(before), string(q.Agent), ID{Value: q.ContextID}, q.Limit+1)
	if err != nil {
		return page, err
	}
	page.Heads, page.More = found[:min(len(found), q.Limit)], more || len(found) > q.Limit
	at, err := readIndexed(c)
	if err != nil {
		return page, err
	}
	last, err := LastMoment(c)
	page.Partial = at.building != 0 || last-at.seq > fewMissing
	return page, err
}

func readIndexed(c Conn) (x indexed, err error) {
	x, found, err := one(c, fields((*indexed).fields), qIndexed)
	if err == nil && !found {
		err = fmt.Errorf("the state of the index of texts is missing: %w", task.ErrCorrupt)
	}
	return x, err
}

// newWords are the words of a task.
type newWords struct {
	key   task.Key
	words string
}

// errPassedOver ends a transaction that has met the damaged data of a task. The other tasks are indexed without it;
// readers of the task report the damage.
var errPassedOver = errors.New("the data of a task is damaged")

// IndexTexts implements task.Texts. It passes over tasks whose data is damaged.
func (t Tasks) IndexTexts(ctx context.Context, limit int) (more bool, err error) {
	if limit <= 0 {
		return false, fmt.Errorf("index texts: limit %d must be positive", limit)
	}
	var old, now indexed
	var found []newWords
	damaged := make(map[task.Key]bool)
	for {
		err = t.DB.View(ctx, func(c Conn) (err error) {
			if old, err = readIndexed(c); err != nil {
				return err
			}
			now, found = old, nil
			var heads []task.Head
			if heads, more, err = t.unindexed(c, &now, limit); err != nil {
				return err
			}
			for i := range heads {
				key := heads[i].Key
				if damaged[key] {
					continue
				}
				words, err := t.wordsOf(c, &heads[i])
				if err != nil && t.DB.Damaged(err) {
					damaged[key] = true
					return errPassedOver
				}
				if err != nil {
					return fmt.Errorf("task %d: %w", key, err)
				}
				found = append(found, newWords{key, words})
			}
			return nil
		})
		if !errors.Is(err, errPassedOver) {
			break
		}
	}
	if err == nil && now != old {
		err = t.DB.Write(ctx, func(c Conn) error { return setWords(c, old, now, found) })
	}
	if err != nil {
		return false, fmt.Errorf("index texts: %w", err)
	}
	return more, nil
}

// setWords stores the words of tasks, unless another call has done so.
func setWords(c Conn, old, now indexed, found []newWords) error {
	n, err := c.Changed(qSetIndexed, now.seq, now.seen, now.at, now.key, now.building, old.seq, old.at, old.key, old.building)
	if err != nil || n == 0 {
		return err
	}
	for i := range found {
		if err := c.Exec(qSetTaskWords, found[i].key, found[i].words); err != nil {
			return err
		}
	}
	return nil
}

// unindexed returns the next tasks to index, and moves x behind them.
func (t Tasks) unindexed(c Conn, x *indexed, limit int) (all []task.Head, more bool, err error) {
	var page task.TimelinePage
	if err := t.timeline(c, &page, x.seq, limit); err != nil {
		return nil, false, err
	}
	if page.Newest < x.seq { // of a store that was restored
		x.seq, x.seen = 0, 0
		return nil, true, nil
	}
	if page.Oldest > x.seq+1 && x.building == 0 {
		x.building, x.at, x.key = 1, max(x.seen-skew, 0), 0
	}
	known := make(map[task.Key]bool)
	for i := range page.Moments {
		m := &page.Moments[i]
		h := &m.Head
		x.seq = m.Seq
		if m.First == 1 {
			x.seen = max(x.seen, int64(h.CreatedAt))
		}
		rests := h.State.Terminal() || h.State.Interrupted()
		if h.Key != 0 && h.Visibility != task.Replied && !known[h.Key] && (rests || m.First == 1) {
			known[h.Key] = true
			all = append(all, *h)
		}
	}
	if len(page.Moments) == limit || x.building == 0 {
		return all, len(page.Moments) == limit, nil
	}
	older, err := t.older(c, x, limit)
	for i := range older {
		if h := &older[i]; h.Visibility != task.Replied && !known[h.Key] {
			all = append(all, *h)
		}
	}
	return all, x.building != 0, err
}

// older returns the next tasks in the order of their ends.
func (t Tasks) older(c Conn, x *indexed, limit int) ([]task.Head, error) {
	var keys []int64
	err := eachRow(c, qEndedFrom, []any{x.at, x.key, limit}, func(row Row) error {
		x.at, x.key = row.Int(), row.Int()
		keys = append(keys, x.key)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(keys) < limit {
		x.building = 0
	}
	return t.DB.Heads(c, keys)
}

// wordsOf returns the words of a task as the index holds them, separated by spaces.
func (t Tasks) wordsOf(c Conn, h *task.Head) (string, error) {
	owner, err := c.Names().Owner(c, h.Owner)
	if err != nil {
		return "", err
	}
	var text tasktext.Text
	text.Content(h.StatusMessage)
	for after, pages := int64(0), 0; after < h.Version && pages < maxRead && !text.Full(); pages++ {
		page, err := t.DB.Entries(c, h.Key, after)
		if err != nil {
			return "", err
		}
		if len(page) == 0 {
			break // deleted
		}
		for i := range page {
			text.Add(&page[i])
		}
		after = page[len(page)-1].Version
	}
	words := text.Words()
	for i := range words {
		words[i] += mark(owner)
	}
	return strings.Join(words, " "), nil
}
