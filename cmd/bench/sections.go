package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
)

// section is a part of RESULTS.md that the bench writes.
type section struct {
	name  string
	write func(*report, *strings.Builder)
}

// sections are in the order of the page.
var sections = []section{
	{"machine", (*report).writeMachine},
	{"results", (*report).writeResults},
	{"goals", (*report).writeGoals},
	{"budget", (*report).writeBudgets},
	{"pictures", (*report).writePictures},
}

// errMarkers is wrapped by errors of a page whose sections are not marked once each, in their
// order.
var errMarkers = errors.New("sections are not well marked")

func opening(name string) string { return "<!-- bench: " + name + " -->\n" }

const closingMark = "<!-- bench: end -->\n"

// rewrite returns the page with new sections.
func (r *report) rewrite(page string) (string, error) {
	var out strings.Builder
	for _, s := range sections {
		before, rest, found := strings.Cut(page, opening(s.name))
		old, after, ended := strings.Cut(rest, closingMark)
		if !found || !ended || strings.Contains(before+old, "<!-- bench:") {
			return "", fmt.Errorf("%w: %s", errMarkers, s.name)
		}
		out.WriteString(before + opening(s.name) + "\n")
		s.write(r, &out)
		out.WriteString("\n" + closingMark)
		page = after
	}
	if strings.Contains(page, "<!-- bench:") {
		return "", fmt.Errorf("%w: a mark after the last section", errMarkers)
	}
	return out.String() + page, nil
}

// rewriteFile rewrites the sections of a file.
func (r *report) rewriteFile(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := r.rewrite(string(page))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(page, []byte(text)) {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// tableRow writes a line of a table in Markdown.
func tableRow(b *strings.Builder, cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "\n", " "), "|", `\|`)
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func (r *report) writeMachine(b *strings.Builder) {
	fmt.Fprintf(b, "One run at commit %s on %s, %v long.\n\n", r.Commit, r.Began.UTC().Format("2 January 2006"), r.Took.Round(time.Minute))
	for _, line := range r.Machine.lines() {
		name, rest, _ := strings.Cut(line, " ")
		fmt.Fprintf(b, "- %s: %s\n", name, strings.TrimSpace(rest))
	}
	fmt.Fprintf(b, "- Load: %s\n", r.Load[0])
}

func (r *report) writeResults(b *strings.Builder) {
	tableRow(b, "Row", "Case", "Server", "Result", "Spread", "p50", "p99", "CPU/op", "Beside others")
	b.WriteString("|---|---|---|--:|--:|--:|--:|--:|---|\n")
	var left []string
	for i := range r.Results {
		x := &r.Results[i]
		if len(x.Points) > 0 {
			continue // it is a curve
		}
		if x.Left != "" {
			left = append(left, strings.TrimSpace(x.Row+" "+x.Case)+" of "+string(x.Server)+" ("+x.Left+")")
			continue
		}
		c := r.cells(x)
		tableRow(b, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[11])
	}
	if len(left) > 0 {
		b.WriteString("\nNot measured: " + strings.Join(left, "; ") + ".\n")
	}
	for _, e := range r.Errors {
		b.WriteString("\nError: " + e + "\n")
	}
}

func (r *report) writeGoals(b *strings.Builder) {
	missed := slices.DeleteFunc(slices.Clone(r.Goals), func(g goal) bool { return g.Met })
	fmt.Fprintf(b, "%d goals are met, %d missed.\n\n", len(r.Goals)-len(missed), len(missed))
	tableRow(b, "Goal", "Wanted", "Measured", "")
	b.WriteString("|---|--:|--:|---|\n")
	for _, g := range r.Goals {
		mark := "**missed**"
		if g.Met {
			mark = "met"
		}
		tableRow(b, g.What, g.Want, number(g.Got), mark)
	}
}

// writeBudgets writes a table with a line for each layer and a column for each operation.
func (r *report) writeBudgets(b *strings.Builder) {
	head, rule := []string{"µs of processor time"}, "|---|"
	var names []string
	for i := range r.Budgets {
		head, rule = append(head, r.Budgets[i].Name), rule+"--:|"
		for _, l := range r.Budgets[i].Layers {
			if !slices.Contains(names, l.Layer) {
				names = append(names, l.Layer)
			}
		}
	}
	tableRow(b, head...)
	b.WriteString(rule + "\n")
	line := func(name string, cell func(*rows.Budget) string) {
		cells := []string{name}
		for i := range r.Budgets {
			cells = append(cells, cell(&r.Budgets[i]))
		}
		tableRow(b, cells...)
	}
	for _, name := range names {
		line(name, func(one *rows.Budget) string {
			for _, l := range one.Layers {
				if l.Layer == name {
					return fmt.Sprintf("%s (%.0f %%)", micros(l.CPU), 100*float64(l.CPU)/float64(one.Sum()))
				}
			}
			return "–"
		})
	}
	line("**all layers**", func(one *rows.Budget) string { return "**" + micros(one.Sum()) + "**" })
	line("measured by the system", func(one *rows.Budget) string { return micros(one.Measured) })
	line("layers ÷ measured", func(one *rows.Budget) string { return fmt.Sprintf("%.0f %%", 100*one.Share()) })
}

// writePictures shows the curves and links the flame graphs.
func (r *report) writePictures(b *strings.Builder) {
	p, files := r.drawn()
	for i, name := range files {
		fmt.Fprintf(b, "![%s](results/%s)\n\n%s\n\n", p.Charts[i].Title, name, p.Charts[i].About)
	}
	if len(files) > 0 {
		b.WriteString("All curves with their values as tables are on [one page](results/curves.html).\n\n")
	}
	var graphs []string
	for i := range r.Budgets {
		graphs = append(graphs, fmt.Sprintf("[%s](results/%s)", r.Budgets[i].Name, r.Budgets[i].File))
	}
	b.WriteString("Flame graphs: " + strings.Join(graphs, ", ") + ".\n")
}

func micros(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Nanoseconds())/1_000) }
