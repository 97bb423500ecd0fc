package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// maxProblems limits the problems of each part of the data folder that are listed.
const maxProblems = 50

// folderAdvice is the advice about a damaged data folder.
const folderAdvice = `restore a backup of the whole folder, or stop the hub and run: parley repair --data %s --out NEW`

// part collects the problems of one part of the data folder.
type part struct {
	name, advice string
	found        []doctor.Finding
	more         int
}

func (p *part) problem(text string) {
	if len(p.found) == maxProblems {
		p.more++
		return
	}
	p.found = append(p.found, doctor.Finding{Level: doctor.Wrong, Subject: p.name, Text: text})
}

// findings returns the problems, with the advice at the last one; without problems, the text of
// a good part.
func (p *part) findings(good string) []doctor.Finding {
	if len(p.found) == 0 {
		return []doctor.Finding{{Level: doctor.OK, Subject: p.name, Text: good}}
	}
	if p.more > 0 {
		p.found = append(p.found, doctor.Finding{Level: doctor.Wrong, Subject: p.name, Text: fmt.Sprintf("%d more problems", p.more)})
	}
	p.found[len(p.found)-1].Advice = p.advice
	return p.found
}

// asUser is the remedy for data that this user may not read.
const asUser = "run the command as the user of the hub, or on a copy of the folder"

// rights returns the findings about the files that a start of the hub refuses. In the folder of another
// user, as which its hub runs, they are unknown.
func rights(cfg *config.Config) (all []doctor.Finding) {
	level, advice := doctor.Wrong, ""
	if foreign(cfg.Data) {
		level, advice = doctor.Unknown, asUser
	}
	for _, err := range server.Unusable(cfg) {
		all = append(all, doctor.Finding{Level: level, Subject: "rights", Text: "the hub cannot start: " + err.Error(), Advice: advice})
	}
	return all
}

// foreign reports whether a file or folder belongs to another user.
func foreign(path string) bool {
	owner, known := datadir.Owner(path)
	return known && owner != os.Geteuid() && os.Geteuid() != 0
}

// databaseHint is the advice about a folder without a store, which the hub of a database has.
const databaseHint = "if the hub keeps its data in PostgreSQL, name the database with --store; otherwise "

// errUnexamined is returned for data that the command could not read. It may be sound.
var errUnexamined = errors.New("the data was not examined")

// examineFolder examines the data folder of a configuration: its store, parts and audit log. The
// error is sqlitestore.ErrNoStore for a folder without a hub's data, and errUnexamined for a store
// that cannot be read.
func examineFolder(ctx context.Context, cfg *config.Config) ([]doctor.Finding, error) {
	if server.OnDatabase(cfg.Store.Home) {
		return examineDatabase(ctx, cfg)
	}
	advice := fmt.Sprintf(folderAdvice, quote(cfg.Data))
	store := part{name: "store", advice: advice}
	file := filepath.Join(cfg.Data, server.StoreName)
	if err := datadir.Usable(file); err != nil && !foreign(file) {
		// SQLite would make the files beside it, with the same rights.
		return []doctor.Finding{unread("store", "", err)}, errUnexamined
	}
	n, err := sqlitestore.Examine(ctx, file, func(p sqlitestore.Problem) { store.problem(p.Text) })
	log := part{name: "audit", advice: advice}
	entries := uint64(0)
	dir, noRights := server.AuditFolder(cfg.Data)
	if noRights == nil && dir != "" {
		noRights = datadir.Readable(dir)
	}
	if noRights == nil {
		entries = server.ExamineAudit(ctx, cfg.Data, log.problem)
	}
	if errors.Is(err, sqlitestore.ErrNoStore) {
		if len(log.found) == 0 {
			return []doctor.Finding{{Level: doctor.Unknown, Subject: "store", Text: fmt.Sprintf("the folder %s has no data of a hub", quote(cfg.Data))}}, err
		}
		store.advice = databaseHint + advice
	}
	all, err := store.examined(err, asUser,
		fmt.Sprintf("%s with %s match their logs, after %s", counted(int(n.Tasks), "task"), entriesText(uint64(n.Entries)), counted(int(n.Commits), "commit")))
	if noRights != nil {
		all, err = append(all, unread("audit", asUser, noRights)), errUnexamined
	} else {
		all = append(all, log.findings(fmt.Sprintf("%d entries form an unbroken chain", entries))...)
	}
	if err == nil {
		all = append(all, restoredLoss(sqlitestore.ReadNote(ctx, file, sqlitestore.LossNote))...)
	}
	parts := part{name: "parts", advice: advice}
	partsDir := cmp.Or(cfg.Parts.Dir, filepath.Join(cfg.Data, server.PartsName))
	if noRights := datadir.Readable(partsDir); noRights != nil {
		return append(all, unread("parts", asUser, noRights)), errUnexamined
	}
	whole, failed := blobstore.Examine(ctx, partsDir, parts.problem)
	if failed != nil {
		parts.problem(failed.Error())
	}
	return append(all, parts.findings(fmt.Sprintf("%d large parts match their digests", whole))...), err
}

// restoredLoss returns the findings about a store that was restored from a backup with a known loss,
// by its note.
func restoredLoss(note []byte, err error) (all []doctor.Finding) {
	if err != nil {
		return []doctor.Finding{{Level: doctor.Unknown, Subject: "store", Text: err.Error()}}
	}
	for line := range strings.Lines(string(note)) {
		all = append(all, doctor.Finding{
			Level: doctor.Weak, Subject: "store", Text: "it was restored from a backup with a known loss: " + strings.TrimSpace(line),
			Advice: "if an earlier backup has the missing data, restore it into another folder and compare them",
		})
	}
	return all
}

// examined returns the findings of a part after its examination has ended with err. If that is no
// evidence of damage, they are one finding with a remedy, and the error is errUnexamined.
func (p *part) examined(err error, remedy, good string) ([]doctor.Finding, error) {
	if unexamined(err) {
		return []doctor.Finding{unread(p.name, remedy, err)}, errUnexamined
	}
	if err != nil {
		p.problem(err.Error())
	}
	return p.findings(good), nil
}

// unexamined reports whether an error is no evidence of damage: the data cannot be read at
// present, or by this version.
func unexamined(err error) bool {
	if errors.Is(err, sqlitestore.ErrDamaged) || errors.Is(err, pgstore.ErrDamaged) {
		return false
	}
	for _, kind := range []error{
		sqlitestore.ErrUnread, sqlitestore.ErrOlder, sqlitestore.ErrNewer, task.ErrUnavailable,
		pgstore.ErrRefused, pgstore.ErrNewer, pgstore.ErrForeign, pgstore.ErrEncoding,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// unread returns the finding for data that was not examined. The advice is for data that cannot be
// reached; the other errors name their remedy.
func unread(subject, advice string, err error) doctor.Finding {
	f := doctor.Finding{Level: doctor.Unknown, Subject: subject, Text: err.Error()}
	for _, reached := range []error{sqlitestore.ErrUnread, task.ErrUnavailable, pgstore.ErrRefused, fs.ErrPermission} {
		if errors.Is(err, reached) {
			f.Advice = advice
		}
	}
	return f
}

// databaseAdvice is the advice about a damaged database.
const databaseAdvice = "restore a backup of the database, or import an export of it"

// examineDatabase examines the database of a configuration, the hubs that share it, and the audit log
// in the data folder.
func examineDatabase(ctx context.Context, cfg *config.Config) ([]doctor.Finding, error) {
	store := part{name: "store", advice: databaseAdvice}
	n, failed := pgstore.Examine(ctx, cfg.Store.Home, store.problem)
	for _, address := range cfg.Store.Others() {
		var more pgstore.Examined
		if failed == nil {
			more, failed = pgstore.Examine(ctx, address, store.problem)
		}
		n.Tasks, n.Entries, n.Parts = n.Tasks+more.Tasks, n.Entries+more.Entries, n.Parts+more.Parts
	}
	all, err := store.examined(failed, "start the database, or correct its address",
		fmt.Sprintf("%s with %s match their logs; %d large parts match their digests", counted(int(n.Tasks), "task"), entriesText(uint64(n.Entries)), n.Parts))
	log := part{name: "audit", advice: fmt.Sprintf("restore a backup of the data folder %s", quote(cfg.Data))}
	entries := server.VerifyAudit(cfg.Data, log.problem)
	all = append(all, log.findings(fmt.Sprintf("%d entries form an unbroken chain", entries))...)
	if failed == nil {
		all = append(all, restoredLoss(pgstore.ReadNote(ctx, cfg.Store.Home, sqlitestore.LossNote))...)
		all = append(all, addressFindings(ctx, cfg)...)
	}
	if failed != nil || cfg.HubID == "" {
		return all, err
	}
	members, err := pgstore.Members(ctx, cfg.Store.Home)
	if err != nil {
		return append(all, doctor.Finding{Level: doctor.Wrong, Subject: "hubs", Text: err.Error()}), nil
	}
	for _, m := range members {
		if m.Config != cfg.Fingerprint() {
			all = append(all, doctor.Finding{
				Level: doctor.Weak, Subject: "hubs", Text: fmt.Sprintf("hub %s (%s) runs with a different configuration", m.ID, m.Version),
				Advice: "give all hubs the same files, and restart them one by one",
			})
		}
	}
	return append(all, doctor.Finding{Level: doctor.OK, Subject: "hubs", Text: fmt.Sprintf("%d hubs use the database", len(members))}), nil
}

// addressFindings returns the findings about a pooler in front of the database.
func addressFindings(ctx context.Context, cfg *config.Config) []doctor.Finding {
	polls, err := pgstore.CheckAddresses(ctx, cfg.Store.Home, cfg.StoreDirect)
	f := doctor.Finding{Subject: "store_direct", Advice: "set store_direct to the address of the database itself"}
	switch {
	case err != nil:
		f.Level, f.Text = doctor.Wrong, err.Error()
	case !polls:
		return nil
	case cfg.HubID == "":
		f.Level, f.Text, f.Advice = doctor.Wrong, "a hub without hub_id does not start behind a pooler", "set hub_id, or "+f.Advice
	default:
		f.Level = doctor.Weak
		f.Text = "a pooler passes no notifications: changes at other hubs show within a second, and a killed hub starts again when its lease has ended"
	}
	return []doctor.Finding{f}
}

// damageOf describes damage of the data of a hub.
func damageOf(cfg *config.Config) string {
	if server.OnDatabase(cfg.Store.Home) {
		return "the database or the audit log is damaged or cannot be read"
	}
	return fmt.Sprintf("the data folder %s is damaged", cfg.Data)
}
