package pgstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

var qStates = prepared("SELECT state, sum(n)::bigint FROM counters GROUP BY state")

// States returns the number of tasks in each state, for all owners together. It reads counters:
// the cost depends on the number of owners, not on that of their tasks. Tasks that are not
// shown to their caller do not count.
func (t Tasks) States(ctx context.Context) (map[task.State]int, error) {
	states := make(map[task.State]int)
	err := t.db.view(ctx, func(c *conn) error {
		s := c.start(qStates)
		for s.next() {
			state := task.State(s.getInt())
			states[state] = int(s.getInt())
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("count tasks by state: %w", err)
	}
	return states, nil
}
