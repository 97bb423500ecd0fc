package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/secret/hubkey"
	"github.com/parley-a2a/parley/internal/version"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// auditParts is the audit log of a hub. The zero value has no log.
type auditParts struct {
	log     *audit.Log
	started bool
}

const (
	// AuditName is the folder of the log in a data folder.
	AuditName = "audit"
	// auditFolderName is the file there that contains the path of the log if it is elsewhere;
	// "off" means that there is no log.
	auditFolderName = "audit.place"
)

// AuditFolder returns the folder of the audit log of a data folder; empty if the log is off.
func AuditFolder(data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, auditFolderName))
	switch place := strings.TrimSpace(string(text)); {
	case errors.Is(err, os.ErrNotExist):
		return filepath.Join(data, AuditName), nil
	case err != nil:
		return "", err
	case place == string(audit.Off):
		return "", nil
	default:
		return place, nil
	}
}

// setAuditFolder stores the path of the audit log for commands that do not read the
// configuration.
func (h *Hub) setAuditFolder() error {
	path, place := h.dir.Join(auditFolderName), h.cfg.Audit.Dir
	if h.cfg.Audit.Off() {
		place = string(audit.Off)
	}
	if place == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if text, err := os.ReadFile(path); err == nil && string(text) == place+"\n" {
		return nil
	}
	return atomicfile.Replace(path, []byte(place+"\n"), 0o600)
}

// openAudit opens the audit log, unless it is off.
func (h *Hub) openAudit() error {
	if h.cfg.Conformance {
		return nil
	}
	if err := h.setAuditFolder(); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	if h.cfg.Audit.Off() {
		return nil
	}
	key, err := hubkey.Audit(h.dir.Join(hubkey.FileName))
	if err != nil {
		return err
	}
	o := h.cfg.Audit.Options()
	o.Dir, o.Key, o.Logger = cmp.Or(h.cfg.Audit.Dir, h.dir.Join(AuditName)), key, h.logger
	if h.audit.log, err = audit.Open(o); err != nil {
		return err
	}
	h.opened(h.auditStop)
	return nil
}

// auditStart records the start of the hub and the checksum of its configuration. A hub whose
// disk is full starts nevertheless: it refuses the operations that it cannot record.
func (h *Hub) auditStart() {
	l := h.audit.log
	if l == nil {
		return
	}
	h.audit.started = true
	if h.cfg.File != "" {
		sum := "unknown"
		if text, err := os.ReadFile(h.cfg.File); err == nil {
			digest := sha256.Sum256(text)
			sum = hex.EncodeToString(digest[:])
		}
		l.Note(&audit.Record{
			Actor: theHub, Action: audit.ConfigLoad, Subject: audit.Subject{Kind: "config", ID: filepath.Base(h.cfg.File)},
			Detail: []audit.Field{{Name: "sha256", Value: sum}},
		})
	}
	if h.policy != nil {
		h.audit.policyLoaded(h.cfg.Policy.File, h.policy.Sum(), nil)
	}
	h.auditLosses()
	detail := []audit.Field{{Name: "listen", Value: h.listener.Addr().String()}, {Name: "keys", Value: strconv.FormatBool(h.keys.On())}}
	if h.cfg.HubID != "" {
		detail = append(detail, audit.Field{Name: "hub", Value: h.cfg.HubID})
	}
	err := l.Append(&audit.Record{
		Actor: theHub, Action: audit.HubStart, Subject: audit.Subject{Kind: "hub", ID: version.Version},
		Detail: detail,
	})
	if err != nil {
		h.logger.Error("the start of the hub is not in the audit log", "error", err)
	}
	h.saveAuditHead()
	h.logger.Info("audit log", "head", l.Head().String(), "key", audit.KeyText(l.Key()), "folder", l.Dir())
}

// theHub is the actor of operations that the hub performs without a request.
var theHub = audit.Actor{ID: "hub"}

// auditStop records that the hub has stopped, and closes the log.
func (h *Hub) auditStop() error {
	l := h.audit.log
	if h.audit.started {
		l.Note(&audit.Record{Actor: theHub, Action: audit.HubStop, Subject: audit.Subject{Kind: "hub", ID: version.Version}})
	}
	err := l.Close()
	if h.audit.started {
		h.logger.Info("audit log", "head", l.Head().String())
	}
	return err
}

// checks returns the states of the parts of the hub that the engine does not know.
func (h *Hub) checks() []engine.Check {
	all := append(h.busParts.checks(), h.memberChecks()...)
	all = append(all, h.followedCheck(), h.namesCheck())
	if h.db != nil {
		c := engine.Check{Name: "files", OK: true}
		if err := h.db.Intact(context.Background()); errors.Is(err, sqlitestore.ErrReplaced) {
			c.OK, c.Detail = false, "files of the store were changed by another program; see the log, and restart the hub"
		}
		all = append(all, c)
	}
	return append(append(all, h.databasesCheck()...), h.dataCheck())
}

// refused returns a function that records refused credentials.
func (a *auditParts) refused() func(*auth.Attempt) {
	if a.log == nil {
		return nil
	}
	return func(t *auth.Attempt) {
		s := audit.Subject{}
		if t.Key != "" {
			s = audit.Subject{Kind: "key", ID: t.Key}
		}
		a.log.Refused(&audit.Record{Actor: audit.Actor{From: t.From}, Action: audit.AuthRefused, Subject: s, Reason: t.Reason})
	}
}
