package console

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/clip"
)

const (
	// maxDrawn is the number of callers and agents in the picture of a graph, maxRows that of rows of a
	// table of calls or costs, and maxLabels that of calls up to which each has its numbers beside it.
	maxDrawn  = 100
	maxRows   = 300
	maxLabels = 40
)

// graphTimes are the times of a graph, with the unit of its rates.
var graphTimes = []struct {
	Name, Label, Unit string
	length, unit      time.Duration
}{
	{"hour", "Last hour", "a minute", time.Hour, time.Minute},
	{"day", "Last day", "an hour", 24 * time.Hour, time.Hour},
	{"week", "Last week", "a day", 7 * 24 * time.Hour, 24 * time.Hour},
}

// callsView is the page of calls, or of costs.
type callsView struct {
	// Page is the last element of the address, and Last the time: hour, day or week.
	Page, Last, Find string
	Graph            adminjson.Graph
	Picture          *picture
	Calls            []callRow
	Spending         []adminjson.Spending
	// Sums are the costs by caller and by agent, the highest first.
	Sums []costSums
	// Many is the number of lines that Find selects.
	Many int
	// Unit is the unit of the rates.
	Unit string
}

// Times are the choices of Last.
func (callsView) Times() any { return graphTimes }

// callRow is a line of the table of calls.
type callRow struct {
	adminjson.Call
	Rate string
	// Tasks is the query of the list with its tasks.
	Tasks string
}

// costSums are costs added up by a column.
type costSums struct {
	Head string
	Rows []adminjson.Spending
}

// graph reads the graph that a request asks for.
func (p *page) graph(name, normal string) (*callsView, error) {
	v := &callsView{Page: name, Last: cmp.Or(p.r.FormValue("last"), normal), Find: strings.TrimSpace(p.r.FormValue("find"))}
	return v, p.get("/api/v1/graph?"+query("last", v.Last), &v.Graph)
}

// showCalls answers with the page of calls.
func showCalls(p *page) error {
	v, err := p.graph("calls", "day")
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(v.Graph.Calls, func(c adminjson.Call) bool { return !hasWords(v.Find, c.From, c.To) })
	v.Many, v.Picture = len(all), draw(all)
	for i := range all[:min(len(all), maxRows)] {
		v.Calls = append(v.Calls, v.row(&all[i]))
	}
	p.show(http.StatusOK, "calls", v)
	return nil
}

// row returns the line of a call.
func (v *callsView) row(c *adminjson.Call) callRow {
	row := callRow{Call: *c}
	for _, t := range graphTimes {
		if t.Name == v.Last {
			v.Unit = t.Unit
			row.Rate = fmt.Sprintf("%.3g", float64(c.Tasks)*float64(t.unit)/float64(t.length))
			row.Tasks = callQuery(c, t.length)
		}
	}
	return row
}

// callQuery returns the query of the list with the tasks of a call. Lists mix delegated tasks of
// an agent with others.
func callQuery(c *adminjson.Call, since time.Duration) string {
	owner := c.From
	if c.Delegated {
		owner = ""
	}
	return query("scope", "all", "agent", c.To, "owner", owner, "since", since)
}

// showCosts answers with the page of costs.
func showCosts(p *page) error {
	v, err := p.graph("costs", "week")
	if err != nil {
		return err
	}
	v.Spending = slices.DeleteFunc(v.Graph.Spending, func(s adminjson.Spending) bool { return !hasWords(v.Find, s.Owner, s.Agent, s.Day) })
	v.Many = len(v.Spending)
	v.Sums = []costSums{
		{"Caller", addUp(v.Spending, func(s *adminjson.Spending) string { return s.Owner })},
		{"Agent", addUp(v.Spending, func(s *adminjson.Spending) string { return s.Agent })},
		{"Day", addUp(v.Spending, func(s *adminjson.Spending) string { return s.Day })},
	}
	v.Spending = v.Spending[:min(v.Many, maxRows)]
	p.show(http.StatusOK, "costs", v)
	return nil
}

// maxSums is the number of lines of a table of sums.
const maxSums = 10

// addUp adds up costs by a name, which becomes the owner of the sums: the highest ones.
func addUp(all []adminjson.Spending, name func(*adminjson.Spending) string) (sums []adminjson.Spending) {
	at := make(map[string]int)
	for i := range all {
		s := &all[i]
		n, known := at[name(s)]
		if !known {
			n = len(sums)
			at[name(s)], sums = n, append(sums, adminjson.Spending{Owner: name(s)})
		}
		t := &sums[n]
		t.Tasks, t.InputTokens, t.OutputTokens, t.CostUSD = t.Tasks+s.Tasks, t.InputTokens+s.InputTokens, t.OutputTokens+s.OutputTokens, t.CostUSD+s.CostUSD
	}
	slices.SortFunc(sums, func(a, b adminjson.Spending) int {
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.InputTokens+b.OutputTokens, a.InputTokens+a.OutputTokens), strings.Compare(a.Owner, b.Owner))
	})
	return sums[:min(len(sums), maxSums)]
}

// hasWords reports whether some texts have all words of a search.
func hasWords(search string, texts ...string) bool {
	have := strings.ToLower(strings.Join(texts, "\n"))
	for w := range strings.FieldsSeq(strings.ToLower(search)) {
		if !strings.Contains(have, w) {
			return false
		}
	}
	return true
}

// picture is a drawn graph, in pixels.
type picture struct {
	Width, Height int
	Nodes         []*node
	Edges         []edge
	// Left is the number of calls that are not drawn.
	Left int
}

// node is a caller or an agent.
type node struct {
	Name, Label string
	Agent       bool
	X, Y        int
	// Tone is the colour class of an agent, by the share of its failures.
	Tone          string
	Tasks, Failed int
	layer         int
	// pull is the mean position of the callers.
	pull float64
}

// edge is a call.
type edge struct {
	Path, Tone, Title, Label string
	Width                    float64
	// X and Y are the place of the label.
	X, Y int
}

// The measures of a picture.
const (
	nodeWidth, nodeHeight = 190, 28
	layerStep, nodeStep   = 280, 40
	margin                = 12
	nodeLetters           = 20
)

// draw lays out the most frequent calls: callers to the left, and each agent one column behind the first of
// its callers. Within a column, the order follows the callers.
func draw(calls []adminjson.Call) *picture {
	if len(calls) == 0 {
		return nil
	}
	type name struct {
		text  string
		agent bool
	}
	p, nodes := new(picture), make(map[name]*node)
	get := func(text string, agent bool) *node {
		n := nodes[name{text, agent}]
		if n == nil {
			n = &node{Name: text, Label: clip.Fit(clean(text), nodeLetters), Agent: agent, layer: -1}
			nodes[name{text, agent}] = n
			p.Nodes = append(p.Nodes, n)
		}
		return n
	}
	drawn, ends := calls, make([][2]*node, len(calls))
	for i := range calls {
		c := &calls[i]
		more := 0
		for _, end := range []name{{c.From, c.Delegated}, {c.To, true}} {
			if nodes[end] == nil {
				more++
			}
		}
		if len(nodes)+more > maxDrawn {
			drawn = calls[:i]
			break
		}
		from, to := get(c.From, c.Delegated), get(c.To, true)
		ends[i], to.Tasks, to.Failed = [2]*node{from, to}, to.Tasks+c.Tasks, to.Failed+c.Failed
	}
	p.Left = len(calls) - len(drawn)
	ends = ends[:len(drawn)]
	layers(p.Nodes, ends)
	p.place(ends)
	for i := range drawn {
		p.Edges = append(p.Edges, edgeOf(&drawn[i], ends[i][0], ends[i][1], len(drawn) <= maxLabels))
	}
	return p
}

// layers sets the columns of nodes: that of a node is one behind the first column of its callers.
func layers(nodes []*node, ends [][2]*node) {
	for _, n := range nodes {
		if !n.Agent {
			n.layer = 0
		}
	}
	for at, found := 0, true; found; at++ {
		found = at == 0
		for _, e := range ends {
			if e[0].layer == at && e[1].layer < 0 {
				e[1].layer, found = at+1, true
			}
		}
	}
	for _, n := range nodes {
		n.layer = max(n.layer, 0) // the caller of its callers is not drawn
	}
}

// place sets the places of nodes. Columns are centred, unless the page would begin with an empty place.
func (p *picture) place(ends [][2]*node) {
	var columns [][]*node
	for _, n := range p.Nodes {
		for len(columns) <= n.layer {
			columns = append(columns, nil)
		}
		columns[n.layer] = append(columns[n.layer], n)
		n.Tone = failureTone(n.Failed, n.Tasks)
	}
	columns = slices.DeleteFunc(columns, func(c []*node) bool { return len(c) == 0 })
	most := 0
	for _, c := range columns {
		most = max(most, len(c))
	}
	for x, column := range columns {
		for _, n := range column {
			sum, count := 0, 0
			for _, e := range ends {
				if e[1] == n && e[0].layer < n.layer {
					sum, count = sum+e[0].Y, count+1
				}
			}
			n.pull = float64(sum) / float64(max(count, 1))
		}
		slices.SortStableFunc(column, func(a, b *node) int { return cmp.Compare(a.pull, b.pull) })
		top := margin
		if most <= 2*maxDrawn/10 {
			top += (most - len(column)) * nodeStep / 2
		}
		for y, n := range column {
			n.X, n.Y = margin+x*layerStep, top+y*nodeStep
		}
	}
	p.Width, p.Height = (len(columns)-1)*layerStep+nodeWidth+2*margin+60, most*nodeStep+2*margin
}

// edgeOf returns the curve of a call between two nodes.
func edgeOf(c *adminjson.Call, from, to *node, labels bool) edge {
	x1, y1, x2, y2 := from.X+nodeWidth, from.Y+nodeHeight/2, to.X, to.Y+nodeHeight/2
	e := edge{
		Tone: failureTone(c.Failed, c.Tasks), Width: min(1.2+math.Log2(float64(c.Tasks))/2, 7),
		Title: fmt.Sprintf("%s calls %s: %d tasks, %d failed", clean(c.From), clean(c.To), c.Tasks, c.Failed),
	}
	bend := (x2 - x1) / 2
	if x2 <= x1 { // to the same column, or back
		x2, bend = to.X+nodeWidth, 50
		e.Path = fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2+bend, y2+6, x2, y2+6)
		e.X, e.Y = max(x1, x2)+bend-10, (y1+y2)/2
	} else {
		e.Path = fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
		e.X, e.Y = x1+(x2-x1)*2/3, y1+(y2-y1)*3/4
	}
	if labels {
		if e.Label = fmt.Sprint(c.Tasks); c.Failed > 0 {
			e.Label += fmt.Sprintf(" · %.0f %%", 100*float64(c.Failed)/float64(c.Tasks))
		}
	}
	return e
}

// failureTone returns the class for a share of failures.
func failureTone(failed, tasks int) string {
	switch {
	case failed == 0:
		return "calm"
	case 2*failed < tasks:
		return "ask"
	}
	return "bad"
}

// dayAfter returns the day after a date; empty for another text.
func dayAfter(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return ""
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}
