package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEachByteCounts flips each byte of a log: Verify names the changed entry.
func TestEachByteCounts(t *testing.T) {
	t.Parallel()
	dir := write(t, 3, Options{})
	path := only(t, dir)
	sound(t, dir)
	whole := text(t, path)
	seq := uint64(1)
	for i, b := range whole {
		for _, flip := range []byte{1, 0x80} {
			changed := bytes.Clone(whole)
			changed[i] = b ^ flip
			put(t, path, changed)
			rep := check(t, dir, Check{})
			if len(rep.Problems) == 0 {
				t.Fatalf("byte %d, %q, was flipped by %#x, and nothing was found", i, b, flip)
			}
			p := rep.Problems[0]
			if p.Seq != seq || p.Kind != Changed && p.Kind != Missing {
				t.Fatalf("byte %d of entry %d, %q, was flipped by %#x; found: %s", i, seq, b, flip, list(rep.Problems))
			}
		}
		if b == '\n' {
			seq++
		}
	}
}

// TestLinesAreTamperedWith changes each line in every way that is possible without the key.
func TestLinesAreTamperedWith(t *testing.T) {
	t.Parallel()
	dir := write(t, 6, Options{})
	path := only(t, dir)
	whole := slices.Collect(bytes.Lines(text(t, path)))
	for i := range whole {
		n := uint64(i + 1)
		tampered := func(name string, want Problem, lines [][]byte) {
			t.Helper()
			put(t, path, bytes.Join(lines, nil))
			rep := check(t, dir, Check{})
			if len(rep.Problems) == 0 {
				t.Errorf("%s at entry %d: nothing was found", name, n)
				return
			}
			p := rep.Problems[0]
			if len(rep.Problems) != 1 || p.Kind != want.Kind || p.Seq != want.Seq || want.Line != 0 && p.Line != want.Line {
				t.Errorf("%s at entry %d: found %s\n\twant %q at entry %d alone", name, n, list(rep.Problems), want.Kind, want.Seq)
			}
		}
		without := slices.Delete(slices.Clone(whole), i, i+1)
		tampered("delete", Problem{Kind: Missing, Seq: n}, without)
		tampered("repeat", Problem{Kind: Repeated, Seq: n, Line: i + 2}, slices.Insert(slices.Clone(whole), i, whole[i]))
		tampered("cut off", Problem{Kind: Missing, Seq: n}, whole[:i:i])
		if i == len(whole)-1 {
			break
		}
		swapped := slices.Clone(whole)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		tampered("swap", Problem{Kind: Moved, Seq: n, Line: i + 2}, swapped)
		tampered("insert words", Problem{Kind: Inserted, Line: i + 2}, slices.Insert(slices.Clone(whole), i+1, []byte("nothing\n")))
		forged := forge(t, whole[i], n+1)
		tampered("insert a forged entry", Problem{Kind: Inserted, Seq: n + 1, Line: i + 2}, slices.Insert(slices.Clone(whole), i+1, forged))
		tampered("insert a chain of forged entries", Problem{Kind: Inserted, Seq: n + 1, Line: i + 2},
			slices.Insert(slices.Clone(whole), i+1, forged, forge(t, forged, n+2)))
		replaced := slices.Clone(whole)
		replaced[i+1] = forged
		if i+2 < len(whole) {
			tampered("replace the next", Problem{Kind: Replaced, Seq: n + 1, Line: i + 2}, replaced)
		} else {
			tampered("replace the last", Problem{Kind: Elsewhere, Seq: n + 1, Line: i + 2}, replaced)
		}
	}
	put(t, path, bytes.Join(whole, nil))
	sound(t, dir)
}

// forge returns an entry that follows the one on a line.
func forge(t *testing.T, before []byte, seq uint64) []byte {
	t.Helper()
	e, err := Parse(before)
	if err != nil {
		t.Fatal(err)
	}
	line, _ := appendEntry(nil, position{seq, e.Hash}, e.At, added(666))
	return line
}

// TestRewrittenChain rewrites a log from some entry on, with valid hashes but without the key:
// the next signature is invalid.
func TestRewrittenChain(t *testing.T) {
	t.Parallel()
	dir := write(t, 6, Options{})
	path := only(t, dir)
	whole := slices.Collect(bytes.Lines(text(t, path)))
	noted := sound(t, dir).Last
	for from := 2; from < len(whole)-1; from++ {
		put(t, path, rewrite(t, whole, from, nil))
		rep := check(t, dir, Check{})
		if len(rep.Problems) != 2 || rep.Problems[1].Kind != Unsigned && rep.Problems[0].Kind != Unsigned {
			t.Errorf("rewritten from entry %d on: found %s\n\twant a bad signature and another head", from+1, list(rep.Problems))
		}
		for i := range rep.Problems {
			if rep.Problems[i].Seq != uint64(len(whole)) {
				t.Errorf("rewritten from entry %d on: found %s", from+1, list(rep.Problems))
			}
		}
	}

	// A log written with another key is consistent; only the key or a head can expose it.
	other := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	put(t, path, rewrite(t, whole, 0, other))
	if err := os.Remove(filepath.Join(dir, headName)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		check Check
		want  Kind
	}{
		{"with the key", Check{Key: testKey.Public().(ed25519.PublicKey)}, Unsigned},
		{"with the head", Check{Heads: []Mark{noted}}, Elsewhere},
		{"with neither", Check{}, Missing},
	} {
		rep := check(t, dir, tt.check)
		if !slices.ContainsFunc(rep.Problems, func(p Problem) bool { return p.Kind == tt.want }) {
			t.Errorf("rewritten with another key, verified %s: found %s, want %q", tt.name, list(rep.Problems), tt.want)
		}
	}
}

// rewrite returns the lines with another actor from a line on, in a valid chain. With a key, it
// also renews the signatures and names that key.
func rewrite(t *testing.T, whole [][]byte, from int, key ed25519.PrivateKey) []byte {
	t.Helper()
	out := bytes.Join(whole[:from], nil)
	var p position
	for i, line := range whole {
		e, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if i < from {
			p = position{e.Seq + 1, e.Hash}
			continue
		}
		r := &Record{Actor: e.Actor, Action: e.Action, Subject: e.Subject, Outcome: e.Outcome, Reason: e.Reason}
		if r.Actor.ID == "ann" {
			r.Actor.ID = "bob"
		}
		if p.seq == 0 {
			p.seq = 1
		}
		for name, value := range e.Detail {
			switch {
			case key != nil && name == "key":
				value = KeyText(key.Public().(ed25519.PublicKey))
			case key != nil && name == "signature":
				value = encode(ed25519.Sign(key, checkpointText(e.Subject.ID, p)))
			}
			r.Detail = append(r.Detail, Field{name, value})
		}
		var sum Hash
		out, sum = appendEntry(out, p, e.At, r)
		p = position{p.seq + 1, sum}
	}
	return out
}

// TestMissingSegments removes each file of a log with several segments.
func TestMissingSegments(t *testing.T) {
	t.Parallel()
	dir := write(t, 40, Options{SegmentSize: 4 << 10})
	all, err := segments(dir)
	if err != nil || len(all) < 4 {
		t.Fatalf("%d segments, %v", len(all), err)
	}
	sound(t, dir)
	for i, s := range all {
		away := s.path + ".away"
		if err := os.Rename(s.path, away); err != nil {
			t.Fatal(err)
		}
		rep := check(t, dir, Check{})
		want := s.first
		if i == 0 {
			want = 1
		}
		if len(rep.Problems) != 1 || rep.Problems[0].Kind != Missing || rep.Problems[0].Seq != want {
			t.Errorf("without %s: found %s, want entry %d missing", filepath.Base(s.path), list(rep.Problems), want)
		}
		if err := os.Rename(away, s.path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, headName)); err != nil {
		t.Fatal(err)
	}
	if rep := check(t, dir, Check{}); len(rep.Problems) != 1 || rep.Problems[0].Kind != Missing {
		t.Errorf("without %s: found %s", headName, list(rep.Problems))
	}
}

// TestHeadFileIsSigned changes each byte of head.json.
func TestHeadFileIsSigned(t *testing.T) {
	t.Parallel()
	dir := write(t, 2, Options{})
	path := filepath.Join(dir, headName)
	whole := text(t, path)
	for i, b := range bytes.TrimSpace(whole) {
		changed := bytes.Clone(whole)
		changed[i] = b ^ 1
		put(t, path, changed)
		var h, was head
		if json.Unmarshal(changed, &h) == nil && json.Unmarshal(whole, &was) == nil && h == was {
			continue // the case of the name of a member
		}
		if rep := check(t, dir, Check{Key: testKey.Public().(ed25519.PublicKey)}); len(rep.Problems) == 0 {
			if h.Log == was.Log && h.Seq == was.Seq && h.Hash == was.Hash && h.At == was.At && h.Signature == was.Signature {
				continue // the key in the file is not trusted
			}
			t.Errorf("byte %d, %q, was changed, and nothing was found", i, b)
		}
	}
}

// TestTamperedAnyhow makes random changes to a log of several segments, and expects Verify to
// report a problem.
func TestTamperedAnyhow(t *testing.T) {
	t.Parallel()
	dir := write(t, 30, Options{SegmentSize: 4 << 10})
	all, err := segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	whole := make([][]byte, len(all))
	for i, s := range all {
		whole[i] = text(t, s.path)
	}
	rapid.Check(t, func(rt *rapid.T) {
		i := rapid.IntRange(0, len(all)-1).Draw(rt, "segment")
		lines := slices.Collect(bytes.Lines(bytes.Clone(whole[i])))
		for range rapid.IntRange(1, 3).Draw(rt, "times") {
			a := rapid.IntRange(0, len(lines)-1).Draw(rt, "line")
			b := rapid.IntRange(0, len(lines)-1).Draw(rt, "other")
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				lines[a], lines[b] = lines[b], lines[a]
			case 1:
				lines = slices.Insert(lines, a, lines[b])
			case 2:
				if lines = slices.Delete(lines, a, a+1); len(lines) == 0 {
					lines = append(lines, []byte("\n"))
				}
			case 3:
				lines[a] = bytes.Replace(lines[a], []byte("ann"), []byte("bob"), 1)
			}
		}
		now := bytes.Join(lines, nil)
		put(t, all[i].path, now)
		defer put(t, all[i].path, whole[i])
		rep := check(t, dir, Check{})
		if same := bytes.Equal(now, whole[i]); same != (len(rep.Problems) == 0) {
			rt.Fatalf("the log is the same: %v; found %s", same, list(rep.Problems))
		}
	})
}

// TestProblemsAreReadable compares the text of a problem.
func TestProblemsAreReadable(t *testing.T) {
	t.Parallel()
	dir := write(t, 4, Options{})
	path := only(t, dir)
	put(t, path, bytes.Replace(text(t, path), []byte(`"id":"k1"`), []byte(`"id":"k9"`), 1))
	rep := check(t, dir, Check{})
	if len(rep.Problems) != 1 {
		t.Fatalf("found %s", list(rep.Problems))
	}
	want := fmt.Sprintf("%s:3: entry 3: the entry was changed: its bytes do not match its hash", path)
	if got := rep.Problems[0].String(); got != want {
		t.Errorf("the problem is %q, want %q", got, want)
	}
	if rep.Signed != rep.Last.Seq || !strings.HasPrefix(rep.Key, keyPrefix) {
		t.Errorf("signed up to %d of %d with %s", rep.Signed, rep.Last.Seq, rep.Key)
	}
}
