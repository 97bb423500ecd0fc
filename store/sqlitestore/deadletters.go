package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/agent/queue"
	"github.com/parley-a2a/parley/task"
)

// Letters is the store of dead letters in a file.
type Letters struct{ db *DB }

var (
	_ queue.LetterStore   = Letters{}
	_ queue.LetterCounter = Letters{}
)

// Letters returns the store of dead letters in the file.
func (db *DB) Letters() Letters { return Letters{db} }

const letterColumns = "id, queue, reason, at, type, source, task, owner, size"

var (
	qPutLetter = prepared("INSERT INTO letters (" + letterColumns + `, envelope)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING`)
	qDead       = prepared("SELECT " + letterColumns + " FROM letters WHERE seq < ?1 ORDER BY seq DESC")
	qLetter     = prepared("SELECT " + letterColumns + ", envelope FROM letters WHERE id = ?1")
	qLetterSeq  = prepared("SELECT seq FROM letters WHERE id = ?1")
	qDropLetter = prepared("DELETE FROM letters WHERE id = ?1")

	qCountLetters = prepared("SELECT count(*) FROM letters")

	qSweepLetters = prepared(`DELETE FROM letters WHERE at < ?1 OR seq IN (SELECT seq FROM (
		SELECT seq, count(*) OVER newest AS n, sum(size) OVER newest AS bytes FROM letters
		WINDOW newest AS (ORDER BY seq DESC)) WHERE n > ?2 OR bytes > ?3)`)
)

func (s *stmt) getLetter() queue.Letter {
	return queue.Letter{
		ID: queue.LetterID(s.getText()), Queue: s.getText(), Reason: s.getText(), At: s.getTime(), Type: s.getText(),
		Source: s.getText(), Task: s.getText(), Owner: task.Owner(s.getText()), Size: int(s.getInt()),
	}
}

// PutLetter implements queue.LetterArchive.
func (b Letters) PutLetter(ctx context.Context, l *queue.Letter) error {
	row := l.Clone() // the writer may run after the caller has returned
	err := b.db.write(ctx, func(w *writer) error {
		s := w.conn.start(qPutLetter)
		s.text(string(row.ID))
		s.text(row.Queue)
		s.text(row.Reason)
		s.time(row.At)
		for _, text := range []string{row.Type, row.Source, row.Task, string(row.Owner)} {
			s.text(text)
		}
		s.int(int64(row.Size))
		s.blob(row.Envelope)
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("put letter %s: %w", l.ID, err)
	}
	return nil
}

// Letters implements queue.LetterArchive.
func (b Letters) Letters(ctx context.Context, q *queue.LetterQuery) ([]queue.Letter, error) {
	var all []queue.Letter
	err := b.db.read(ctx, func(c *conn) error {
		before, err := c.letterSeq(q.After)
		if err != nil {
			return err
		}
		s := c.start(qDead)
		s.int(before)
		for len(all) < q.Limit && s.next() {
			l := s.getLetter()
			if (q.Queue == "" || q.Queue == l.Queue) && (q.Task == "" || q.Task == l.Task) {
				all = append(all, l)
			}
		}
		s.close()
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return all, nil
}

// letterSeq returns the row number of a letter; for the empty id, a number above all.
func (c *conn) letterSeq(id queue.LetterID) (int64, error) {
	if id == "" {
		return maxSeq, nil
	}
	s := c.start(qLetterSeq)
	s.text(string(id))
	if !s.next() {
		if s.err == nil {
			s.err = fmt.Errorf("after %s: %w", id, queue.ErrNoLetter)
		}
		return 0, s.err
	}
	seq := s.getInt()
	s.close()
	return seq, s.err
}

// Letter implements queue.LetterArchive.
func (b Letters) Letter(ctx context.Context, id queue.LetterID) (*queue.Letter, error) {
	var found *queue.Letter
	err := b.db.read(ctx, func(c *conn) error {
		s := c.start(qLetter)
		s.text(string(id))
		if s.next() {
			l := s.getLetter()
			l.Envelope, found = s.getBlob(), &l
			s.close()
		}
		return s.err
	})
	if err == nil && found == nil {
		err = queue.ErrNoLetter
	}
	if err != nil {
		return nil, fmt.Errorf("letter %s: %w", id, err)
	}
	return found, nil
}

// DropLetter implements queue.LetterDropper.
func (b Letters) DropLetter(ctx context.Context, id queue.LetterID) error {
	n, err := writeValue(ctx, b.db, func(w *writer) (int, error) {
		s := w.conn.start(qDropLetter)
		s.text(string(id))
		return s.changed()
	})
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
	n, err := writeValue(ctx, b.db, func(w *writer) (int, error) {
		s := w.conn.start(qSweepLetters)
		s.time(bounds.Before)
		s.int(int64(bounds.Letters))
		s.int(int64(bounds.Bytes))
		return s.changed()
	})
	if err != nil {
		return 0, fmt.Errorf("sweep letters: %w", err)
	}
	return n, nil
}

// CountLetters implements queue.LetterCounter.
func (b Letters) CountLetters(ctx context.Context) (int, error) {
	var n int64
	err := b.db.view(ctx, func(c *conn) (err error) {
		s := c.start(qCountLetters)
		n, err = s.only()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count letters: %w", err)
	}
	return int(n), nil
}
