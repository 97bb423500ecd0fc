package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// report is the whole output of the bench.
type report struct {
	// Commit is that of the source, Began and Took the time of the run.
	Commit  string        `json:"commit"`
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"took_ns"`
	Machine machine       `json:"machine"`
	Load    []string      `json:"load"`
	Quick   bool          `json:"quick"`
	Results []rows.Result `json:"results"`
	Budgets []rows.Budget `json:"budgets,omitempty"`
	Goals   []goal        `json:"goals,omitempty"`
	Errors  []string      `json:"errors,omitempty"`
}

// readReport reads a report that json has written.
func readReport(path string) (*report, error) {
	r := new(report)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err == nil && (len(r.Results) == 0 || len(r.Load) == 0) {
		err = errors.New("it has no results")
	}
	if err != nil {
		return r, fmt.Errorf("read the result %s: %w", path, err)
	}
	return r, nil
}

// add keeps an error, unless it is nil, and logs it.
func (r *report) add(stderr io.Writer, err error) {
	if err != nil {
		r.Errors = append(r.Errors, err.Error())
		fmt.Fprintln(stderr, "bench:", err)
	}
}

func (r *report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) table(w io.Writer) error {
	var b strings.Builder
	for _, line := range r.Machine.lines() {
		b.WriteString(line + "\n")
	}
	for _, line := range r.Load {
		b.WriteString("Load     " + line + "\n")
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ROW\tCASE\tSERVER\tRESULT\tSPREAD\tP50\tP99\tCPU/OP\tDATABASE\tALLOCS/OP\tWRITTEN/OP\tTIMES ITS PEERS")
	for i := range r.Results {
		fmt.Fprintln(t, strings.Join(r.cells(&r.Results[i]), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	r.remarks(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// remarks writes the text below the table.
func (r *report) remarks(b *strings.Builder) {
	for i, g := range r.Goals {
		if i == 0 {
			b.WriteString("\nGoals\n")
		}
		mark := "missed"
		if g.Met {
			mark = "met"
		}
		fmt.Fprintf(b, "  %-7s %s: %.3g, goal %s\n", mark, g.What, g.Got, g.Want)
	}
	if r.Quick {
		b.WriteString("\nThis was a quick run: it shows that everything works, and the numbers say nothing.\n")
	}
	for _, e := range r.Errors {
		b.WriteString("\nERROR " + e + "\n")
	}
}

// cells returns a line of the table. A missing measurement is a dash.
func (r *report) cells(x *rows.Result) []string {
	if x.Left != "" {
		return []string{x.Row, x.Case, string(x.Server), "left out: " + x.Left}
	}
	return []string{
		x.Row, x.Case, string(x.Server),
		number(x.Value) + " " + x.Unit,
		dash(len(x.Runs) > 1, fmt.Sprintf("%.1f %%", 100*x.Spread)),
		dash(x.P50 > 0, short(x.P50)),
		dash(x.P99 > 0, short(x.P99)),
		dash(x.CPU > 0, short(x.CPU)),
		dash(x.Database > 0, short(x.Database)),
		dash(x.Allocs > 0, number(x.Allocs)),
		dash(x.Written > 0, number(x.Written)),
		r.ratios(x),
	}
}

func dash(known bool, s string) string {
	if known {
		return s
	}
	return "–"
}

// short writes a duration with three digits.
func short(d time.Duration) string {
	if d < 0 {
		return "-" + short(-d)
	}
	unit := time.Nanosecond
	for d >= 1_000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}

// number formats a value with about three digits, and large values without decimals.
func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// ratios compares a result of Parley with those of its peers in the same row and case.
func (r *report) ratios(x *rows.Result) string {
	switch {
	case x.Beside != "" && x.Ratio == 0:
		return fmt.Sprintf("adds p50 %v, p99 %v", short(x.AddedP50), short(x.AddedP99))
	case x.Beside != "":
		return fmt.Sprintf("%s %.2f×, its CPU %.2f×", x.Beside, x.Ratio, x.CostRatio)
	}
	if len(x.Points) > 0 || x.Server != serve.ParleySQLite && x.Server != serve.ParleyMemory {
		return "–"
	}
	var all []string
	for _, peer := range append([]serve.Kind{serve.Bare}, serve.Peers()...) {
		if p := find(r.Results, x.Row, x.Case, peer); p != nil && p.Value > 0 {
			all = append(all, string(peer)+" "+number(x.Value/p.Value)+"×")
		}
	}
	return dash(len(all) > 0, strings.Join(all, ", "))
}

// find returns the measured result of a row, a case and a server, or nil.
func find(rs []rows.Result, row, what string, k serve.Kind) *rows.Result {
	for i := range rs {
		if x := &rs[i]; x.Row == row && x.Case == what && x.Server == k && x.Left == "" {
			return x
		}
	}
	return nil
}
