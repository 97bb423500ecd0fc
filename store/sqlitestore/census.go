package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

var qStates = prepared("SELECT state, sum(n) FROM counters GROUP BY state")

// States returns how many tasks there are in each state, those of all owners together,
// from counters: the cost depends on how many owners there are, not on their tasks.
// Tasks that are not shown to their caller do not count.
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
