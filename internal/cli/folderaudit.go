package cli

import (
	"errors"
	"log/slog"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/secret/hubkey"
	"github.com/parley-a2a/parley/internal/server"
)

// folderAudit records changes of an operator to the data of a hub that does not run.
type folderAudit struct{ log *audit.Log }

// openFolderAudit opens the audit log of a data folder that this process has locked.
func openFolderAudit(data string) (*folderAudit, error) {
	place, err := server.AuditFolder(data)
	if err != nil || place == "" {
		return &folderAudit{}, err
	}
	key, err := hubkey.Audit(filepath.Join(data, hubkey.FileName))
	if err != nil {
		return nil, err
	}
	log, err := audit.Open(audit.Options{Dir: place, Key: key, Level: audit.Changes, Logger: slog.New(slog.DiscardHandler)})
	return &folderAudit{log}, err
}

// do makes a change. It records the attempt before and the result after it.
func (f *folderAudit) do(r *audit.Record, change func(r *audit.Record) error) error {
	if f.log == nil {
		return change(r)
	}
	r.Actor = audit.Actor{ID: "operator", Auth: "folder"}
	if u, err := user.Current(); err == nil {
		r.Detail = append(r.Detail, audit.Field{Name: "user", Value: u.Username})
	}
	asked := *r
	asked.Outcome = audit.Asked
	p, err := f.log.Begin(&asked)
	if err = errors.Join(err, p.Wait()); err != nil {
		return err
	}
	changed := change(r)
	if r.Outcome = audit.OK; changed != nil {
		r.Outcome = audit.Failed
	}
	r.Detail = append(r.Detail, audit.Field{Name: "asked", Value: strconv.FormatUint(p.Seq, 10)})
	return errors.Join(changed, f.log.Append(r))
}

func (f *folderAudit) close() error {
	if f.log == nil {
		return nil
	}
	return f.log.Close()
}
