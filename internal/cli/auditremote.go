package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// auditSource selects the log: that of a running hub, or that in a data folder.
type auditSource struct {
	auditFlags
	hubFlags
}

// remote reports whether to ask the hub: no data folder is named, and a hub is, or there is no data folder here.
func (s *auditSource) remote(o *OS) bool {
	if s.Data != "" {
		return false
	}
	_, err := os.Stat(defaultData)
	return s.URL != cmp.Or(o.home, defaultURL) || err != nil
}

const auditPath = adminapi.Root + "/audit"

// auditPageSize is the number of entries in a page of the hub.
const auditPageSize = 1000

// entries returns the entries of the hub's log that a query selects.
func (s *auditSource) entries(ctx context.Context, q *audit.Query) iter.Seq2[*audit.Line, error] {
	v := given(map[string]string{
		"actor": q.Actor, "action": q.Action, "task": q.Task, "agent": q.Agent, "since": instant(q.Since), "until": instant(q.Until),
		"limit": strconv.Itoa(auditPageSize),
	})
	raw := pages(ctx, &s.hubFlags, auditPath+"?"+v.Encode(), func(p *adminapi.AuditPage) ([]json.RawMessage, string) {
		if p.Next == 0 {
			return p.Entries, ""
		}
		return p.Entries, nextPage("after", strconv.FormatUint(p.Next, 10))
	})
	return func(yield func(*audit.Line, error) bool) {
		for entry, err := range raw {
			line := new(audit.Line)
			if err == nil {
				line.Raw = append(*entry, '\n')
				err = json.Unmarshal(*entry, &line.Entry)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// instant returns a time for a query, and "" for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// verifyRemote lets the hub verify its log with its own key, and prints the report.
func (c *auditVerifyCmd) verifyRemote(ctx context.Context, o *OS) error {
	var rep adminjson.AuditReport
	if err := c.ask(ctx, "GET "+auditPath+"/verify", nil, &rep); err != nil {
		return err
	}
	if err := c.printRemote(o, &rep); err != nil {
		return err
	}
	if n := len(rep.Problems); n > 0 {
		return fmt.Errorf("the audit log is not as the hub wrote it: %s", counted(n, "problem"))
	}
	return nil
}

func (c *auditVerifyCmd) printRemote(o *OS, rep *adminjson.AuditReport) error {
	if c.data() {
		return c.encode(o.Stdout, rep)
	}
	_, err := fmt.Fprintf(o.Stdout, "%skey %s\n", verdictText("", c.URL, rep), printable(rep.Key))
	return err
}
