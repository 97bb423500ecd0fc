package tasktest_test

import (
	"context"
	"maps"

	"github.com/parley-a2a/parley/task"
)

func init() { maps.Copy(defects, markDefects) }

var markDefects = map[string]defect{
	"mark of a change forgotten": {"MarkKeep|MarkPages|MarkSweep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) { c.Mark = nil })
	}},
	"first mark kept": {"MarkKeep", func(b *broken) {
		b.append = changed(b, func(c *task.Change) {
			if _, err := b.Store.Mark(context.Background(), c.Next.Key); err == nil {
				c.Mark = nil
			}
		})
	}},
}
