package main

import (
	"os/exec"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/cmd/bench/internal/page"
	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
)

// charts are the diagrams of the page; their curves are the results of the row curves.
var charts = []struct {
	curve, file string
	page.Chart
}{
	{rows.CurveThroughput, "throughput.svg", page.Chart{
		Title: "Throughput", X: "connections", LogX: true, LogY: true,
		About: "Blocking sends a second, the whole life of a task each. Both axes are logarithmic. Only parley-sqlite stores tasks on a disk before it answers; bare does nothing but HTTP and JSON.",
	}},
	{rows.CurveLatency, "latency.svg", page.Chart{
		Title: "Latency of a send", X: "share of the sends that took at most that long", Shares: true, LogY: true,
		About: "Milliseconds at 64 connections that never pause.",
	}},
	{rows.CurveLength, "length.svg", page.Chart{
		Title: "Cost by length of the log", X: "chunks in one stream", LogX: true, LogY: true,
		About: "Processor time of the server for each chunk in µs. A level curve means that a long log costs no more.",
	}},
	{rows.CurveTasks, "tasks.svg", page.Chart{
		Title: "Cost by number of tasks", X: "tasks in the file", LogX: true,
		About: "Median of a read on SQLite in µs, 8 connections; ListTasks reads a page of 50.",
	}},
	{rows.CurveStreams, "streams.svg", page.Chart{
		Title: "Memory by open streams", X: "open streams that follow 100 tasks",
		About: "Resident memory of the server in MiB.",
	}},
}

// drawn returns the page of curves of a report, and the files of its charts.
func (r *report) drawn() (p *page.Page, files []string) {
	p = &page.Page{Title: "Parley: measured curves", Lines: slices.Concat(
		r.Machine.lines(), []string{"Commit   " + r.Commit, "Made by  go run . --html FILE in cmd/bench; RESULTS.md defines the servers and the load."})}
	for _, c := range charts {
		one := c.Chart
		for _, x := range r.Results {
			if x.Case != c.curve || len(x.Points) == 0 {
				continue
			}
			s := page.Series{Name: string(x.Server)}
			for _, at := range x.Points {
				s.Points = append(s.Points, page.Point(at))
			}
			one.Series = append(one.Series, s)
		}
		if len(one.Series) > 0 {
			p.Charts, files = append(p.Charts, one), append(files, c.file)
		}
	}
	return p, files
}

// commit returns the commit of the source, with a mark if the source differs from it.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
