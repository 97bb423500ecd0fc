package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEntries writes an entry with all fields and reads it back.
func TestEntries(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	l := openTest(t, Options{Dir: dir})
	r := &Record{
		Actor:  Actor{ID: "ann", Owner: "org:acme", Auth: "key:k1", From: "192.0.2.1:4000"},
		Action: TaskSend, Subject: Subject{Kind: "task", ID: "x", Agent: "echo", Task: "t\"1\u2028\x00"}, Outcome: Failed,
		Reason: strings.Repeat("ä", 400), Trace: "0af7", Detail: []Field{{"a", "1"}, {"none", ""}, {"b", "\xff"}},
	}
	before := time.Now()
	p, err := l.Begin(r)
	if err = errors.Join(err, p.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(&Record{Action: TaskGet}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(r); !errors.Is(err, ErrUnwritable) {
		t.Errorf("Append after Close = %v, want ErrUnwritable", err)
	}
	sound(t, dir)
	got := entries(t, dir, Query{Action: "task"})
	if len(got) != 1 {
		t.Fatalf("read %d entries of tasks, want one: reads are not written down at this level", len(got))
	}
	e := got[0]
	if e.Seq != p.Seq || e.At.Before(before.Add(-time.Microsecond)) || e.At.After(time.Now()) {
		t.Errorf("entry %d at %v, want %d, now", e.Seq, e.At, p.Seq)
	}
	e.Seq, e.At, e.Prev, e.Hash = 0, time.Time{}, Hash{}, Hash{}
	want := Entry{
		Actor: r.Actor, Action: TaskSend, Subject: r.Subject, Outcome: Failed, Reason: strings.Repeat("ä", 254) + "…", Trace: "0af7",
		Detail: map[string]string{"a": "1", "b": "\ufffd"},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		action Action
		levels []Level
	}{
		{KeyAdd, []Level{Changes, Tasks, "", Reads}},
		{AuthRefused, []Level{Changes, Tasks, "", Reads}},
		{TaskSend, []Level{Tasks, "", Reads}},
		{TaskList, []Level{Reads}},
	} {
		var got []Level
		for _, l := range []Level{Off, Changes, Tasks, "", Reads} {
			if l.Has(tt.action) {
				got = append(got, l)
			}
		}
		if diff := cmp.Diff(tt.levels, got); diff != "" {
			t.Errorf("levels of %s (-want +got):\n%s", tt.action, diff)
		}
	}
	if (*Log)(nil).Has(KeyAdd) || (*Log)(nil).Trouble() != nil {
		t.Error("a nil Log has something")
	}
}

// TestWriters writes from concurrent goroutines: every entry is in the log when Append returns,
// and the chain is valid.
func TestWriters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	l := openTest(t, Options{Dir: dir, SegmentSize: 20 << 10, Level: Reads})
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				l.Note(&Record{Action: TaskGet, Actor: Actor{ID: "reader"}})
				l.Refused(&Record{Action: AuthRefused, Actor: Actor{From: fmt.Sprintf("192.0.2.%d:1", w)}, Reason: "unknown key"})
				p, err := l.Begin(added(w*each + i))
				if err = errors.Join(err, p.Wait()); err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				if l.Head().Seq < p.Seq {
					t.Errorf("entry %d is reported as written, the head is %d", p.Seq, l.Head().Seq)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	rep := sound(t, dir)
	seen := make(map[string]int)
	refused := 0
	for _, e := range entries(t, dir, Query{}) {
		seen[string(e.Action)+" "+e.Subject.ID]++
		if e.Action == AuthRefused {
			refused++
		}
	}
	for i := range writers * each {
		if n := seen[fmt.Sprintf("key.add k%d", i)]; n != 1 {
			t.Errorf("entry of k%d appears %d times", i, n)
		}
	}
	if seen["task.get "] != writers*each || refused != 2*writers {
		t.Errorf("%d reads and %d refusals, want %d and %d", seen["task.get "], refused, writers*each, 2*writers)
	}
	if rep.Files < 3 || rep.Last != l.Head() {
		t.Errorf("%d files up to %v, head %v", rep.Files, rep.Last, l.Head())
	}
}

// TestMending opens logs with an unfinished last line.
func TestMending(t *testing.T) {
	t.Parallel()
	next := func(whole []byte) []byte {
		last := bytes.TrimSuffix(whole, []byte("\n"))
		e, err := Parse(last[bytes.LastIndexByte(last, '\n')+1:])
		if err != nil {
			t.Fatal(err)
		}
		line, _ := appendEntry(nil, position{e.Seq + 1, e.Hash}, time.Now(), added(9))
		return line
	}
	for _, tt := range []struct {
		name  string
		tail  func(whole []byte) []byte
		want  string // the expected entries of the log itself
		added bool   // whether the entry of k9 is present
	}{
		{"half a line", func(w []byte) []byte { n := next(w); return n[:len(n)/2] }, "the last line was unfinished", false},
		{"one byte", func([]byte) []byte { return []byte("{") }, "the last line was unfinished", false},
		{"no newline", func(w []byte) []byte { return bytes.TrimSuffix(next(w), []byte("\n")) }, "the newline of the last line was missing", true},
		{"a whole line", next, "", true},
		{"a foreign line", func([]byte) []byte { return []byte("nothing\n") }, "is not an entry", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, 3, Options{})
			path := only(t, dir)
			whole := text(t, path)
			put(t, path, append(whole, tt.tail(bytes.Clone(whole))...))
			damaged := tt.want == "is not an entry"
			if rep := check(t, dir, Check{}); damaged != (len(rep.Problems) > 0) {
				t.Errorf("before it was opened: found %s", list(rep.Problems))
			}
			write(t, 1, Options{Dir: dir})
			rep := check(t, dir, Check{})
			if damaged != (len(rep.Problems) > 0) {
				t.Errorf("after it was opened: found %s", list(rep.Problems))
			}
			var reasons []string
			there := false
			for _, e := range entries(t, dir, Query{}) {
				if e.Reason != "" {
					reasons = append(reasons, e.Reason)
				}
				there = there || e.Subject.ID == "k9"
			}
			if got := strings.Join(reasons, "; "); !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("the log says %q, want %q", got, tt.want)
			}
			if there != tt.added {
				t.Errorf("the entry of the last line is there: %v", there)
			}
		})
	}
}

// TestOpenAfterTampering opens a log that was changed while the hub was stopped: Verify still
// finds the change, and later entries are valid.
func TestOpenAfterTampering(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		tamper func(t *testing.T, path string)
		want   Problem
	}{
		{"cut off", func(t *testing.T, path string) {
			lines := bytes.SplitAfter(text(t, path), []byte("\n"))
			put(t, path, bytes.Join(lines[:3], nil))
		}, Problem{Kind: Missing, Seq: 4}},
		{"emptied", func(t *testing.T, path string) { put(t, path, nil) }, Problem{Kind: Missing, Seq: 1}},
		{"removed", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, Problem{Kind: Missing, Seq: 1}},
		{"changed at the end", func(t *testing.T, path string) {
			b := text(t, path)
			put(t, path, append(b[:len(b)-10], []byte("00000000\n")...))
		}, Problem{Kind: Changed, Seq: 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, 3, Options{})
			tt.tamper(t, only(t, dir))
			write(t, 2, Options{Dir: dir})
			write(t, 2, Options{Dir: dir})
			rep := check(t, dir, Check{})
			if len(rep.Problems) != 1 || rep.Problems[0].Kind != tt.want.Kind || rep.Problems[0].Seq != tt.want.Seq {
				t.Errorf("found %s, want %q at entry %d", list(rep.Problems), tt.want.Kind, tt.want.Seq)
			}
			if got := entries(t, dir, Query{Action: "audit.damaged"}); len(got) != 1 {
				t.Errorf("the log says %d times that it was damaged, want once", len(got))
			}
		})
	}
}

// TestPruning removes old segments: Verify accepts the log, and reports one more removed
// segment.
func TestPruning(t *testing.T) {
	t.Parallel()
	dir := write(t, 200, Options{SegmentSize: 4 << 10, KeepSize: 16 << 10})
	all, err := segments(dir)
	if err != nil || len(all) < 3 || all[0].first == 1 {
		t.Fatalf("segments = %v, %v, want the oldest gone", all, err)
	}
	rep := sound(t, dir)
	if rep.First != all[0].first || len(rep.Notes) > 0 {
		t.Errorf("the log begins with %d, want %d; notes %s", rep.First, all[0].first, list(rep.Notes))
	}
	total := int64(0)
	for _, s := range all {
		total += sizeOf(s.path)
	}
	if total > 32<<10 {
		t.Errorf("%d bytes are kept, want about 16 KiB", total)
	}
	if err := os.Remove(all[0].path); err != nil {
		t.Fatal(err)
	}
	rep = check(t, dir, Check{})
	if len(rep.Problems) != 1 || rep.Problems[0].Kind != Missing {
		t.Errorf("without the first segment: found %s", list(rep.Problems))
	}
}

// TestPruningByAge keeps recent segments.
func TestPruningByAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "audit")
		o := Options{Dir: dir, SegmentSize: 2 << 10, KeepAge: 24 * time.Hour}
		l := openTest(t, o)
		for i := range 30 {
			if err := l.Append(added(i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Hour)
			synctest.Wait()
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		sound(t, dir)
		got := entries(t, dir, Query{Action: "key"})
		if age := time.Since(got[0].At); age < 24*time.Hour || age > 48*time.Hour {
			t.Errorf("the oldest entry is %v old, want about a day", age)
		}
	})
}

// TestRefusals counts repeated refusals.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "audit")
		l := openTest(t, Options{Dir: dir})
		refuse := func(from, reason string) {
			l.Refused(&Record{Action: AuthRefused, Actor: Actor{From: from}, Reason: reason})
		}
		for range 1000 {
			refuse("192.0.2.1:1", "unknown key")
			refuse("192.0.2.1:2", "unknown key")
			refuse("192.0.2.2:1", "unknown key")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		refuse("192.0.2.1:3", "unknown key")
		time.Sleep(time.Second)
		synctest.Wait()
		type line struct{ from, further string }
		var got []line
		for _, e := range entries(t, dir, Query{Action: "auth.refused"}) {
			got = append(got, line{e.Actor.From, e.Detail["further"]})
		}
		if len(got) == 5 && got[2].from > got[3].from { // two windows end at one time
			got[2], got[3] = got[3], got[2]
		}
		want := []line{{"192.0.2.1:1", ""}, {"192.0.2.2:1", ""}, {"192.0.2.1:1", "1999"}, {"192.0.2.2:1", "999"}, {"192.0.2.1:3", ""}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
			t.Errorf("refusals (-want +got):\n%s", diff)
		}
		for i := range 100_000 { // from many addresses
			refuse(fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>8, i&255), "unknown key")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(entries(t, dir, Query{Action: "auth.refused"})); n > maxTallies+20 {
			t.Errorf("%d entries of a flood, want at most about %d", n, maxTallies)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		sound(t, dir)
	})
}

// TestSignatures signs a log that is open for a long time.
func TestSignatures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "audit")
		l := openTest(t, Options{Dir: dir})
		for range 3 {
			if err := l.Append(&Record{Action: TaskSend}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(11 * time.Minute)
			synctest.Wait()
		}
		time.Sleep(time.Hour) // without entries there is no signature
		synctest.Wait()
		if n := len(entries(t, dir, Query{Action: string(auditSigned)})); n != 3 {
			t.Errorf("%d signatures, want 3", n)
		}
		rep := sound(t, dir)
		if rep.Signed != rep.Last.Seq {
			t.Errorf("signed up to %d of %d", rep.Signed, rep.Last.Seq)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestQueries reads parts of a log.
func TestQueries(t *testing.T) {
	t.Parallel()
	dir := write(t, 40, Options{SegmentSize: 4 << 10})
	all := entries(t, dir, Query{})
	for _, tt := range []struct {
		name string
		q    Query
		want func(e *Entry) bool
	}{
		{"after", Query{After: 20}, func(e *Entry) bool { return e.Seq > 20 }},
		{"actor", Query{Actor: "hub"}, func(e *Entry) bool { return e.Actor.ID == "hub" }},
		{"owner", Query{Actor: "org:acme"}, func(e *Entry) bool { return e.Actor.ID == "ann" }},
		{"kind of action", Query{Action: "audit"}, func(e *Entry) bool { return e.Action != KeyAdd }},
		{"part of a word", Query{Action: "key.ad"}, func(*Entry) bool { return false }},
		{"since", Query{Since: all[25].At}, func(e *Entry) bool { return !e.At.Before(all[25].At) }},
		{"until", Query{Until: all[25].At}, func(e *Entry) bool { return e.At.Before(all[25].At) }},
		{"task", Query{Task: "t"}, func(*Entry) bool { return false }},
	} {
		var want []uint64
		for i := range all {
			if tt.want(&all[i]) {
				want = append(want, all[i].Seq)
			}
		}
		var got []uint64
		for _, e := range entries(t, dir, tt.q) {
			got = append(got, e.Seq)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	m := Mark{12, Hash{0xab, 2, 3}}
	if got, err := ParseMark(m.String()); err != nil || got != m {
		t.Errorf("ParseMark(%s) = %v, %v", m, got, err)
	}
	for _, bad := range []string{"", "12", "x:" + m.Hash.String(), "0:" + m.Hash.String(), "12:" + strings.ToUpper(m.Hash.String()), "12:" + m.Hash.String() + "0"} {
		if got, err := ParseMark(bad); err == nil {
			t.Errorf("ParseMark(%q) = %v", bad, got)
		}
	}
	if _, err := ParseKey("ssh-ed25519 AAAA"); err == nil {
		t.Error("ParseKey takes another form")
	}
}

// With concurrent calls of Close, the log is signed and on disk when any of them returns.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := filepath.Join(t.TempDir(), "audit")
		l := openTest(t, Options{Dir: dir})
		for i := range 100 {
			if _, err := l.Begin(added(i)); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := l.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
				if rep, err := Verify(dir, Check{}); err != nil || len(rep.Problems) > 0 || rep.Signed != rep.Last.Seq || rep.Entries != 102 {
					t.Errorf("when Close has returned, the log is %+v, %v", rep, err)
				}
			})
		}
		wg.Wait()
	}
}
