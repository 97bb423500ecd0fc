package console

import (
	"net/http"
	"slices"
	"strings"
)

// policyView is the page of who may do what.
type policyView struct {
	Op, Find, Caller string
	// Agent is set for the operations of one agent.
	Agent                    string
	Columns, Operations      []string
	Callers                  []callerView
	MoreCallers, MoreColumns bool
	Policy                   bool
	// Why is the cell that is explained.
	Why   *whyView
	Error string
}

// callerView is a row of the matrix.
type callerView struct {
	AgentID, Owner, Level string
	Roles                 []string
	Cells                 []cellView
}

type cellView struct {
	Allowed      bool
	Gate, Reason string
}

// Word returns the decision in a word.
func (c cellView) Word() string {
	switch {
	case !c.Allowed:
		return "no"
	case c.Gate == "notice":
		return "notice only"
	case c.Gate != "":
		return "asks"
	}
	return "yes"
}

// Tone returns the class of its colour.
func (c cellView) Tone() string {
	return map[string]string{"yes": "good", "no": "calm", "asks": "ask", "notice only": "bad"}[c.Word()]
}

// whyView explains a cell.
type whyView struct {
	Caller, Column string
	cellView
}

// title is the name of the page in the browser.
func (v *policyView) title() string {
	if v.Why != nil {
		return "Why? " + v.Why.Caller + ", " + v.Why.Column
	}
	return "Policy"
}

// To returns the query of a cell's explanation.
func (v *policyView) To(row int, column string) string {
	return query("op", v.Op, "find", v.Find, "caller", v.Caller, "agent", v.Agent, "row", row+1, "of", v.Callers[row].AgentID, "column", column)
}

// showPolicy answers with the page of who may do what.
func showPolicy(p *page) error {
	field := func(name string) string { return strings.TrimSpace(p.r.FormValue(name)) }
	v := &policyView{Op: field("op"), Find: field("find"), Caller: field("caller"), Agent: field("agent")}
	err := p.get("/api/v1/permissions?"+query("op", v.Op, "find", v.Find, "caller", v.Caller, "agent", v.Agent), v)
	if refused := refusedBy(err); refused != nil && refused.Code == http.StatusBadRequest {
		v.Error = refused.Message
	} else if err != nil {
		return err
	}
	if v.Op == "" {
		v.Op = "send"
	}
	row, column := int(min(number(field("row")), int64(len(v.Callers))))-1, slices.Index(v.Columns, field("column"))
	if row >= 0 && column >= 0 && v.Callers[row].AgentID == field("of") {
		v.Why = &whyView{v.Callers[row].AgentID, v.Columns[column], v.Callers[row].Cells[column]}
	}
	p.show(http.StatusOK, "policy", v)
	return nil
}
