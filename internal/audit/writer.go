package audit

import (
	"strconv"
	"time"
)

// write is the writer goroutine: it ends after the log is closed and everything is written.
func (l *Log) write() {
	tidy := time.NewTicker(tidyEvery)
	defer tidy.Stop()
	for {
		select {
		case <-l.wake:
		case <-l.note:
			l.gather()
		case <-tidy.C:
			l.tidy()
		case <-l.quit:
			for l.commit() {
			}
			return
		}
		l.commit()
	}
}

// gather waits a moment for further entries, unless a caller waits for one.
func (l *Log) gather() {
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.wake:
	case <-l.quit:
	}
}

// tidy adds the entries that are due by time.
func (l *Log) tidy() {
	now := time.Now()
	if now.Sub(l.planned) >= planEvery {
		l.planned, l.plan = now, l.disk.outdated(&l.o, now)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.plan.remove) > 0 && !l.closed {
		l.pruneLocked()
	}
	l.tally.flushLocked(l, now)
	if (l.lost > 0 || l.trouble != nil) && !l.closed { // so that the write is retried
		l.reportLostLocked()
	}
	if l.unsaid > 0 && now.Sub(l.signed) >= signEvery && l.trouble == nil && !l.closed {
		l.signLocked()
	}
}

// commit writes the waiting entries. It reports whether it wrote any.
func (l *Log) commit() bool {
	b := l.take()
	if b == nil {
		return false
	}
	if err := l.disk.store(b); err != nil {
		l.fail(b, unwritable(err))
		return false
	}
	l.succeed(b)
	close(b.done)
	if b.rotate {
		l.plan = l.disk.outdated(&l.o, time.Now())
	}
	return true
}

// take returns the current batch and starts another one; nil if it is empty.
func (l *Log) take() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.batch
	if b.n == 0 {
		return nil
	}
	if l.unsaid >= signEntries && !l.closed {
		l.signLocked()
	}
	l.fresh = false
	if len(l.plan.remove) > 0 && !l.closed {
		l.pruneLocked()
	}
	if l.disk.size+int64(len(b.buf)) >= l.o.SegmentSize && !l.closed {
		l.signLocked()
		b.rotate, l.fresh = true, true
	}
	l.newBatchLocked()
	return b
}

// pruneLocked adds the entry for the removal of old segments to the batch.
func (l *Log) pruneLocked() {
	begin := l.plan.begin
	l.addLocked(&Record{
		Actor: itself, Action: auditPruned, Subject: Subject{Kind: "audit", ID: l.id},
		Detail: []Field{{"first", strconv.FormatUint(begin.seq, 10)}, {"prev", begin.prev.String()}, {"segments", strconv.Itoa(len(l.plan.remove))}},
	})
	l.batch.remove, l.batch.seal = l.plan.remove, true
	l.plan = plan{}
}

// succeed records that a batch is on disk.
func (l *Log) succeed(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.spare = b.last, b.buf
	if cap(l.spare) > maxBatch {
		l.spare = nil
	}
	b.buf = nil
	if l.trouble != nil && l.o.Logger != nil {
		l.o.Logger.Info("the audit log is written again", "lost", l.lost)
	}
	l.trouble = nil
	if l.lost == 0 {
		l.since = time.Time{}
	}
	if l.lost > 0 && !l.closed {
		l.reportLostLocked()
		l.wake.Send()
	}
}

// reportLostLocked adds an entry with the number of lost entries.
func (l *Log) reportLostLocked() {
	l.addLocked(&Record{
		Actor: itself, Action: auditLost, Subject: Subject{Kind: "audit", ID: l.id}, Outcome: Failed,
		Detail: []Field{{"entries", strconv.FormatUint(l.lost, 10)}, {"since", l.since.UTC().Format(timeForm)}},
	})
	l.batch.lost, l.lost = l.batch.lost+l.lost, 0
	l.batch.seal = true
}

// fail drops a batch that could not be written, and the next one, whose chain depends on it.
func (l *Log) fail(b *batch, err error) {
	l.mu.Lock()
	next := l.batch
	l.loseLocked(b.asked + next.asked + int(b.lost+next.lost))
	if l.trouble == nil && l.o.Logger != nil {
		l.o.Logger.Error("the audit log cannot be written", "error", err)
	}
	l.trouble = err
	l.place = position{l.head.Seq + 1, l.head.Hash}
	l.fresh = l.disk.size == 0
	l.newBatchLocked()
	l.mu.Unlock()
	for _, failed := range []*batch{b, next} {
		failed.err = err
		close(failed.done)
	}
}
