package console

import (
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// checkView is the page that checks whether an agent complies with the specification.
type checkView struct {
	URL, Only, Error string
	// Report is nil before the first check.
	Report *adminjson.CheckReport
	Levels []*checkGroup
	// Faces are the results by interface, in the order of the report.
	Faces []*checkGroup
}

// checkGroup are the results of an interface or of a level, with their numbers by outcome.
type checkGroup struct {
	Name                     string
	N                        map[string]int
	Problems, Passed, Others []*adminjson.CheckResult
}

// showCheck answers with the page before a check.
func showCheck(p *page) error {
	if !p.caller.Admin {
		return &refusal{Code: http.StatusForbidden, Message: "Agents are checked by administrators only."}
	}
	p.show(http.StatusOK, "conformance", checkView{URL: strings.TrimSpace(p.r.FormValue("url"))})
	return nil
}

// runCheck checks an agent and shows the report. A browser that opens another page ends the check.
func runCheck(p *page) error {
	v := checkView{URL: strings.TrimSpace(p.r.PostFormValue("url")), Only: strings.TrimSpace(p.r.PostFormValue("only"))}
	q := adminjson.CheckRequest{URL: v.URL, Key: strings.TrimSpace(p.r.PostFormValue("bearer"))}
	q.Only = strings.FieldsFunc(v.Only, func(r rune) bool { return r == ',' || r == ' ' })
	err := p.do(http.MethodPost, "/api/v1/conformance", &q, &v.Report)
	if refused := mistake(err); refused != nil {
		v.Error = refused.Message
		p.show(refused.Code, "conformance", v)
		return nil
	}
	if err != nil {
		return err
	}
	v.sort()
	p.show(http.StatusOK, "conformance", v)
	return nil
}

// sort arranges the results for the page.
func (v *checkView) sort() {
	for i := range v.Report.Results {
		r := &v.Report.Results[i]
		groupOf(&v.Levels, r.Level).N[r.Outcome]++
		groupOf(&v.Faces, r.Interface).add(r)
	}
}

// groupOf returns the group of a name, which it adds if there is none.
func groupOf(all *[]*checkGroup, name string) *checkGroup {
	for _, g := range *all {
		if g.Name == name {
			return g
		}
	}
	g := &checkGroup{Name: name, N: make(map[string]int)}
	*all = append(*all, g)
	return g
}

// add adds a result to those of its kind.
func (f *checkGroup) add(r *adminjson.CheckResult) {
	f.N[r.Outcome]++
	switch r.Outcome {
	case "pass":
		f.Passed = append(f.Passed, r)
	case "not offered":
		f.Others = append(f.Others, r)
	default:
		f.Problems = append(f.Problems, r)
	}
}
