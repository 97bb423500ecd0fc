package tables

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/agents/queue"
)

// Letters is the store of dead letters. See [NewLetters].
type Letters struct{ db DB }

var (
	_ queue.LetterStore   = Letters{}
	_ queue.LetterCounter = Letters{}
)

// NewLetters returns the dead letters in db.
func NewLetters(db DB) Letters { return Letters{db} }

const letterColumns = "id, queue, reason, at, type, source, task, owner, size"

// letterFields returns the fields for letterColumns.
func letterFields(l *queue.Letter) []any {
	return []any{&l.ID, &l.Queue, &l.Reason, &l.At, &l.Type, &l.Source, &l.Task, &l.Owner, &l.Size}
}

func wholeLetter(l *queue.Letter) []any { return append(letterFields(l), &l.Envelope) }

var (
	qPutLetter = prepared("INSERT INTO letters (" + letterColumns + `, envelope)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`)
	qDead = prepared("SELECT " + letterColumns + ` FROM letters WHERE seq < $1
	AND ($2 = '' OR queue = $2) AND ($3 = '' OR task = $3) ORDER BY seq DESC LIMIT $4`)
	qLetter     = prepared("SELECT " + letterColumns + ", envelope FROM letters WHERE id = $1")
	qLetterSeq  = prepared("SELECT seq FROM letters WHERE id = $1")
	qDropLetter = prepared("DELETE FROM letters WHERE id = $1")

	qCountLetters = prepared("SELECT count(*) FROM letters")

	qSweepLetters = prepared(`DELETE FROM letters WHERE at < $1 OR seq IN (SELECT seq FROM (
		SELECT seq, count(*) OVER newest AS n, sum(size) OVER newest AS bytes FROM letters
		WINDOW newest AS (ORDER BY seq DESC)) sized WHERE n > $2 OR bytes > $3)`)
)

// PutLetter implements queue.LetterArchive.
func (b Letters) PutLetter(ctx context.Context, l *queue.Letter) error {
	// The writer may run after the caller has returned.
	if err := exec(ctx, b.db, qPutLetter, wholeLetter(l.Clone())...); err != nil {
		return fmt.Errorf("put letter %s: %w", l.ID, err)
	}
	return nil
}

// Letters implements queue.LetterArchive.
func (b Letters) Letters(ctx context.Context, q *queue.LetterQuery) ([]queue.Letter, error) {
	var all []queue.Letter
	missing := false
	err := b.db.Read(ctx, func(c Conn) (err error) {
		before := int64(maxSeq)
		if q.After != "" {
			var found bool
			before, found, err = one(c, scanInt, qLetterSeq, q.After)
			if missing = !found; err != nil || missing {
				return err
			}
		}
		all, err = rows(c, fields(letterFields), qDead, before, q.Queue, q.Task, q.Limit)
		return err
	})
	if err == nil && missing {
		err = fmt.Errorf("after %s: %w", q.After, queue.ErrNoLetter)
	}
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return all, nil
}

// Letter implements queue.LetterArchive.
func (b Letters) Letter(ctx context.Context, id queue.LetterID) (*queue.Letter, error) {
	all, err := list(ctx, b.db, fields(wholeLetter), qLetter, id)
	if err == nil && len(all) == 0 {
		err = queue.ErrNoLetter
	}
	if err != nil {
		return nil, fmt.Errorf("letter %s: %w", id, err)
	}
	return &all[0], nil
}

// DropLetter implements queue.LetterDropper.
func (b Letters) DropLetter(ctx context.Context, id queue.LetterID) error {
	n, err := change(ctx, b.db, qDropLetter, id)
	if err == nil && n == 0 {
		err = queue.ErrNoLetter
	}
	if err != nil {
		return fmt.Errorf("drop letter %s: %w", id, err)
	}
	return nil
}

// SweepLetters implements queue.LetterDropper.
func (b Letters) SweepLetters(ctx context.Context, bounds queue.LetterBounds) (int, error) {
	n, err := change(ctx, b.db, qSweepLetters, bounds.Before, bounds.Letters, bounds.Bytes)
	if err != nil {
		return 0, fmt.Errorf("sweep letters: %w", err)
	}
	return n, nil
}

// CountLetters implements queue.LetterCounter.
func (b Letters) CountLetters(ctx context.Context) (int, error) {
	n, err := list(ctx, b.db, scanInt, qCountLetters)
	if err != nil {
		return 0, fmt.Errorf("count letters: %w", err)
	}
	return int(n[0]), nil
}
