package service

import (
	"context"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// reportQueued tells owners that their Services wait behind other Services.
func (c *Controller) reportQueued(ctx context.Context) {
	ticker := c.clock.NewTicker(queuedAfter / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
		since := map[string]time.Time{}
		if busy := c.loop.Busy(); len(busy) > 0 {
			since = c.queuedBehind(busy[0])
		}
		c.store.noteQueued(since)
	}
}

// queuedBehind returns the Services that wait for a worker, with the times at which
// their waits began. It tells each owner once, with an event.
func (c *Controller) queuedBehind(busy string) map[string]time.Time {
	since := map[string]time.Time{}
	for _, waiting := range c.loop.Waiting(queuedAfter) {
		o, err := c.observe(waiting.Key)
		if err != nil || !decide(o).isForOwner() {
			continue
		}
		if !c.store.isQueued(waiting.Key) {
			c.record(o.subject(), []message.Event{queuedEvent(waiting.Key, busy)})
		}
		since[waiting.Key] = waiting.Since
	}
	return since
}
