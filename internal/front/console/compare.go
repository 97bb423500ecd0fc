package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// compareView is the page of two tasks side by side.
type compareView struct {
	A, B           string
	OwnerA, OwnerB string
	// Sides are the tasks, the first one alone until the second is chosen.
	Sides []*sideView
	Facts []fact
	// Others are tasks to compare with.
	Others []adminjson.TaskInfo
	Error  string
}

// title distinguishes the tabs of a browser.
func (v *compareView) title() string {
	if len(v.Sides) == 2 {
		return v.Sides[0].Head.Agent + " and " + v.Sides[1].Head.Agent + " compared"
	}
	return "Compare"
}

// sideView is one of two tasks.
type sideView struct {
	Head    headView
	Entries []entryView
	Tree    treeSum
	// Earlier is set if the first entries are not shown.
	Earlier bool
}

// fact is a property of both tasks.
type fact struct {
	Name    string
	Values  []string
	Differs bool
}

// compared is how many other tasks the page offers.
const compared = 20

// showCompare answers with two tasks side by side.
func showCompare(p *page) error {
	field := func(name string) string { return strings.TrimSpace(p.r.FormValue(name)) }
	v := &compareView{A: field("a"), B: field("b"), OwnerA: field("ao"), OwnerB: field("bo")}
	for _, of := range [][2]string{{v.A, v.OwnerA}, {v.B, v.OwnerB}} {
		if of[0] == "" {
			continue
		}
		s, err := p.side(of[0], of[1])
		if err != nil {
			return err
		}
		v.Sides = append(v.Sides, s)
	}
	if len(v.Sides) == 2 {
		v.Facts = factsOf(v.Sides)
	} else if len(v.Sides) == 1 {
		if v.A == "" { // the second alone is the first
			v.A, v.OwnerA, v.B, v.OwnerB = v.B, v.OwnerB, "", ""
		}
		f := filter{"agent": v.Sides[0].Head.Agent}
		if v.OwnerA != "" {
			f["scope"], f["owner"] = "all", v.OwnerA
		}
		list, err := p.taskList(f, "", compared+1)
		if err != nil && refusedBy(err) == nil {
			return err
		}
		for i := range list.Tasks {
			if t := &list.Tasks[i]; string(t.TaskID) != v.A && len(v.Others) < compared {
				t.Owner = p.other(t.Owner)
				v.Others = append(v.Others, *t)
			}
		}
	}
	p.show(http.StatusOK, "compare", v)
	return nil
}

// side reads one of the tasks. Together they may be as large as the page of a task.
func (p *page) side(id, owner string) (*sideView, error) {
	of := *p
	of.r = p.r.Clone(p.r.Context())
	of.r.Form = url.Values{"id": {id}, "owner": {owner}}
	l, err := of.readLog()
	if err != nil {
		return nil, err
	}
	r := of.readerOf(l)
	r.room = maxPage / 2
	s := &sideView{Head: of.headOf(l), Entries: r.views(l.Entries), Tree: of.readTree()}
	s.Earlier = len(l.Entries) > 0 && l.Entries[0].Version > 1
	return s, nil
}

// factsOf returns the properties of two tasks.
func factsOf(sides []*sideView) (all []fact) {
	add := func(name string, value func(s *sideView) string) {
		f := fact{Name: name}
		for _, s := range sides {
			f.Values = append(f.Values, value(s))
		}
		if f.Differs = f.Values[0] != f.Values[1]; f.Values[0] != "" || f.Values[1] != "" {
			all = append(all, f)
		}
	}
	positive := func(n int64) string {
		if n <= 0 {
			return ""
		}
		return thousands(n)
	}
	add("Agent", func(s *sideView) string { return s.Head.Agent })
	add("State", func(s *sideView) string { return stateWord(s.Head.State) })
	add("Started", func(s *sideView) string { return stamp(s.Head.CreatedAt) })
	add("Took", func(s *sideView) string { return span(s.Head.Took.Round(time.Millisecond)) })
	add("Runs", func(s *sideView) string { return positive(s.Head.Attempt) })
	add("Entries", func(s *sideView) string { return positive(s.Head.Version) })
	add("Tasks in its tree", func(s *sideView) string { return positive(int64(len(s.Tree.all))) })
	add("Tokens in", func(s *sideView) string { return positive(s.Tree.Input) })
	add("Tokens out", func(s *sideView) string { return positive(s.Tree.Output) })
	add("Cost", func(s *sideView) string {
		if s.Tree.USD <= 0 {
			return ""
		}
		return money(s.Tree.USD)
	})
	return all
}
