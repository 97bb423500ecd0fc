package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
)

const filledTasks = 400

// filled returns the path of a closed store with 400 tasks. Their logs have three entries and
// fill most of its pages.
func filled(t *testing.T, template string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.db")
	copyFiles(t, template, path)
	return path
}

// fillMuch makes the file that filled copies.
func fillMuch(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range filledTasks {
		e := created(task.Millis(i + 1))
		e.Body = []byte(`{"messageId":"m","parts":[{"text":"` + strings.Repeat("x", 800) + `"}]}`)
		h := put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), e)
		h = put(t, db.Tasks(), h, status(task.Working, 500))
		put(t, db.Tasks(), h, status(task.Completed, 600))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// problems returns the problems that Examine reports.
func problems(t *testing.T, path string) (texts []string, n Examined) {
	t.Helper()
	n, err := Examine(t.Context(), path, func(p Problem) { texts = append(texts, p.Text) })
	if err != nil {
		texts = append(texts, err.Error())
	}
	return texts, n
}

// pages overwrites n pages of a file from a number, which counts from the end if it is negative.
func pages(from, n int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		text := []byte(read(t, path))
		if from < 0 {
			from += len(text) / 4096
		}
		for i := from * 4096; i < (from+n)*4096; i++ {
			text[i] = byte(i * 7)
		}
		write(t, path, string(text))
	}
}

// TestSalvage damages a file. Examine finds the damage, and Salvage makes a whole file that has at
// least the tasks that SQLite still reaches, and changes nothing in the damaged one.
func TestSalvage(t *testing.T) {
	t.Parallel()
	template := fillMuch(t)
	for name, tt := range map[string]struct {
		spoil    func(t *testing.T, path string)
		min, max int // tasks that end as they did
		cut      int // tasks that have failed at least
	}{
		"whole":            {func(*testing.T, string) {}, 400, 400, 0},
		"some pages":       {pages(-20, 3), 300, 399, 0},
		"many pages":       {pages(-35, 25), 50, 399, 0},
		"first page":       {pages(0, 1), 0, 0, 0},
		"root of entries":  {func(t *testing.T, path string) { rootPage(t, path, "entries") }, 0, 0, 0},
		"root of tasks":    {func(t *testing.T, path string) { rootPage(t, path, "tasks") }, 0, 0, 0},
		"root of an index": {func(t *testing.T, path string) { rootPage(t, path, "tasks_list") }, 400, 400, 0},
		"root of counters": {func(t *testing.T, path string) { rootPage(t, path, "counters") }, 400, 400, 0},
		"second half":      {func(t *testing.T, path string) { halve(t, path) }, 50, 399, 0},
		"last entries missing": {func(t *testing.T, path string) {
			sql(t, path, "DELETE FROM entries WHERE place % 5 = 0 AND place & 15 = 3")
		}, 300, 390, 10},
		"entries damaged": {func(t *testing.T, path string) {
			sql(t, path, "UPDATE entries SET data = x'ff' WHERE place >> 24 IN (5, 6) AND place & 15 = 2")
		}, 398, 398, 2},
		"logs missing":   {func(t *testing.T, path string) { sql(t, path, "DELETE FROM entries WHERE place >> 24 IN (5, 6)") }, 398, 398, 0},
		"head damaged":   {func(t *testing.T, path string) { sql(t, path, "UPDATE tasks SET rest = x'ff' WHERE key < 4") }, 400, 400, 0},
		"text of a head": {func(t *testing.T, path string) { flip(t, path, "tasks", "rest") }, 400, 400, 0},
		"texts of a log": {func(t *testing.T, path string) {
			sql(t, path, "UPDATE entries SET data = CAST(substr(data, 1, length(data) - 1) || x'fe' AS BLOB) WHERE place >> 24 IN (5, 6) AND place & 15 = 2")
		}, 398, 398, 2},
		"state wrong":       {func(t *testing.T, path string) { sql(t, path, "UPDATE tasks SET state = 2 WHERE key = 4") }, 400, 400, 0},
		"counters wrong":    {func(t *testing.T, path string) { sql(t, path, "UPDATE counters SET n = 7") }, 400, 400, 0},
		"owners missing":    {func(t *testing.T, path string) { sql(t, path, "DELETE FROM owners") }, 400, 400, 0},
		"names overwritten": {func(t *testing.T, path string) { rootPage(t, path, "scopes"); rootPage(t, path, "owners") }, 400, 400, 0},
		"removed":           {func(t *testing.T, path string) { remove(t, path) }, 0, 0, 0},
		"zeros":             {func(t *testing.T, path string) { write(t, path, strings.Repeat("\x00", len(read(t, path)))) }, 0, 0, 0},
		"rescued":           {func(t *testing.T, path string) { rename(t, path, path+rescuedSuffix) }, 400, 400, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filled(t, template)
			tt.spoil(t, path)
			before := contents(t, filepath.Dir(path))
			if found, _ := problems(t, path); (len(found) == 0) != (name == "whole") {
				t.Errorf("Examine found %q", found)
			}
			to := filepath.Join(t.TempDir(), "parley.db")
			r, err := Salvage(t.Context(), path, to)
			if err != nil {
				t.Fatal(err)
			}
			if after := contents(t, filepath.Dir(path)); !slices.Equal(fileNames(after), fileNames(before)) || after[filepath.Base(path)] != before[filepath.Base(path)] {
				t.Errorf("the damaged folder was changed: %q, before %q", fileNames(after), fileNames(before))
			}
			wantSalvaged(t, to, r, [2]int{tt.min, tt.max}, tt.cut)
		})
	}
}

func fileNames(files map[string]string) (all []string) {
	for name := range files {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// wantSalvaged opens a salvaged file.
func wantSalvaged(t *testing.T, path string, r *Salvaged, completed [2]int, cut int) {
	t.Helper()
	if found, n := problems(t, path); len(found) > 0 || n.Tasks != r.Tasks || n.Entries != r.Entries {
		t.Errorf("the salvaged file has the problems %q, and %+v, want %d tasks and %d entries", found, n, r.Tasks, r.Entries)
	}
	db := openTest(t, path, Options{})
	wantSound(t, db)
	ended, failed := 0, 0
	eachTask(t, db, func(h task.Head, _ []task.Entry) {
		switch h.State {
		case task.Completed:
			ended++
		case task.Failed:
			failed++
			if !slices.Contains(r.Cut, h.ID) {
				t.Errorf("task %s has failed, and is not reported", h.ID)
			}
		default:
			t.Errorf("task %s is %v", h.ID, h.State)
		}
	})
	t.Logf("%d completed, %d failed, %d lost", ended, failed, r.Lost)
	if ended < completed[0] || ended > completed[1] || failed < cut || int64(ended+failed) != r.Tasks {
		t.Errorf("%d tasks were saved and %d cut, of %d reported; want %v and at least %d", ended, failed, r.Tasks, completed, cut)
	}
	put(t, db.Tasks(), newHead("anna", "new"), created(1))
}

// TestSalvageOfALog: the commits in the write-ahead log are saved up to a damaged page, as SQLite
// reads them, and none of the log of another file.
func TestSalvageOfALog(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil    func(t *testing.T, path string)
		min, max int
	}{
		"whole":       {func(*testing.T, string) {}, 60, 60},
		"a bad page":  {func(t *testing.T, path string) { overwrite(t, path+"-wal", "damage", 32+20*(4096+24)+2000) }, 30, 59},
		"mark lost":   {func(t *testing.T, path string) { remove(t, path+"-mark") }, 60, 60},
		"log removed": {func(t *testing.T, path string) { remove(t, path+"-wal") }, 30, 59},
		"log of another file": {func(t *testing.T, path string) {
			write(t, path+"-wal", read(t, killed(t)+"-wal"))
		}, 30, 59},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := killed(t)
			tt.spoil(t, path)
			to := filepath.Join(t.TempDir(), "parley.db")
			if _, err := Salvage(t.Context(), path, to); err != nil {
				t.Fatal(err)
			}
			if got := found(t, openTest(t, to, Options{})); got < tt.min || got > tt.max {
				t.Errorf("%d tasks were saved, want %d to %d", got, tt.min, tt.max)
			}
		})
	}
}

// TestSalvageRefusesAFileThatIsThere: nothing is overwritten.
func TestSalvageRefusesAFileThatIsThere(t *testing.T) {
	t.Parallel()
	path := fillMuch(t)
	if err := os.WriteFile(path+".salvage", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Salvage(t.Context(), path, path); !errors.Is(err, os.ErrExist) {
		t.Errorf("Salvage = %v, want ErrExist", err)
	}
}

// TestExamineOfARunningStore: the checks do not disturb a store that is written meanwhile.
func TestExamineOfARunningStore(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			h := newHead("anna", fmt.Sprint("t", i))
			c, err := stepped(h, created(1), status(task.Completed, 2))
			if err == nil {
				err = db.Tasks().Append(t.Context(), c)
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if found, _ := problems(t, db.Path()); len(found) > 0 {
			t.Fatalf("Examine of a running store found %q", found)
		}
	}
}

// TestSalvageKeepsTheTimeline: the moments keep their order and positions below a new ID. Those of
// lost tasks have no task, those of a cut task end with its failure, and no key is given out again.
func TestSalvageKeepsTheTimeline(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var heads []task.Head
	for i := range 5 {
		h := put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), created(task.Millis(i+1)))
		heads = append(heads, put(t, db.Tasks(), h, status(task.Working, 500)))
	}
	if err := db.Tasks().AddNotices(t.Context(), [][]byte{[]byte("notice")}); err != nil {
		t.Fatal(err)
	}
	before, err := db.Tasks().Timeline(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cut, lost := heads[1].Key, heads[4].Key
	sql(t, path, fmt.Sprintf("DELETE FROM entries WHERE place = (%d << 24) + 2", cut))
	sql(t, path, fmt.Sprintf("DELETE FROM entries WHERE place >> 24 = %d", lost))
	sql(t, path, "UPDATE sequence SET next_key = 1")
	sql(t, path, "UPDATE timeline SET data = x'ff' WHERE seq = 1")

	to := filepath.Join(t.TempDir(), "parley.db")
	if _, err := Salvage(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, to, Options{})
	after, err := again.Tasks().Timeline(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if after.ID == before.ID {
		t.Error("the timeline has the same ID, so that positions behind its end would count")
	}
	want := before.Moments[1:]
	if len(after.Moments) != len(want)+1 {
		t.Fatalf("%d moments were saved, want %d and the end of the cut task", len(after.Moments), len(want))
	}
	for i, m := range after.Moments[:len(want)] {
		gone := want[i].Key == lost || want[i].Key == cut && want[i].First == 2
		if m.Seq != want[i].Seq || string(m.Notice) != string(want[i].Notice) || (m.Head.Key == 0) != (gone || m.Notice != nil) {
			t.Errorf("moment %d is %+v, want that of %+v", i, m, want[i])
		}
	}
	if end := after.Moments[len(want)]; end.Key != cut || end.First != 2 || end.Head.State != task.Failed {
		t.Errorf("the last moment is %+v, want the failure of task %d", end, cut)
	}
	if h := put(t, again.Tasks(), newHead("anna", "new"), created(1)); h.Key <= lost {
		t.Errorf("a new task has key %d, which a lost one had", h.Key)
	}
}
