package peer

// Open reports whether the breaker holds calls back.
func (p *Peer) Open() bool {
	p.breaker.mu.Lock()
	defer p.breaker.mu.Unlock()
	return p.breaker.after > 0 && p.breaker.failures >= p.breaker.after
}
