package lossless

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// place is the location of an unknown member, named as in internal/parts/dialects.md.
type place string

// The places of requests, then those of answers; numbers are a place of both.
const (
	inParams        place = "`params`, or the body of HTTP+JSON"
	inConfiguration place = "`configuration`"
	inMessage       place = "a message"
	inPart          place = "a part"
	inNumbers       place = "digits of a number beyond a double, in `data` and metadata"

	aroundEvent place = "around an event"
	inEvent     place = "an event"
	otherEvents place = "events of unknown kinds"
	inTask      place = "a task"
	inStatus    place = "a status"
	inArtifact  place = "an artifact"
)

// The ways on which members can be lost, named as in internal/parts/dialects.md.
const (
	fromCallers = "request of a caller"
	toAgents    = "request to an agent elsewhere"
	answers     = "answer"
)

// placesOf are the places of each way, in the order of internal/parts/dialects.md.
var placesOf = map[string][]place{
	fromCallers: {inParams, inConfiguration, inMessage, inPart, inNumbers},
	toAgents:    {inParams, inConfiguration, inMessage, inPart, inNumbers},
	answers:     {aroundEvent, inEvent, otherEvents, inTask, inStatus, inMessage, inArtifact, inPart, inNumbers},
}

// The bindings, named as in internal/parts/dialects.md.
const (
	rpcV1   = "JSON-RPC v1.0"
	restV1  = "HTTP+JSON v1.0"
	grpcV1  = "gRPC v1.0"
	rpcOld  = "JSON-RPC v0.3"
	restOld = "HTTP+JSON v0.3"
	grpcOld = "gRPC v0.3"
)

var bindings = []string{rpcV1, restV1, grpcV1, rpcOld, restOld, grpcOld}

// loss is one entry of the list of losses.
type loss struct {
	way     string
	place   place
	binding string
}

// losses is the list of losses.
type losses map[loss]bool

// readLosses reads the list in internal/parts/dialects.md. It must have each place of each way for each
// binding exactly once.
func readLosses(t *testing.T) losses {
	t.Helper()
	text, err := os.ReadFile("../../parts/dialects.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n| Unknown members of | In | "+strings.Join(bindings, " | ")+" |\n|---|---|---|---|---|---|---|---|\n")
	if !ok {
		t.Fatal("internal/parts/dialects.md has no table of unknown members by binding")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	list, rows := make(losses), strings.Split(strings.TrimSpace(table), "\n")
	for _, way := range []string{fromCallers, toAgents, answers} {
		for _, where := range placesOf[way] {
			if len(rows) == 0 || !list.read(loss{way: way, place: where}, rows[0]) {
				t.Fatalf("internal/parts/dialects.md: in the rows %q, want that of %s in %q, with kept or lost for each binding", rows, where, way)
			}
			rows = rows[1:]
		}
	}
	if len(rows) > 0 {
		t.Fatalf("internal/parts/dialects.md: rows that no message is sent for: %q", rows)
	}
	return list
}

// read parses a row if it is the row of l, and reports whether it is.
func (list losses) read(l loss, row string) bool {
	cells := strings.Split(strings.Trim(row, "| "), " | ")
	if len(cells) != 2+len(bindings) || cells[0] != l.way || cells[1] != string(l.place) {
		return false
	}
	for i, binding := range bindings {
		if !slices.Contains([]string{"kept", "lost"}, cells[2+i]) {
			return false
		}
		l.binding = binding
		list[l] = cells[2+i] == "lost"
	}
	return true
}

// on reports whether a place is lost on a way over a binding. The empty binding loses nothing.
func (list losses) on(way string, where place, binding string) bool {
	return list[loss{way, where, binding}]
}
