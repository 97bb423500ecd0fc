package engine

import "github.com/parley-a2a/parley/internal/usertoken"

// WantsBearers reports whether an agent gets the tokens of callers, so that bindings hand
// them over.
func (e *Engine) WantsBearers() bool { return e != nil && e.cfg.Bearers }

// keepBearer keeps the token of the message at a version until a run has dealt with it, in
// memory alone. before is the version under which it was kept when the change was tried
// before, zero at first.
func (l *live) keepBearer(before *int64, version int64, t usertoken.Token) {
	if t == (usertoken.Token{}) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bearers, *before)
	if l.bearers == nil {
		l.bearers = make(map[int64]usertoken.Token)
	}
	l.bearers[version], *before = t, version
}

// bearerOf returns the token of the message at a version; none if it was not kept.
func (l *live) bearerOf(version int64) usertoken.Token {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bearers[version]
}

// dropBearer forgets the token of the message at a version.
func (l *live) dropBearer(version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bearers, version)
}
