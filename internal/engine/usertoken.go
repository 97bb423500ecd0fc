package engine

import "github.com/parley-a2a/parley/internal/usertoken"

// WantsBearers reports whether agents receive the tokens of callers, so that bindings have to
// pass them on.
func (e *Engine) WantsBearers() bool { return e != nil && e.cfg.Bearers }

// keepBearer keeps the token of the message at a version in memory until a run has processed
// the message. before is the version under which an earlier attempt of the change kept it, zero
// at first.
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

// bearerOf returns the token of the message at a version; the zero Token if there is none.
func (l *live) bearerOf(version int64) usertoken.Token {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bearers[version]
}

// dropBearer removes the token of the message at a version.
func (l *live) dropBearer(version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bearers, version)
}
