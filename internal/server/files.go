package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/store/pgstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// openFile opens the file of the store. It refuses a file that has less than the folder knows,
// unless losses are accepted.
func (h *Hub) openFile(ctx context.Context) error {
	path := h.dir.Join(StoreName)
	if err := h.lockTarget(path); err != nil {
		return err
	}
	if err := h.lose(h.knownByAudit(ctx, path)); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	db, err := sqlitestore.Open(path, sqlitestore.Options{
		Committed: committed, KeepMoments: h.cfg.Events.Keep, AcceptLoss: h.acceptLoss,
		Damaged:  h.damaged,
		Replaced: func(err error) { h.logger.Error("the store accepts no more writes; restart the hub", "error", err) },
	})
	if err != nil {
		return err
	}
	h.db, h.stores, h.storeName = db, inFile(db), path
	h.logLoss(ctx)
	h.opened(db.Close)
	if loss := db.Loss(); loss != nil {
		h.losses = append(h.losses, loss)
	}
	if err := h.lose(h.lostAudit(ctx)); err != nil {
		return fmt.Errorf("open audit log %s: %w", h.audit.log.Dir(), err)
	}
	h.opened(func() error { h.saveAuditHead(); return nil })
	for _, l := range h.losses {
		h.logger.Error("data of this folder is missing; the loss was accepted", "folder", h.dir.Path(), "error", l)
	}
	return nil
}

// lockTarget locks the folder to which path links, so that two hubs cannot use one file through
// links.
func (h *Hub) lockTarget(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // there is no file yet
	}
	folder := filepath.Dir(real)
	if here, err := filepath.EvalSymlinks(h.dir.Path()); err != nil || here == folder {
		return err
	}
	d, err := datadir.Open(folder)
	if err != nil {
		return fmt.Errorf("%s is a link: %w", path, err)
	}
	h.opened(d.Close)
	return nil
}

// lose records a loss if losses are accepted; otherwise it returns it. A nil loss is none.
func (h *Hub) lose(l *sqlitestore.Loss) error {
	switch {
	case l == nil:
		return nil
	case !h.acceptLoss:
		return l
	}
	h.losses = append(h.losses, l)
	return nil
}

// knownByAudit returns the loss of a store that is missing or empty, and has no mark, although
// the audit log in the folder has entries of an earlier hub.
func (h *Hub) knownByAudit(ctx context.Context, path string) *sqlitestore.Loss {
	l := h.audit.log
	if info, err := os.Stat(path); l == nil || h.cfg.Audit.Dir != "" || err == nil && info.Size() > 0 {
		return nil
	}
	if _, err := os.Stat(path + sqlitestore.MarkSuffix); err == nil {
		return nil // the store itself knows more
	}
	at := earlierHub(ctx, l.Dir())
	if at.IsZero() {
		return nil // the log is new or damaged, which it reports itself
	}
	return &sqlitestore.Loss{
		Reason: fmt.Sprintf("the file is missing or empty, but the audit log has %d entries since %s",
			l.Head().Seq, at.UTC().Format("2006-01-02")),
	}
}

// auditHeadName is the name of the note with the last known entry of the audit log.
const auditHeadName = "audit.head"

// auditHead is the last known entry of an audit log. The store has it, so that a log that was
// removed is found.
type auditHead struct {
	Log string `json:"log"`
	Seq uint64 `json:"seq"`
	// Dir is the configured folder, empty for that in the data folder.
	Dir string `json:"dir,omitempty"`
}

// saveAuditHead stores the last entry of the audit log that is on disk. A failure leaves an
// earlier one.
func (h *Hub) saveAuditHead() {
	l := h.audit.log
	if l == nil {
		return
	}
	text, err := json.Marshal(auditHead{Log: l.ID(), Seq: l.Head().Seq, Dir: h.cfg.Audit.Dir})
	if err == nil {
		err = h.stores.agents.PutNote(context.Background(), auditHeadName, text)
	}
	if err != nil {
		h.logger.Debug("the head of the audit log was not stored", "error", err)
	}
}

// lostAudit compares the audit log with the entry that the store knows.
func (h *Hub) lostAudit(ctx context.Context) *sqlitestore.Loss {
	l := h.audit.log
	if l == nil {
		return nil
	}
	text, err := h.stores.agents.Note(ctx, auditHeadName)
	var known auditHead
	if err != nil || json.Unmarshal(text, &known) != nil || known.Dir != h.cfg.Audit.Dir {
		return nil
	}
	switch have := l.Head().Seq; {
	case known.Log != l.ID():
		return &sqlitestore.Loss{Reason: fmt.Sprintf("the audit log was removed or replaced: the store knows the log %s with %d entries", known.Log, known.Seq)}
	case known.Seq > have:
		return &sqlitestore.Loss{Reason: fmt.Sprintf("the audit log ends with entry %d, and the store knows entry %d", have, known.Seq)}
	}
	return nil
}

func (h *Hub) auditLosses() {
	for _, l := range h.losses {
		r := &audit.Record{
			Actor: theHub, Action: audit.StoreLoss, Subject: audit.Subject{Kind: "store", ID: StoreName}, Reason: l.Reason,
		}
		if l.Known > 0 {
			r.Detail = []audit.Field{{Name: "known", Value: strconv.FormatInt(l.Known, 10)}, {Name: "found", Value: strconv.FormatInt(l.Found, 10)}}
		}
		if err := h.audit.log.Append(r); err != nil {
			h.logger.Error("the accepted loss is not in the audit log", "error", err)
		}
	}
}

// logLoss logs the loss that a store has from its backup. A store that cannot be read fails later.
func (h *Hub) logLoss(ctx context.Context) {
	note, _ := h.stores.agents.Note(ctx, sqlitestore.LossNote)
	for line := range strings.Lines(string(note)) {
		h.logger.Warn("data of this store is missing: it was restored from a backup with a known loss", "store", h.storeName, "loss", strings.TrimSpace(line))
	}
}

// damaged logs and counts a read or write that has met damaged data.
func (h *Hub) damaged(d sqlitestore.Damage) {
	trace.Count(context.Background(), trace.Damaged, trace.Labels{}, 1)
	if d.First {
		h.logger.Error("stored data is damaged; examine the folder with: parley doctor --data", "task", d.Task, "error", d.Err)
	}
}

// pagesTime bounds the examination of pages after a start. It is enough for some 8 GiB.
const pagesTime = time.Minute

// checkPages examines the pages of the store once the hub is ready. Damage is logged, and is in
// the check of the data.
func (h *Hub) checkPages(ctx context.Context) error {
	began, running := time.Now(), ctx
	ctx, cancel := context.WithTimeoutCause(ctx, pagesTime, fmt.Errorf("not completed in %v", pagesTime))
	defer cancel()
	err := h.db.CheckPages(ctx)
	switch {
	case err == nil:
		h.logger.Debug("the pages of the store are intact", "took", time.Since(began))
	case errors.Is(err, sqlitestore.ErrDamaged), running.Err() != nil:
	default:
		h.logger.Warn("the pages of the store were not all examined; examine the folder with: parley doctor --data", "error", err)
	}
	return nil
}

// damagedDatabase is damaged for a database.
func (h *Hub) damagedDatabase(d pgstore.Damage) {
	trace.Count(context.Background(), trace.Damaged, trace.Labels{}, 1)
	if d.First {
		h.logger.Error("data in the database is damaged; restore a backup of it", "error", d.Err)
	}
}

// dataCheck reports whether the store has met damaged data since the start.
func (h *Hub) dataCheck() engine.Check {
	c := engine.Check{Name: "data", OK: true}
	n, advice := h.stores.damages(), "examine the folder with: parley doctor --data"
	if h.db == nil {
		advice = "restore a backup of the database"
	}
	if n > 0 {
		c.OK, c.Detail = false, fmt.Sprintf("stored data is damaged (%d objects so far); see the log, and %s", n, advice)
	}
	return c
}

// spoolName is the folder of large requests in the data folder.
const spoolName = "incoming"

// openSpool empties the folder of large requests, where a killed hub may have left a file.
func (h *Hub) openSpool() error {
	dir := h.dir.Join(spoolName)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return fmt.Errorf("empty the folder of large requests: %w", err)
	}
	return nil
}
