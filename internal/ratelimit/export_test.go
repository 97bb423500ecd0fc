package ratelimit

// MaxCallers is maxCallers.
const MaxCallers = maxCallers

// Callers returns how many callers l knows.
func Callers(l *Limiter) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.callers)
}
