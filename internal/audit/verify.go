package audit

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a problem.
type Kind string

const (
	// Changed means that the bytes of an entry were changed.
	Changed Kind = "changed"
	// Missing means that entries are missing.
	Missing Kind = "missing"
	// Moved means that an entry is not at its original position.
	Moved Kind = "moved"
	// Repeated means that an entry occurs twice.
	Repeated Kind = "repeated"
	// Inserted means that a line was inserted between entries.
	Inserted Kind = "inserted"
	// Replaced means that an entry is not the one to which the next entry refers.
	Replaced Kind = "replaced"
	// Unsigned means that a signature is not valid for the key.
	Unsigned Kind = "bad signature"
	// Elsewhere means that the log does not contain a noted head.
	Elsewhere Kind = "another head"
)

// Problem is a problem in a log, with its position.
type Problem struct {
	File string `json:"file"`
	// Line counts from 1; zero if the problem concerns the file.
	Line int `json:"line,omitempty"`
	// Seq is the number of the first affected entry; zero if unknown.
	Seq  uint64 `json:"seq,omitempty"`
	Kind Kind   `json:"kind,omitempty"`
	Text string `json:"text"`
}

// String returns "FILE:LINE: entry N: TEXT".
func (p *Problem) String() string {
	where := p.File
	if p.Line > 0 {
		where += ":" + strconv.Itoa(p.Line)
	}
	if p.Seq > 0 {
		where += ": entry " + strconv.FormatUint(p.Seq, 10)
	}
	return where + ": " + p.Text
}

// Check configures the verification of a log. The zero Check verifies only its consistency.
type Check struct {
	// Key is the public key of the hub. If nil, the key named in the log is used.
	Key ed25519.PublicKey
	// Heads are positions of the log, noted elsewhere, that it must contain.
	Heads []Mark
}

// Report is the result of Verify.
type Report struct {
	// Log is the random name of the log, Key its public key in text form.
	Log string `json:"log"`
	Key string `json:"key"`
	// Files is the number of files read, and Entries the number of entries, from First to Last.
	Files   int    `json:"files"`
	Entries uint64 `json:"entries"`
	First   uint64 `json:"first"`
	Last    Mark   `json:"last"`
	// Signed is the last entry covered by a valid signature.
	Signed uint64 `json:"signed"`
	// Problems are the problems found; empty if there are none.
	Problems []Problem `json:"problems"`
	// Notes are remarks for the operator that are not problems.
	Notes []Problem `json:"notes"`
}

// maxProblems limits the number of problems, and of notes, in a report.
const maxProblems = 100

// Verify verifies the log at path: a folder of segments, a data folder with a folder "audit",
// or a single file of consecutive entries. The error reports a failed read; problems of the log
// are in the Report.
func Verify(path string, c Check) (*Report, error) {
	v, files, err := newVerifier(path, c)
	if err != nil {
		return nil, fmt.Errorf("verify audit log: %w", err)
	}
	for i, f := range files {
		if err := v.file(f, i == len(files)-1); err != nil {
			return nil, fmt.Errorf("verify audit log: %w", err)
		}
	}
	v.finish()
	return &v.rep, nil
}

// Folder returns the folder of the log at path: path itself, or its folder "audit".
func Folder(path string) string {
	if sub := filepath.Join(path, "audit"); path != "" {
		if info, err := os.Stat(sub); err == nil && info.IsDir() {
			return sub
		}
	}
	return path
}

// newVerifier finds the files. It reads head.json before them, because a hub may be writing.
func newVerifier(path string, c Check) (*verifier, []segment, error) {
	v := &verifier{check: c, rep: Report{Problems: []Problem{}, Notes: []Problem{}}, key: c.Key}
	for _, m := range c.Heads {
		v.heads = append(v.heads, wanted{Mark: m})
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		v.single = true
		return v, []segment{{path: path}}, nil
	}
	dir := Folder(path)
	if v.head, err = readHead(dir); err != nil {
		v.problem(&Problem{File: filepath.Join(dir, headName), Kind: Unsigned, Text: "the file was changed: it does not say where the log ends"})
	}
	all, err := segments(dir)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("there is no audit log in %s", dir)
	}
	if v.head == nil && len(v.rep.Problems) == 0 {
		v.problem(&Problem{File: filepath.Join(dir, headName), Kind: Missing, Text: "the file is missing: nothing says where the log ends"})
	}
	if v.head != nil {
		v.heads = append(v.heads, wanted{Mark: Mark{v.head.Seq, v.head.Hash}, file: headName})
		if v.key == nil {
			v.key, _ = ParseKey(v.head.Key) // until a segment names it
		}
	}
	v.dir = dir
	return v, all, err
}

// link is a verified line.
type link struct {
	seq  uint64
	hash Hash
	prev Hash
	// unknown is set if the line was changed, so that hash is meaningless.
	unknown bool
	file    string
	line    int
	at      time.Time
}

// wanted is a position that the log must contain.
type wanted struct {
	Mark
	// got is the hash of the entry at the position, and at the place where it was found.
	got Hash
	at  link
	// file is head.json if the position comes from it; empty if it was noted elsewhere.
	file string
}

// verifier verifies a log line by line.
type verifier struct {
	check  Check
	rep    Report
	key    ed25519.PublicKey
	head   *head
	heads  []wanted
	dir    string
	single bool

	last   link   // the last accepted entry; seq 0 before the first
	recent []link // the last maxRecent entries, ending with last
	base   position
	begins bool   // an entry names base as the beginning of the log
	bound  bool   // the next line is the first of its file
	named  uint64 // the number of the first entry, according to the name of the file
	names  bool   // the log has named its key
}

// maxRecent is the number of entries among which a repeated entry is looked for.
const maxRecent = 64

func (v *verifier) problem(p *Problem) {
	if len(v.rep.Problems) < maxProblems {
		v.rep.Problems = append(v.rep.Problems, *p)
	}
}

func (v *verifier) note(p *Problem) {
	if len(v.rep.Notes) < maxProblems {
		v.rep.Notes = append(v.rep.Notes, *p)
	}
}

// raw is a line before its verification.
type raw struct {
	line      int
	text      []byte // without the newline
	ended     bool
	body      []byte
	named     Hash
	formed    bool // the line has the form of an entry
	truthful  bool // the bytes match the hash
	entry     Entry
	following *raw // the next line of the file; nil if there is none
}

func newRaw(line int, text []byte) *raw {
	r := &raw{line: line}
	r.text = append(r.text, text...)
	if n := len(text); n > 0 && text[n-1] == '\n' {
		r.text, r.ended = r.text[:n-1], true
	}
	r.body, r.named, r.formed = cut(r.text)
	r.truthful = r.formed && Hash(sha256.Sum256(r.body)) == r.named
	if r.formed && json.Unmarshal(r.text, &r.entry) != nil {
		r.formed, r.truthful = false, false
	}
	return r
}

// file verifies a file. A line is verified after the next one was read.
func (v *verifier) file(s segment, lastFile bool) error {
	v.rep.Files++
	v.bound, v.named = true, s.first
	var before *raw
	n := 0
	err := eachLine(s.path, func(text []byte) error {
		n++
		r := newRaw(n, text)
		if before != nil {
			before.following = r
			v.line(s.path, before, false)
			before.following = nil
		}
		before = r
		return nil
	})
	if err != nil {
		return err
	}
	if before != nil {
		v.line(s.path, before, lastFile)
	}
	return nil
}

// line verifies a line. end is set for the last one of the log.
func (v *verifier) line(file string, r *raw, end bool) {
	expected := v.last.seq + 1
	if v.last.seq == 0 {
		expected = max(v.named, 1)
	}
	here := link{seq: expected, file: file, line: r.line, at: r.entry.At}
	switch {
	case !r.ended && end && !r.truthful:
		v.note(&Problem{File: file, Line: r.line, Text: fmt.Sprintf(
			"the last line is unfinished (%d bytes): the hub is writing it, or was killed while it did, and cuts it off when it starts", len(r.text))})
		return
	case !r.ended && end:
		v.note(&Problem{File: file, Line: r.line, Seq: r.entry.Seq, Text: "the newline after the last line is missing"})
	case !r.ended:
		r.truthful = false
	}
	if !r.truthful {
		v.untrue(&here, r)
		return
	}
	e := &r.entry
	here.seq, here.hash, here.prev = e.Seq, r.named, e.Prev
	switch {
	case v.last.seq == 0:
		v.begin(&here, e)
	case e.Seq > expected:
		v.gap(&here)
	case e.Seq == expected && !v.last.unknown && e.Prev != v.last.hash:
		v.problem(&Problem{File: v.last.file, Line: v.last.line, Seq: v.last.seq, Kind: Replaced, Text: fmt.Sprintf(
			"the entry was replaced: entry %d was written behind another one", here.seq)})
	case e.Seq < expected:
		v.misplaced(&here, r)
		return
	}
	v.accept(&here, e)
}

// untrue reports a line whose bytes were changed.
func (v *verifier) untrue(here *link, r *raw) {
	next := r.following
	inserted := next != nil && next.truthful && v.last.seq > 0 && next.entry.Prev == v.last.hash && !v.last.unknown
	if inserted {
		v.problem(&Problem{File: here.file, Line: here.line, Kind: Inserted, Text: fmt.Sprintf(
			"the line was inserted behind entry %d: it is not an entry, and the next line follows that one", v.last.seq)})
		return
	}
	text := "the line was changed: it is not an entry"
	if v.rep.First == 0 {
		v.rep.First = here.seq
	}
	if r.formed {
		text = "the entry was changed: its bytes do not match its hash"
	}
	v.problem(&Problem{File: here.file, Line: here.line, Seq: here.seq, Kind: Changed, Text: text})
	here.unknown = true
	if next != nil && next.truthful && r.formed && next.entry.Prev == r.named {
		here.hash, here.unknown = r.named, false
	}
	v.push(here)
}

// begin accepts the first entry of the log.
func (v *verifier) begin(here *link, e *Entry) {
	v.base = position{e.Seq, e.Prev}
	v.rep.First = e.Seq
	switch {
	case e.Seq == 1 && e.Prev != (Hash{}):
		v.problem(&Problem{File: here.file, Line: here.line, Seq: 1, Kind: Replaced, Text: "the first entry names one before it"})
	case v.single && e.Seq > 1:
		v.note(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Text: "the file begins with this entry: earlier entries cannot be checked"})
	}
}

// gap reports entries that are missing before a line.
func (v *verifier) gap(here *link) {
	from, to := v.last.seq+1, here.seq-1
	text := span(from, to, "is missing here", "are missing here")
	if v.bound {
		text += ": the end of " + filepath.Base(v.last.file) + ", or a segment between it and this one"
	}
	v.problem(&Problem{File: here.file, Line: here.line, Seq: from, Kind: Missing, Text: text})
}

// span describes a range of entries.
func span(from, to uint64, one, more string) string {
	if from == to {
		return "the entry " + one
	}
	return fmt.Sprintf("entries %d to %d %s", from, to, more)
}

// misplaced reports an entry that should have come earlier.
func (v *verifier) misplaced(here *link, r *raw) {
	for i := range v.recent {
		if v.recent[i].hash == here.hash && !v.recent[i].unknown {
			v.problem(&Problem{File: here.file, Line: here.line, Seq: here.seq, Kind: Repeated, Text: fmt.Sprintf(
				"the entry is a duplicate of line %d of %s", v.recent[i].line, filepath.Base(v.recent[i].file))})
			return
		}
	}
	if v.fills(here) {
		return
	}
	continued := r.following != nil && r.following.entry.Prev == here.hash || v.head != nil && v.head.Hash == here.hash
	for i := range v.recent {
		if v.recent[i].hash == here.prev && i+1 < len(v.recent) && continued {
			bogus, last := v.recent[i+1], v.recent[len(v.recent)-1]
			v.problem(&Problem{File: bogus.file, Line: bogus.line, Seq: bogus.seq, Kind: Inserted, Text: fmt.Sprintf(
				"%s inserted: line %d follows entry %d, and the log continues after it", lineSpan(&bogus, &last), here.line, v.recent[i].seq)})
			v.recent = v.recent[:i+1]
			v.accept(here, &r.entry)
			return
		}
	}
	v.problem(&Problem{File: here.file, Line: here.line, Seq: here.seq, Kind: Inserted, Text: fmt.Sprintf(
		"the entry was inserted: the log is at entry %d here", v.last.seq)})
}

func lineSpan(from, to *link) string {
	if from.line == to.line {
		return "the entry was"
	}
	return fmt.Sprintf("lines %d to %d were", from.line, to.line)
}

// fills turns a reported gap into a moved entry, if the entry fills it.
func (v *verifier) fills(here *link) bool {
	for i := range v.rep.Problems {
		p := &v.rep.Problems[i]
		if p.Kind != Missing || p.Seq != here.seq || p.Line == 0 {
			continue
		}
		*p = Problem{File: here.file, Line: here.line, Seq: here.seq, Kind: Moved, Text: fmt.Sprintf(
			"the entry was moved: it follows entry %d", v.last.seq)}
		return true
	}
	if v.base.seq > 1 && here.seq == v.base.seq-1 { // an entry from before the first line
		v.base = position{here.seq, here.prev}
		v.problem(&Problem{File: here.file, Line: here.line, Seq: here.seq, Kind: Moved, Text: fmt.Sprintf(
			"the entry was moved: it follows entry %d", v.last.seq)})
		return true
	}
	return false
}

// push makes a line the last one.
func (v *verifier) push(here *link) {
	v.last, v.bound = *here, false
	if len(v.recent) == maxRecent {
		v.recent = append(v.recent[:0], v.recent[1:]...)
	}
	v.recent = append(v.recent, *here)
}

// accept accepts an entry at its position.
func (v *verifier) accept(here *link, e *Entry) {
	if !v.last.at.IsZero() && e.At.Before(v.last.at) {
		v.note(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Text: fmt.Sprintf(
			"the clock went back by %v", v.last.at.Sub(e.At).Round(time.Millisecond))})
	}
	v.push(here)
	v.rep.Entries++
	v.rep.Last = Mark{e.Seq, here.hash}
	for i := range v.heads {
		if w := &v.heads[i]; w.Seq == e.Seq {
			w.got, w.at = here.hash, *here
		}
	}
	if e.Actor == itself && strings.HasPrefix(string(e.Action), familyOfAudits) {
		v.ofItself(here, e)
	}
}

// ofItself verifies the log's entries about itself.
func (v *verifier) ofItself(here *link, e *Entry) {
	switch e.Action {
	case auditSegment:
		v.segment(here, e)
	case auditSigned:
		if v.key == nil {
			v.note(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Text: "the signature cannot be checked: no line names the key"})
			return
		}
		if id := cmp.Or(v.rep.Log, e.Subject.ID); !verify(v.key, checkpointText(id, position{e.Seq, e.Prev}), e.Detail["signature"]) {
			v.problem(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Kind: Unsigned, Text: fmt.Sprintf(
				"the entry is not signed with the key %s: the hub may not have written the entries from %d on", keyText(v.key), v.rep.Signed+1)})
			return
		}
		v.rep.Signed = e.Seq
	case auditPruned:
		if e.Detail["first"] == strconv.FormatUint(v.base.seq, 10) && e.Detail["prev"] == v.base.prev.String() {
			v.begins = true
		}
	case auditDamaged, auditMended, auditLost:
		text := "the hub found: " + e.Reason
		if e.Action == auditLost {
			text = e.Detail["entries"] + " entries since " + e.Detail["since"] + " could not be written"
		}
		v.note(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Text: text})
	}
}

// segment reads the name and the key of the log from the first entry of a segment.
func (v *verifier) segment(here *link, e *Entry) {
	if v.rep.Log == "" {
		v.rep.Log = e.Subject.ID
	} else if v.rep.Log != e.Subject.ID {
		v.problem(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Kind: Inserted, Text: "the segment is of another log, " + e.Subject.ID})
	}
	named, err := ParseKey(e.Detail["key"])
	switch {
	case err != nil:
		v.problem(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Kind: Unsigned, Text: "the key of the log " + err.Error()})
	case v.check.Key != nil && !named.Equal(v.check.Key):
		if !v.names {
			v.problem(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Kind: Unsigned, Text: "the log is signed with another key, " + KeyText(named)})
		}
	case v.check.Key == nil:
		if v.names && !named.Equal(v.key) {
			v.note(&Problem{File: here.file, Line: here.line, Seq: e.Seq, Text: "from here on the log is signed with another key, " + KeyText(named)})
		}
		v.key = named
	}
	v.names = true
}

func keyText(key ed25519.PublicKey) string {
	if key == nil {
		return "that the log names"
	}
	return KeyText(key)
}

// finish verifies the beginning and the end of the log.
func (v *verifier) finish() {
	v.rep.Key = keyText(v.key)
	if !v.single && v.base.seq > 1 && !v.begins {
		v.problem(&Problem{
			File: filepath.Join(v.dir, segmentName(v.base.seq)), Line: 1, Seq: 1, Kind: Missing,
			Text: span(1, v.base.seq-1, "is missing at the beginning", "are missing at the beginning") + ", and no entry says that they were removed by age or size",
		})
	}
	if v.head != nil {
		v.checkHead()
	}
	for i := range v.heads {
		v.checkNoted(&v.heads[i])
	}
}

// checkNoted checks whether the log contains a noted head.
func (v *verifier) checkNoted(w *wanted) {
	who := "that was noted"
	if w.file != "" {
		who = "that " + w.file + " names"
	}
	switch {
	case w.at.line == 0 && w.file == "":
		v.problem(&Problem{File: v.last.file, Line: v.last.line, Seq: w.Seq, Kind: Missing, Text: "the entry " + who + " is not in the log"})
	case w.at.line > 0 && w.got != w.Hash:
		v.problem(&Problem{File: w.at.file, Line: w.at.line, Seq: w.Seq, Kind: Elsewhere, Text: "the entry is not the one " + who + ": its hash is " + w.got.String()})
	}
}

// checkHead verifies head.json against the log.
func (v *verifier) checkHead() {
	path := filepath.Join(v.dir, headName)
	at := v.last
	if at.file == "" {
		at.file = v.dir
	}
	switch h := v.head; {
	case h.Log != v.rep.Log && v.rep.Log != "" || !verify(v.key, h.text(), h.Signature):
		v.problem(&Problem{File: path, Kind: Unsigned, Text: "the file was changed: it is not signed with the key " + keyText(v.key)})
	case h.Seq > at.seq:
		v.problem(&Problem{
			File: at.file, Line: at.line + 1, Seq: at.seq + 1, Kind: Missing,
			Text: span(at.seq+1, h.Seq, "is missing at the end", "are missing at the end") + ": " + headName + " names one behind",
		})
	default:
		v.rep.Signed = max(v.rep.Signed, h.Seq)
	}
}
