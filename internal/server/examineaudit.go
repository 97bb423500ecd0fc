package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// earlierHub returns the time of the first start of a hub that an audit log has; zero if it has
// none. A log that cannot be read has none.
func earlierHub(ctx context.Context, dir string) time.Time {
	for line, err := range audit.Read(ctx, dir, audit.Query{Action: string(audit.HubStart)}, 0) {
		if err != nil {
			break
		}
		return line.At
	}
	return time.Time{}
}

// ExamineAudit verifies the audit log of a data folder, and compares it with the store there. It
// reports the problems, and returns the number of entries. It changes nothing, and a hub may use
// the folder meanwhile. A log that is off has no problems.
func ExamineAudit(ctx context.Context, data string, report func(string)) (entries uint64) {
	dir, err := AuditFolder(data)
	if err != nil {
		report(err.Error())
	}
	if dir == "" {
		return 0
	}
	store := filepath.Join(data, StoreName)
	// The store is read first: a running hub adds entries meanwhile.
	var known auditHead
	text, err := sqlitestore.ReadNote(ctx, store, auditHeadName)
	noted := err == nil && json.Unmarshal(text, &known) == nil
	rep, err := verifyAudit(dir, report)
	if err != nil {
		if noted {
			report(fmt.Sprintf("the audit log was removed: the store knows %d entries: %v", known.Seq, err))
		}
		return 0
	}
	if noted && outrun(&known, rep, dir, data) {
		report(fmt.Sprintf("the store knows entry %d of the audit log %s, and the log %s ends with entry %d", known.Seq, known.Log, rep.Log, rep.Last.Seq))
	}
	if _, err := os.Stat(store); errors.Is(err, os.ErrNotExist) {
		if at := earlierHub(ctx, dir); !at.IsZero() {
			report(fmt.Sprintf("the store is missing, and the audit log has %d entries since %s", rep.Entries, at.UTC().Format("2006-01-02")))
		}
	}
	return rep.Entries
}

// outrun reports whether the store of a data folder knows more than its audit log has.
func outrun(known *auditHead, rep *audit.Report, dir, data string) bool {
	return (known.Log != rep.Log || known.Seq > rep.Last.Seq) && filepath.Dir(dir) == filepath.Clean(data) && known.Dir == ""
}

// AuditLoss describes the entries that the audit log of a data folder is known to have had and has no
// more, as [ExamineAudit] finds them; empty if nothing is missing.
func AuditLoss(ctx context.Context, data string) string {
	dir, err := AuditFolder(data)
	if err != nil || dir == "" {
		return ""
	}
	var known auditHead
	text, err := sqlitestore.ReadNote(ctx, filepath.Join(data, StoreName), auditHeadName)
	if err != nil || json.Unmarshal(text, &known) != nil {
		return "" // the store is new, or others report its damage
	}
	rep, err := audit.Verify(dir, audit.Check{})
	switch {
	case errors.Is(err, os.ErrNotExist) && known.Dir == "":
		return fmt.Sprintf("the audit log was removed: the store knows %d entries", known.Seq)
	case err == nil && outrun(&known, rep, dir, data):
		return fmt.Sprintf("the store knows entry %d of the audit log %s, and the log %s ends with entry %d", known.Seq, known.Log, rep.Log, rep.Last.Seq)
	}
	return ""
}

// VerifyAudit verifies the audit log of a data folder whose hub has its store elsewhere. It reports the
// problems, and returns the number of entries. A log that is off has no problems.
func VerifyAudit(data string, report func(string)) (entries uint64) {
	dir, err := AuditFolder(data)
	if err != nil {
		report(err.Error())
	}
	if dir == "" {
		return 0
	}
	rep, err := verifyAudit(dir, report)
	if err != nil {
		return 0 // there is none yet
	}
	return rep.Entries
}

func verifyAudit(dir string, report func(string)) (*audit.Report, error) {
	rep, err := audit.Verify(dir, audit.Check{})
	if err != nil {
		return nil, err
	}
	for i := range rep.Problems {
		report(rep.Problems[i].String())
	}
	return rep, nil
}
