package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/audit"
)

// hooksView is the page of webhooks.
type hooksView struct {
	Hooks []hookView
	// Dead is set if the page lists webhooks with dead letters alone.
	Dead        bool
	Next, Error string
}

// showHooks answers with the page of webhooks.
func showHooks(p *page) error { return p.showHooks(http.StatusOK, "") }

func (p *page) showHooks(code int, trouble string) error {
	v := hooksView{Dead: p.r.FormValue("dead") != "", Error: trouble}
	dead := ""
	if v.Dead {
		dead = "true"
	}
	var answer struct {
		Webhooks      []hookView
		NextPageToken string
	}
	if err := p.get("/api/v1/push?"+query("dead", dead, "pageToken", p.r.FormValue("page")), &answer); err != nil {
		return err
	}
	v.Hooks, v.Next = answer.Webhooks, answer.NextPageToken
	for i := range v.Hooks {
		v.Hooks[i].Owner = p.other(v.Hooks[i].Owner)
	}
	p.show(code, "webhooks", v)
	return nil
}

// redeliver sends a webhook its dead letters again.
func redeliver(p *page) error {
	path := "/api/v1/push/" + segment(p.r.PostFormValue("id")) + "/redeliver"
	err := p.do(http.MethodPost, path, map[string]any{"config": p.r.PostFormValue("config")}, nil)
	return p.back(err, (*page).showHooks, Root+"webhooks?"+query("dead", p.r.PostFormValue("dead")))
}

// back shows the page of a list after a change, with the error of the change if there is one.
func (p *page) back(err error, show func(*page, int, string) error, to string) error {
	if refused := mistake(err); refused != nil {
		return show(p, refused.Code, refused.Message)
	}
	if err == nil {
		p.hub.see(p.w, p.r, to)
	}
	return err
}

// busView is the page of queues.
type busView struct {
	// Bus is nil for a hub without one.
	Bus *struct {
		Kind, Address, Reason string
		Connected             bool
		Since                 *time.Time
		Queues                []queueView
	}
	Find string
}

// showQueues answers with the page of queues, those with the most waiting tasks first.
func showQueues(p *page) error {
	if !p.caller.Admin {
		return &refusal{Code: http.StatusForbidden, Message: "Queues are shown to administrators only."}
	}
	v := busView{Find: strings.TrimSpace(p.r.FormValue("find"))}
	if err := p.get("/api/v1/status", &v); err != nil {
		return err
	}
	if b := v.Bus; b != nil {
		b.Queues = slices.DeleteFunc(b.Queues, func(q queueView) bool { return !strings.Contains(q.Agent, v.Find) })
		slices.SortStableFunc(b.Queues, func(x, y queueView) int { return cmp.Compare(y.Waiting, x.Waiting) })
	}
	p.show(http.StatusOK, "queues", v)
	return nil
}

// letterView is a dead letter of the bus.
type letterView struct {
	ID, Queue, Reason, Type, Source, Task, Owner string
	At                                           time.Time
	Size                                         int
}

// deadLetters is the page of dead letters.
type deadLetters struct {
	Letters []letterView
	Queue   string
	Next    string
	// NoBus is the reason why the hub has no letters.
	NoBus, Error string
}

// showDead answers with the page of dead letters.
func showDead(p *page) error { return p.showDead(http.StatusOK, "") }

func (p *page) showDead(code int, trouble string) error {
	v := deadLetters{Queue: strings.TrimSpace(p.r.FormValue("queue")), Error: trouble}
	var answer struct {
		Letters       []letterView
		NextPageToken string
	}
	err := p.get("/api/v1/dead?"+query("queue", v.Queue, "pageToken", p.r.FormValue("page")), &answer)
	if refused := refusedBy(err); refused != nil && (refused.Code == http.StatusNotFound || refused.Code == http.StatusBadRequest) {
		v.NoBus = refused.Message
	} else if err != nil {
		return err
	}
	v.Letters, v.Next = answer.Letters, answer.NextPageToken
	for i := range v.Letters {
		v.Letters[i].Owner = p.other(v.Letters[i].Owner)
	}
	p.show(code, "dead", v)
	return nil
}

// settleLetter publishes dead letters again, or deletes one.
func settleLetter(p *page) error {
	path := "/api/v1/dead/" + segment(p.r.PostFormValue("id"))
	var err error
	switch p.r.PostFormValue("verb") {
	case "replay":
		err = p.replay(p.r.PostForm["id"])
	case "drop":
		err = p.do(http.MethodDelete, path, nil, nil)
	default:
		return p.showDead(http.StatusBadRequest, "Choose to replay or to drop the letter.")
	}
	return p.back(err, (*page).showDead, Root+"dead?"+query("queue", p.r.PostFormValue("queue")))
}

// replay publishes dead letters again. Those that another operator has settled meanwhile are left out of
// several, and the first other error ends it.
func (p *page) replay(ids []string) error {
	for i, id := range ids {
		err := p.do(http.MethodPost, "/api/v1/dead/"+segment(id)+"/replay", struct{}{}, nil)
		refused := refusedBy(err)
		switch {
		case err == nil || refused != nil && refused.Code == http.StatusNotFound && len(ids) > 1:
		case refused != nil && i > 0:
			return &refusal{Code: refused.Code, Message: fmt.Sprintf("%d of %d letters were replayed: %s", i, len(ids), refused.Message)}
		default:
			return err
		}
	}
	return nil
}

// auditEntry is an entry of the audit log on a page.
type auditEntry struct {
	Seq   uint64
	At    time.Time
	Actor struct {
		ID, From string
	}
	Subject struct {
		Kind, ID, Agent, Task string
	}
	Action, Outcome, Reason string
	Detail                  map[string]string
	// Folded are the earlier reads of the same person, the newest first.
	Folded []*auditEntry `json:"-"`
}

// auditView is the page of the audit log.
type auditView struct {
	Filter     filter
	Entries    []*auditEntry
	Next, From uint64
	Earlier    bool
	Error      string
	Report     *adminjson.AuditReport
}

// auditFields are the fields of the form for the audit log.
var auditFields = []string{"actor", "action", "task", "agent", "since", "until"}

// auditLast is how many entries a page shows without a filter, from the end of the log.
const auditLast = 100

// showAudit answers with the page of the audit log.
func showAudit(p *page) error { return p.showAudit(http.StatusOK, nil) }

func (p *page) showAudit(code int, report *adminjson.AuditReport) error {
	v, after := auditView{Filter: p.filterOf(auditFields), Report: report}, strings.TrimSpace(p.r.FormValue("after"))
	if after == "" && v.Filter.Query() == "" {
		head, err := p.auditPage(query("limit", 1))
		if err != nil {
			return err
		}
		if head.Head.Seq > auditLast {
			after = strconv.FormatUint(head.Head.Seq-auditLast, 10)
		}
	}
	answer, err := p.auditPage(v.Filter.ask("after", after, "limit", auditLast))
	if refused := refusedBy(err); refused != nil && refused.Code == http.StatusBadRequest {
		v.Error = refused.Message
	} else if err != nil {
		return err
	}
	v.Next = answer.Next
	var all []*auditEntry
	for _, line := range slices.Backward(answer.Entries) {
		if e := new(auditEntry); json.Unmarshal(line, e) == nil {
			all = append(all, e)
		}
	}
	if n := len(all); n > 0 && all[n-1].Seq > 1 {
		v.Earlier, v.From = true, max(all[n-1].Seq, auditLast+1)-auditLast-1
	}
	v.Entries = foldReads(all)
	p.show(code, "audit", v)
	return nil
}

// auditReads are the actions that only read.
var auditReads = []string{string(audit.TaskInspect), string(audit.AuditExport)}

// foldReads returns entries, the newest first, with the repeated reads of each person folded into their newest one.
// Entries of other kinds keep their place between the reads.
func foldReads(all []*auditEntry) (rows []*auditEntry) {
	latest := make(map[string]*auditEntry)
	for _, e := range all {
		if !slices.Contains(auditReads, e.Action) || e.Outcome != "ok" && e.Outcome != "asked" {
			clear(latest)
			rows = append(rows, e)
			continue
		}
		k := e.Action + "\x00" + e.Actor.ID
		if first := latest[k]; first != nil {
			first.Folded = append(first.Folded, e)
			continue
		}
		latest[k] = e
		rows = append(rows, e)
	}
	return rows
}

// Reads are the folded entries with an outcome.
func (e *auditEntry) Reads() (all []*auditEntry) {
	for _, f := range e.Folded {
		if f.Outcome != "asked" {
			all = append(all, f)
		}
	}
	return all
}

// auditAnswer is a page of /api/v1/audit.
type auditAnswer struct {
	Entries []json.RawMessage
	Next    uint64
	Head    struct{ Seq uint64 }
}

func (p *page) auditPage(query string) (a auditAnswer, err error) {
	err = p.get("/api/v1/audit?"+query, &a)
	return a, err
}

// verifyAudit checks the audit log, and shows the report.
func verifyAudit(p *page) error {
	var report adminjson.AuditReport
	if err := p.get("/api/v1/audit/verify", &report); err != nil {
		return err
	}
	return p.showAudit(http.StatusOK, &report)
}
