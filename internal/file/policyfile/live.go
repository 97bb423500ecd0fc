package policyfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"sync"

	"github.com/parley-a2a/parley/internal/file/watch"
	"github.com/parley-a2a/parley/internal/policy"
)

// Live is a policy that is updated when its file changes.
type Live struct {
	path   string
	policy *policy.Policy

	mu      sync.Mutex // guards the fields below
	sum     string     // of the text in force
	problem string     // why the current file is not in force
}

// Change is the result of reading a changed file.
type Change struct {
	// Sum is the SHA-256 of the file in hexadecimal; empty if it cannot be read.
	Sum string
	// Failures are the failing tests of the new policy. It comes into force nevertheless, as at
	// the start of a hub.
	Failures []policy.Failure
	// Err is the reason why the file was refused, with file, line and key.
	Err error
}

// Open reads the file at path.
func Open(path string) (*Live, error) {
	l := &Live{path: path}
	p, sum, err := l.read()
	if err != nil {
		return nil, err
	}
	l.policy, l.sum = p, sum
	return l, nil
}

// Policy returns the policy, whose decisions always follow the rules in force.
func (l *Live) Policy() *policy.Policy { return l.policy }

// Sum returns the SHA-256 of the text in force in hexadecimal.
func (l *Live) Sum() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}

// Run applies the file whenever it changes, until ctx ends. It calls note for each change: before the
// first decision by new rules, and after a file was refused. It calls applied once new rules are in
// force. Texts in force, and problems already reported, are not reported again.
func (l *Live) Run(ctx context.Context, w *watch.Watcher, note, applied func(*Change)) {
	w.Follow(ctx, watch.File{Paths: []string{l.path}, Read: func(bool) error { return l.look(note, applied) }})
}

func (l *Live) look(note, applied func(*Change)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, sum, err := l.read()
	switch {
	case err != nil && err.Error() == l.problem:
	case err != nil:
		l.problem = err.Error()
		note(&Change{Sum: sum, Err: err})
	case sum != l.sum || l.problem != "":
		c := &Change{Sum: sum, Failures: p.Check()}
		note(c)
		l.policy.Replace(p)
		l.sum, l.problem = sum, ""
		applied(c)
	}
	return err
}

// read reads the current file.
func (l *Live) read() (*policy.Policy, string, error) {
	src, err := text(l.path)
	if err != nil {
		return nil, "", err
	}
	digest := sha256.Sum256(src)
	p, err := Parse(l.path, src, os.LookupEnv)
	return p, hex.EncodeToString(digest[:]), err
}
