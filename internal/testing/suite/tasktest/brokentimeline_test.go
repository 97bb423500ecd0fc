package tasktest_test

import (
	"context"
	"maps"

	"github.com/parley-a2a/parley/internal/task"
)

// Timeline implements task.Timeline.
func (b *broken) Timeline(ctx context.Context, after int64, limit int) (task.TimelinePage, error) {
	return b.timeline(ctx, after, limit)
}

func init() { maps.Copy(defects, timelineDefects) }

// paged returns a method Timeline that modifies pages.
func paged(b *broken, alter func(*task.TimelinePage)) func(context.Context, int64, int) (task.TimelinePage, error) {
	return func(ctx context.Context, after int64, limit int) (task.TimelinePage, error) {
		p, err := b.Store.Timeline(ctx, after, limit)
		alter(&p)
		return p, err
	}
}

var timelineDefects = map[string]defect{
	"last moment of a page skipped": {"TimelineOrder|TimelinePages|TimelineHeads|TimelineNotices|TimelineParallel", func(b *broken) {
		b.timeline = paged(b, func(p *task.TimelinePage) { p.Moments = p.Moments[:max(len(p.Moments)-1, 0)] })
	}},
	"moment at the position repeated": {"TimelineOrder|TimelinePages|TimelineHeads|TimelineNotices|TimelineParallel", func(b *broken) {
		b.timeline = func(ctx context.Context, after int64, limit int) (task.TimelinePage, error) {
			return b.Store.Timeline(ctx, after-1, limit)
		}
	}},
	"moments of deleted tasks dropped": {"TimelineHeads", func(b *broken) {
		b.timeline = paged(b, func(p *task.TimelinePage) {
			for len(p.Moments) > 0 && p.Moments[0].Key != 0 && p.Moments[0].Head.Key == 0 {
				p.Moments = p.Moments[1:]
			}
		})
	}},
	"notices without text": {"TimelineNotices", func(b *broken) {
		b.timeline = paged(b, func(p *task.TimelinePage) {
			for i := range p.Moments {
				p.Moments[i].Notice = nil
			}
		})
	}},
	"timeline without a name": {"TimelinePages", func(b *broken) {
		b.timeline = paged(b, func(p *task.TimelinePage) { p.ID = "" })
	}},
}
