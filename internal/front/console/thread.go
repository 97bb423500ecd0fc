package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
)

const (
	// threadTasks is how many tasks of a context a page shows, and turnEntries how many entries of each,
	// at its beginning and at its end.
	threadTasks = 20
	turnEntries = 100
)

// threadView is the page of a context: its tasks as a conversation.
type threadView struct {
	Context, Owner string
	// Mine is set if the caller may send a message.
	Mine  bool
	Turns []turnView
	// Page is the page of older tasks that is shown, and Earlier that of still older ones.
	Page, Earlier string
	// Agents are those to which a message may go, and Agent the one of the last task. Task is the task
	// that waits for an answer.
	Agents      []string
	Agent, Task string
	Text, Data  string
	Error       string
	Reply       []partView
	// Live is set if the script follows the last task.
	Live bool
}

// title distinguishes the tabs of a browser.
func (v *threadView) title() string {
	if n := len(v.Turns); n > 0 {
		return "Conversation · " + v.Turns[n-1].Head.Agent
	}
	return "Conversation"
}

// turnView is a task of a conversation.
type turnView struct {
	Head    headView
	Entries []entryView
	// Cut is set if entries between are not shown.
	Cut bool
	// Live is set if the script follows this task, from the version after Cursor. Revision is the revision of its
	// summary.
	Live     bool
	Cursor   int64
	Revision string
}

// showThread answers with the page of a context.
func showThread(p *page) error {
	return p.showThread(http.StatusOK, &threadView{Text: p.r.FormValue("text")})
}

func (p *page) showThread(code int, v *threadView) error {
	v.Context, v.Owner = strings.TrimSpace(p.r.FormValue("context")), p.other(p.r.FormValue("owner"))
	v.Mine, v.Page = v.Owner == "", p.r.FormValue("page")
	if v.Context == "" {
		return &refusal{Code: http.StatusNotFound, Message: "Name a context."}
	}
	f := filter{"context": v.Context, "owner": v.Owner}
	if v.Owner != "" {
		f["scope"] = "all"
	}
	list, err := p.taskList(f, v.Page, threadTasks)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list.Tasks, func(a, b adminjson.TaskInfo) int { return a.CreatedAt.Compare(b.CreatedAt) })
	room := maxPage / 2
	for i := range slices.Backward(list.Tasks) { // the newest task has the most room, and each some
		room += maxPage / 2 / threadTasks
		t, err := p.turn(&list.Tasks[i], v.Owner, &room)
		switch {
		case isMissing(err):
			continue // it was deleted meanwhile
		case err != nil:
			return err
		}
		v.Turns = append(v.Turns, *t)
	}
	slices.Reverse(v.Turns)
	v.Earlier = list.NextPageToken
	if n := len(v.Turns); n > 0 {
		last := &v.Turns[n-1]
		v.Agent = cmp.Or(p.r.PostFormValue("agent"), last.Head.Agent)
		if v.Page == "" {
			last.Live, v.Live = !last.Head.Ended, !last.Head.Ended
			if last.Head.Asks {
				v.Task = string(last.Head.TaskID)
			}
		}
	}
	if v.Mine {
		v.Agents = p.agentNames()
	}
	p.show(code, "thread", v)
	return nil
}

// turn reads a task of a context with its first and its last entries.
func (p *page) turn(t *adminjson.TaskInfo, owner string, room *int) (*turnView, error) {
	of, drop := p.scoped()
	defer drop()
	of.r = of.r.Clone(of.r.Context())
	of.r.Form = url.Values{"id": {string(t.TaskID)}, "owner": {owner}}
	l := new(adminjson.TaskLog)
	if err := of.get(of.logPath("", "limit", turnEntries), l); err != nil {
		return nil, err
	}
	v := &turnView{Cut: l.Next > 0}
	if v.Cut {
		first := l.Entries
		l = new(adminjson.TaskLog)
		if err := of.get(of.logPath("", "after", max(first[len(first)-1].Version, l.Version-turnEntries), "limit", turnEntries), l); err != nil {
			return nil, err
		}
		l.Entries = append(first[:1], l.Entries...)
	}
	r := of.readerOf(l)
	r.room = *room
	v.Head, v.Entries = of.headOf(l), r.views(l.Entries)
	*room = r.room
	if n := len(l.Entries); n > 0 {
		v.Cursor, v.Revision = l.Entries[n-1].Version, l.Revision
	}
	return v, nil
}

// threadURL returns the address of the page of a context.
func threadURL(context, owner string) string {
	return Root + "context?" + query("context", context, "owner", owner)
}
