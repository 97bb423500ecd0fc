package tasktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

var textTests = []storeTest{
	{"TextWords", testTextWords},
	{"TextFilters", testTextFilters},
	{"TextChanges", testTextChanges},
	{"TextPages", testTextPages},
	{"TextSweep", testTextSweep},
	{"TextLarge", testTextLarge},
}

// IndexTexts completes the index of texts, in steps of limit tasks.
func IndexTexts(t testing.TB, s task.Texts, limit int) {
	t.Helper()
	for {
		more, err := s.IndexTexts(t.Context(), limit)
		if err != nil {
			t.Fatalf("IndexTexts(%d) = %v", limit, err)
		}
		if !more {
			return
		}
	}
}

// wantText fails the test unless a search finds the tasks.
func wantText(t *testing.T, s task.Store, q task.Query, want ...a2a.TaskID) {
	t.Helper()
	q.Limit = 100
	page, err := s.List(t.Context(), &q)
	if err != nil {
		t.Fatalf("List(%+v) = %v", q, err)
	}
	if d := diff(want, ids(page.Heads)); d != "" {
		t.Errorf("List(%+v) mismatch (-want +got):\n%s", q, d)
	}
	if page.Total != 0 || page.More || page.Partial {
		t.Errorf("List(%+v) = total %d, more %v, partial %v; want none", q, page.Total, page.More, page.Partial)
	}
}

// done returns the last entry of a task with an answer.
func done(ms int64, answer string) task.Entry { return Status(At(ms), task.Completed, answer) }

// testTextWords also wants that no owner finds the text of another one.
func testTextWords(t *testing.T, s task.Store) {
	a := Append(t, s, NewHead("anna", "a"), Created(At(1), "Translate the invoice 4711 of Zürich, please"), done(2, "Rechnung übersetzt"))
	b := Append(t, s, NewHead("bert", "b"), Created(At(1), "translating invoices: 4712"), done(2, "done"))
	Append(t, s, NewHead("anna", "c"), Created(At(3), "請翻譯這張發票"), done(4, "عربي نص"))
	Append(t, s, NewHead("anna", "d"), Created(At(5), "\U0001f389\x01\u202e ''\"*)( AND NOT OR -"), done(6, "hel"))
	data := task.Entry{Kind: task.Artifact, At: At(8), ArtifactID: "r", Body: []byte(`{"artifactId":"r","parts":[{"data":{"order":{"no":815,"for":"Frau\nMüller"}}},{"url":"http://x","filename":"report.pdf"}]}`)}
	Append(t, s, NewHead("anna", "e"), Created(At(7), "hello"), Chunk(At(8), "x", "won"), Chunk(At(8), "x", "derful"), data, done(9, ""))
	IndexTexts(t, s, 2)
	for _, tt := range []struct {
		owner task.Owner
		text  string
		want  []a2a.TaskID
	}{
		{"anna", "invoice", []a2a.TaskID{"a"}},
		{"bert", "invoice", []a2a.TaskID{"b"}},
		{"carl", "invoice", nil},
		{"anna", "INVOICES, translated!", []a2a.TaskID{"a"}},
		{"anna", "invoice 4712", nil},
		{"anna", "4711 rechnung", []a2a.TaskID{"a"}},
		{"anna", "zürich", []a2a.TaskID{"a"}},
		{"anna", "發票", []a2a.TaskID{"c"}},
		{"anna", "票發", nil},
		{"anna", "عربي", []a2a.TaskID{"c"}},
		{"anna", "wonderful", []a2a.TaskID{"e"}},
		{"anna", "815 müller", []a2a.TaskID{"e"}},
		{"anna", "report.pdf", []a2a.TaskID{"e"}},
		{"anna", "hel", []a2a.TaskID{"d"}},
		{"anna", `"' * ) ( : ^ & | ! \`, nil},
		{"anna", "\U0001f389", nil},
		{"anna", "the", nil},
	} {
		wantText(t, s, task.Query{Owner: tt.owner, Text: tt.text}, tt.want...)
	}
	both := []a2a.TaskID{"b", "a"}
	if a.Key > b.Key {
		slices.Reverse(both)
	}
	wantText(t, s, task.Query{AllOwners: true, Text: "invoice translate"}, both...)
	if _, err := s.List(t.Context(), &task.Query{Owner: "anna", Text: "x", IDPrefix: "abcd", Limit: 1}); err == nil {
		t.Error("List with a text and a prefix of ids succeeded")
	}
}

func testTextFilters(t *testing.T, s task.Store) {
	for i, state := range []task.State{task.Completed, task.Failed, task.InputRequired, task.Submitted} {
		h := NewHead("anna", a2a.TaskID(fmt.Sprint("t", i)))
		h.Agent, h.ContextID = task.Agent(fmt.Sprint("agent", i%2)), fmt.Sprint("c", i/2)
		es := []task.Entry{Created(At(int64(i)), "cake")}
		if state != task.Submitted {
			es = append(es, Status(At(int64(i)), state, "sugar"))
		}
		Append(t, s, h, es...)
	}
	hidden := NewHead("anna", "hidden")
	hidden.Visibility = task.Hidden
	Append(t, s, hidden, Created(At(9), "cake"))
	IndexTexts(t, s, 100)
	cake := func(change func(*task.Query)) task.Query {
		q := task.Query{Owner: "anna", Text: "cake"}
		change(&q)
		return q
	}
	wantText(t, s, cake(func(*task.Query) {}), "t3", "t2", "t1", "t0")
	wantText(t, s, cake(func(q *task.Query) { q.Agent = "agent1" }), "t3", "t1")
	wantText(t, s, cake(func(q *task.Query) { q.State = task.Failed }), "t1")
	wantText(t, s, cake(func(q *task.Query) { q.ContextID = "c0" }), "t1", "t0")
	wantText(t, s, cake(func(q *task.Query) { q.Since = At(2) }), "t3", "t2")
	wantText(t, s, cake(func(q *task.Query) { q.After.At = At(2) }), "t1", "t0")
	wantText(t, s, cake(func(q *task.Query) { q.Owner, q.AllOwners, q.Agent = "", true, "agent0" }), "t2", "t0")
	wantText(t, s, cake(func(q *task.Query) { q.Text = "cake sugar" }), "t2", "t1", "t0")
}

// testTextChanges wants the index to follow the turns of a task.
func testTextChanges(t *testing.T, s task.Store) {
	a := Append(t, s, NewHead("anna", "a"), Created(At(1), "first"))
	IndexTexts(t, s, 10)
	wantText(t, s, task.Query{Owner: "anna", Text: "first"}, "a")
	a = Append(t, s, a, Status(At(2), task.InputRequired, "which colour"))
	IndexTexts(t, s, 10)
	wantText(t, s, task.Query{Owner: "anna", Text: "colour"}, "a")
	a = Append(t, s, a, FollowUp(At(3), "purple"))
	Append(t, s, a, done(4, "painted"))
	IndexTexts(t, s, 1)
	wantText(t, s, task.Query{Owner: "anna", Text: "first colour purple painted"}, "a")
}

func testTextPages(t *testing.T, s task.Store) {
	var want []a2a.TaskID
	for i := range 23 {
		h := NewHead("anna", a2a.TaskID(fmt.Sprint("t", i)))
		Append(t, s, h, Created(At(int64(i/5)), "hello"), done(int64(30-i), ""))
		want = append([]a2a.TaskID{h.ID}, want...)
	}
	IndexTexts(t, s, 5)
	for limit := 1; limit <= 24; limit++ {
		var got []a2a.TaskID
		q := task.Query{Owner: "anna", Text: "hello", Limit: limit}
		for more := true; more; {
			page, err := s.List(t.Context(), &q)
			if err != nil {
				t.Fatalf("List(%+v) = %v", q, err)
			}
			got, more = append(got, ids(page.Heads)...), page.More
			q.After.Key = page.Heads[len(page.Heads)-1].Key
		}
		if d := diff(want, got); d != "" {
			t.Errorf("pages of %d mismatch (-want +got):\n%s", limit, d)
		}
	}
}

func testTextSweep(t *testing.T, s task.Store) {
	Append(t, s, NewHead("anna", "old"), Created(At(1), "hello"), done(2, ""))
	Append(t, s, NewHead("anna", "new"), Created(At(3), "hello"), done(9, ""))
	IndexTexts(t, s, 10)
	if n, err := s.Sweep(t.Context(), At(5), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v; want 1", n, err)
	}
	wantText(t, s, task.Query{Owner: "anna", Text: "hello"}, "new")
	Append(t, s, NewHead("anna", "late"), Created(At(3), "hello"), done(4, ""))
	if n, err := s.Sweep(t.Context(), At(5), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v; want 1", n, err)
	}
	IndexTexts(t, s, 10)
	wantText(t, s, task.Query{Owner: "anna", Text: "hello"}, "new")
}

// testTextLarge wants the beginning of a text of 10 MiB, and the answer to it.
func testTextLarge(t *testing.T, s task.Store) {
	text := "begin " + strings.Repeat("wörter 12345 ", 10<<20/14) + " end"
	Append(t, s, NewHead("anna", "a"), Created(At(1), text), done(2, "answered"))
	IndexTexts(t, s, 10)
	wantText(t, s, task.Query{Owner: "anna", Text: "begin wörter answered"}, "a")
	wantText(t, s, task.Query{Owner: "anna", Text: "end"})
}
