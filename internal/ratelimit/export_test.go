package ratelimit

// MaxCallers is maxCallers.
const MaxCallers = maxCallers

// Callers returns the number of callers that l remembers.
func Callers(l *Limiter) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.callers)
}
