package cli

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/file/textfile"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/secret/hubkey"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/store/pgstore"
)

type auditVerifyCmd struct {
	auditSource
	Path  []string `arg:"" optional:"" help:"Copies of the folders of logs, their files, or data folders of several hubs, instead of --data."`
	Store string   `help:"Report the hubs of this PostgreSQL database whose logs are not among those verified." placeholder:"URL"`
	Head  []string `help:"A head that the log must contain, as the hub logged it. May be repeated." placeholder:"N:HASH"`
	Key   string   `help:"A file with the public key of the hub, as the hub has logged it: ed25519:…. Without it, the key in the data folder is used, or else the one that the log names." placeholder:"FILE"`
	format
}

type verifiedLog struct {
	Path string `json:"path"`
	// Hub is the id of the hub that wrote the log.
	Hub string `json:"hub,omitempty"`
	*audit.Report
}

func (c *auditVerifyCmd) Run(ctx context.Context, o *OS) error {
	if len(c.Path) == 0 && c.remote(o) {
		if len(c.Head) > 0 || c.Key != "" || c.Store != "" {
			return usagef("--head, --key and --store need the log itself: name its folder with --data, or a copy of it")
		}
		return c.verifyRemote(ctx, o)
	}
	if len(c.Path) > 1 && (len(c.Head) > 0 || c.Key != "") {
		return usagef("--head and --key apply to a single log: verify one log at a time")
	}
	if c.Store != "" && !server.OnDatabase(c.Store) {
		return usagef("--store: give the address of the hubs' database, such as postgres://user@host/name")
	}
	paths := c.Path
	if len(paths) == 0 {
		paths = []string{""}
	}
	problems, hubs := 0, make(map[string]bool)
	for _, path := range paths {
		log, err := c.verify(ctx, path)
		if err != nil {
			return err
		}
		if err := c.print(o, log); err != nil {
			return err
		}
		problems += len(log.Problems)
		hubs[log.Hub] = true
	}
	missing, err := c.missing(ctx, hubs)
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("the audit log is not as the hub wrote it: %s", counted(problems, "problem"))
	}
	if len(missing) > 0 {
		return fmt.Errorf("the audit logs of these hubs of the database were not given: %s", strings.Join(missing, ", "))
	}
	return nil
}

// missing returns the ids of the hubs of the database that have not written one of the logs.
func (c *auditVerifyCmd) missing(ctx context.Context, hubs map[string]bool) (ids []string, err error) {
	if c.Store == "" {
		return nil, nil
	}
	members, err := pgstore.Members(ctx, c.Store)
	for _, m := range slices.DeleteFunc(members, func(m cluster.Member) bool { return hubs[m.ID] }) {
		ids = append(ids, m.ID)
	}
	return ids, err
}

// verify verifies the log at a path, or that of the flags. A folder with the key of a hub is a data
// folder.
func (c *auditVerifyCmd) verify(ctx context.Context, path string) (*verifiedLog, error) {
	data := path
	if path == "" {
		data = cmp.Or(c.Data, defaultData)
	} else if _, err := os.Stat(filepath.Join(path, hubkey.FileName)); err != nil {
		data = ""
	}
	if data != "" {
		var err error
		if path, err = (&auditFlags{Data: data}).folder(); err != nil {
			return nil, err
		}
	}
	check, err := c.check(data)
	if err != nil {
		return nil, err
	}
	rep, err := audit.Verify(path, check)
	if err != nil {
		return nil, err
	}
	return &verifiedLog{Path: path, Hub: writerOf(ctx, path), Report: rep}, nil
}

// writerOf returns the id of the hub that wrote a log; empty if it has none, or if the log cannot be
// read, which Verify reports.
func writerOf(ctx context.Context, path string) (id string) {
	for line, err := range audit.Read(ctx, audit.Folder(path), audit.Query{Action: string(audit.HubStart)}, 0) {
		if err != nil {
			break
		}
		id = cmp.Or(line.Detail["hub"], id)
	}
	return id
}

// check returns the heads and the key against which the log of a data folder is verified; data is
// empty for a copy.
func (c *auditVerifyCmd) check(data string) (check audit.Check, err error) {
	for _, text := range c.Head {
		m, err := audit.ParseMark(text)
		if err != nil {
			return check, usagef("--head: %w", err)
		}
		check.Heads = append(check.Heads, m)
	}
	if c.Key != "" {
		text, err := textfile.Read(c.Key)
		if err != nil {
			return check, usagef("--key: %w", err)
		}
		if check.Key, err = audit.ParseKey(string(text)); err != nil {
			return check, usagef("--key: %s: %w", c.Key, err)
		}
		return check, nil
	}
	if data == "" {
		return check, nil
	}
	own := filepath.Join(data, hubkey.FileName)
	if f, err := os.Open(own); err == nil { // the file may be unreadable for this user
		key, err := hubkey.Audit(own)
		if err = errors.Join(err, f.Close()); err != nil {
			return check, err
		}
		check.Key = key.Public().(ed25519.PublicKey)
	}
	return check, nil
}

func (c *auditVerifyCmd) print(o *OS, rep *verifiedLog) error {
	if c.data() {
		return c.encode(o.Stdout, rep)
	}
	by := ""
	if rep.Hub != "" {
		by = "hub " + printable(rep.Hub) + ": "
	}
	_, err := fmt.Fprintf(o.Stdout, "%shead %s\nkey %s\n", verdictText(by, rep.Path, adminapi.AuditReport(rep.Report)), rep.Last, printable(rep.Key))
	return err
}

// verdictText describes the verified log at a path or an address; by is before each line.
func verdictText(by, at string, rep *adminjson.AuditReport) string {
	var b strings.Builder
	for _, problem := range rep.Problems {
		fmt.Fprintln(&b, by+printable(problem))
	}
	for _, note := range rep.Notes {
		fmt.Fprintln(&b, by+"note: "+printable(note))
	}
	verdict := "sound"
	if len(rep.Problems) > 0 {
		verdict = "NOT SOUND"
	}
	fmt.Fprintf(&b, "%s%s: %s: %s in %s, %d to %d, signed up to %d\n", by, printable(at), verdict, entriesText(rep.Entries), counted(rep.Files, "file"), rep.First, rep.Last, rep.Signed)
	return b.String()
}
