package cli

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

type auditExportCmd struct {
	auditFlags
	auditFilter
	Format string `help:"jsonl, the unchanged lines, which can be verified; or csv." enum:"jsonl,csv" default:"jsonl"`
	Out    string `help:"The file to write, with a manifest beside it; without it, standard output." placeholder:"FILE"`
}

// manifest describes an exported file.
type manifest struct {
	File   string `json:"file"`
	Format string `json:"format"`
	SHA256 string `json:"sha256"`
	Log    string `json:"log"`
	Key    string `json:"key"`
	// Entries is the number of entries from First to Last; Prev is the hash of the entry
	// before.
	Entries uint64     `json:"entries"`
	First   uint64     `json:"first"`
	Prev    audit.Hash `json:"prev"`
	Last    audit.Mark `json:"last"`
}

func (c *auditExportCmd) Run(ctx context.Context, o *OS) error {
	q, err := c.query(time.Now())
	if err != nil {
		return err
	}
	dir, err := c.folder()
	if err != nil {
		return err
	}
	rep, err := audit.Verify(dir, audit.Check{})
	if err != nil {
		return err
	}
	if len(rep.Problems) > 0 {
		fmt.Fprintf(o.Stderr, "the audit log is not as the hub wrote it: %s; check it with: parley audit verify\n", printable(rep.Problems[0].String()))
	}
	return o.interruptible(ctx, func(in interrupts) error {
		if c.Out == "" {
			_, err := c.write(in.soft, o.Stdout, exported{dir, q})
			return err
		}
		return c.toFile(in.soft, exported{dir, q}, rep)
	})
}

// exported selects the entries to export.
type exported struct {
	dir string
	q   audit.Query
}

// toFile creates a file that does not exist yet, and its manifest.
func (c *auditExportCmd) toFile(ctx context.Context, from exported, rep *audit.Report) error {
	f, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	m, err := c.write(ctx, io.MultiWriter(f, sum), from)
	if err = errors.Join(err, atomicfile.Sync(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(c.Out))
	}
	m.File, m.Format, m.SHA256, m.Log, m.Key = c.Out, c.Format, hex.EncodeToString(sum.Sum(nil)), rep.Log, rep.Key
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(c.Out+".manifest.json", append(text, '\n'), 0o600)
}

// csvColumns are the columns of csv.
var csvColumns = []string{
	"seq", "at", "actor", "owner", "auth", "from", "action", "kind", "id", "agent", "task", "outcome", "reason", "trace", "detail", "prev", "hash",
}

// write writes the entries.
func (c *auditExportCmd) write(ctx context.Context, w io.Writer, from exported) (*manifest, error) {
	m := new(manifest)
	table := csv.NewWriter(w)
	if c.Format == "csv" {
		if err := table.Write(csvColumns); err != nil {
			return nil, err
		}
	}
	for line, err := range audit.Read(ctx, from.dir, from.q, 0) {
		if err != nil {
			return nil, err
		}
		if m.Entries++; m.Entries == 1 {
			m.First, m.Prev = line.Seq, line.Prev
		}
		m.Last = audit.Mark{Seq: line.Seq, Hash: line.Hash}
		if c.Format == "csv" {
			err = table.Write(cells(&line.Entry))
		} else {
			_, err = w.Write(line.Raw)
		}
		if err != nil {
			return nil, err
		}
	}
	table.Flush()
	return m, table.Error()
}

// cells returns an entry as a row of csv.
func cells(e *audit.Entry) []string {
	var detail []string
	for name, value := range e.Detail {
		detail = append(detail, name+"="+value)
	}
	slices.Sort(detail)
	row := []string{
		strconv.FormatUint(e.Seq, 10), e.At.Format(time.RFC3339Nano), e.Actor.ID, e.Actor.Owner, e.Actor.Auth, e.Actor.From, string(e.Action),
		e.Subject.Kind, e.Subject.ID, e.Subject.Agent, e.Subject.Task, string(e.Outcome), e.Reason, e.Trace, strings.Join(detail, " "),
		e.Prev.String(), e.Hash.String(),
	}
	for i, cell := range row {
		// A spreadsheet would evaluate such a text as a formula (OWASP, CSV injection).
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			row[i] = "'" + cell
		}
	}
	return row
}
