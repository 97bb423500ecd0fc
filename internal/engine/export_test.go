package engine

// BusyCallers returns how many callers have tasks that are at work.
func BusyCallers(e *Engine) int {
	e.busy.mu.Lock()
	defer e.busy.mu.Unlock()
	return len(e.busy.by)
}
