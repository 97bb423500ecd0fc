package interop

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// groups returns the groups of scenarios in order.
func groups() []string {
	var all []string
	for _, s := range scenarios {
		if !slices.Contains(all, s.group) {
			all = append(all, s.group)
		}
	}
	return all
}

// whole reports whether a table can be compared: all its tests ran and passed. gap names the
// tests that did not run. In continuous integration there must be none.
func whole(t testing.TB, gap string) bool {
	t.Helper()
	if gap == "" {
		return !t.Failed()
	}
	if os.Getenv(testenv.CI) == "1" {
		t.Errorf("%s did not run", gap)
	}
	t.Logf("%s did not run, so README.md is not compared", gap)
	return false
}

// clientsTable writes the table of peers. gap names the peers that did not run, if any.
func clientsTable(l *ledger) (table, gap string) {
	var b strings.Builder
	head(&b, append([]string{"Client", "Version", "Binding"}, groups()...)...)
	for i := range peers {
		p := &peers[i]
		for _, binding := range p.bindings {
			cells := []string{p.title, p.speaks, binding}
			for _, g := range groups() {
				cell, ran := groupCell(l, p, binding, g)
				if !ran {
					gap = strings.Join([]string{p.name, binding, g}, "/")
				}
				cells = append(cells, cell)
			}
			row(&b, cells...)
		}
	}
	return b.String(), gap
}

// groupCell returns the result of a group of scenarios.
func groupCell(l *ledger, p *peer, binding, group string) (cell string, ran bool) {
	if p.missing[binding] != "" {
		return notThere, l.noted(p.name, binding, scenarios[0].name) != ""
	}
	offered, sense := 0, 0
	var failed []string
	for _, s := range scenarios {
		if s.group != group || !s.suits(&peer{speaks: p.speaks}) {
			continue
		}
		sense++
		if !s.suits(p) {
			continue
		}
		offered++
		switch l.noted(p.name, binding, s.name) {
		case "":
			return "", false
		case works:
		default:
			failed = append(failed, s.name)
		}
	}
	switch {
	case offered == 0:
		return "not offered", true
	case len(failed) == offered:
		return "accepted failure", true
	case len(failed) > 0:
		cell = "works, but for " + strings.Join(failed, ", ")
	default:
		cell = works
	}
	if offered < sense {
		cell += fmt.Sprintf(" (%d of %d offered)", offered, sense)
	}
	return cell, true
}

// acceptedTable writes the accepted failures of the peers.
func acceptedTable(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	head(&b, "Client", "Binding", "Scenario", "Reason")
	for i := range peers {
		p := &peers[i]
		all, err := readKnown(knownFile(p), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, binding := range p.bindings {
			if why := p.missing[binding]; why != "" {
				row(&b, p.title, binding, "all", why)
			}
		}
		for _, k := range all {
			bindings := k.Bindings
			if len(bindings) == 0 {
				bindings = p.bindings
			}
			row(&b, p.title, strings.Join(bindings, ", "), k.Scenario, k.Reason)
		}
	}
	return b.String()
}

// serversTable writes the table of servers. gap names the servers that did not run, if any.
func serversTable(t testing.TB, l *ledger) (table, gap string) {
	t.Helper()
	var b strings.Builder
	names := []string{"Server", "Version", "`parley check`", "Binding"}
	for _, c := range commands {
		names = append(names, c.name)
	}
	head(&b, names...)
	ran := func(s *server, binding, what string) string {
		outcome := l.noted(s.name, binding, what)
		if outcome == "" {
			gap = strings.Join([]string{s.name, binding, what}, "/")
		}
		return outcome
	}
	for i := range servers {
		s := &servers[i]
		ran(s, "", "check")
		for _, binding := range s.bindings {
			cells := []string{s.title, s.speaks, counted(len(s.findings(t))), binding}
			for _, c := range commands {
				cell := "not offered"
				if !slices.Contains(s.lacks, c.name) {
					cell = ran(s, binding, c.name)
				}
				cells = append(cells, cell)
			}
			row(&b, cells...)
		}
	}
	return b.String(), gap
}

func counted(findings int) string {
	if findings == 1 {
		return "1 finding"
	}
	return fmt.Sprint(findings, " findings")
}

// TestGroupCell checks the contents of the table's cells.
func TestGroupCell(t *testing.T) {
	t.Parallel()
	const binding = "JSONRPC"
	var l ledger
	for _, s := range scenarios {
		l.note("x", binding, s.name, works)
	}
	l.note("x", binding, "get", acceptedAs)
	p := peer{name: "x", speaks: v1, lacks: []string{"getPush", "list"}}
	for group, want := range map[string]string{
		"send": "works", "tasks": "works, but for get", "list": "not offered", "webhooks": "works (2 of 4 offered)",
	} {
		if got, ran := groupCell(&l, &p, binding, group); got != want || !ran {
			t.Errorf("%s: %q, %v, want %q", group, got, ran, want)
		}
	}
	if _, ran := groupCell(&l, &peer{name: "y", speaks: v1}, binding, "send"); ran {
		t.Error("a peer that did not run is said to have run")
	}
}
