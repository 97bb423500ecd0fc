package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// lateWitness notes each commit of a membership that has ended: its slot of counters has no member.
const lateWitness = `CREATE TABLE late (slot BIGINT);
CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
	IF NOT EXISTS (SELECT FROM parley.hubs WHERE slot = NEW.slot AND ended = 0) THEN
		INSERT INTO public.late VALUES (NEW.slot);
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON parley.counters DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION public.late()`

// lateCommit freezes a hub while its transaction waits for a lock, until the others have ended its membership.
// The transaction must not be committed afterwards.
func (c *campaign) lateCommit() error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		return err
	}
	c.server.Exec(c.t, c.database(), lateWitness)
	db, err := pgconn.Connect(ctx, c.store.String())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	number := func(sql string) (int, error) {
		got, err := db.Exec(ctx, sql).ReadAll()
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(string(got[len(got)-1].Rows[0][0]))
	}
	if _, err := number("BEGIN; LOCK TABLE parley.moments IN EXCLUSIVE MODE; SELECT 0"); err != nil {
		return err
	}
	a := c.nodes[0]
	var sender sync.WaitGroup
	defer sender.Wait()
	defer a.signal(syscall.SIGCONT)
	sender.Go(func() {
		_ = hubtest.Call(ctx, hubtest.Request{ // its answer may be any
			URL:  a.URL() + "/v1/a2a/echo/message:send",
			Body: `{"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "late"}]}}`,
		}, new(any))
	})
	for waits := 0; waits == 0; {
		if waits, err = number("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'parley.moments'::regclass"); err != nil {
			return err
		}
	}
	a.signal(syscall.SIGSTOP)
	for lost := false; !lost; {
		names, err := membersOf(ctx, c.nodes[1])
		if lost = err == nil && !slices.Contains(names, a.id); !lost && pause(ctx, 50*time.Millisecond) != nil {
			return wrong("hub %s is not lost: %v, %v", a.id, names, err)
		}
	}
	if _, err := number("ROLLBACK; SELECT 0"); err != nil {
		return err
	}
	a.signal(syscall.SIGCONT)
	if err := c.members(ctx); err != nil {
		return err
	}
	sender.Wait()
	n, err := number("SELECT count(*) FROM late")
	if err == nil && n > 0 {
		err = wrong("a membership that had ended has committed")
	}
	return err
}

// oneDeliverer performs tasks with webhooks. Without a fault, each notification is sent once.
func (c *campaign) oneDeliverer() error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		return err
	}
	c.hooked(ctx, "once", 30, &load{name: "once", agent: "slow", text: fixed("2"), hook: true})
	_, err := c.checkHooks(ctx, 0)
	return err
}

// allEvents sends messages at two hubs, of which one is far from the database. A reader of all events at the
// third must see each task.
func (c *campaign) allEvents() error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		return err
	}
	seen := make(map[string]bool)
	resp, err := hubtest.Do(ctx, hubtest.Request{Method: http.MethodGet, URL: c.nodes[2].URL() + "/api/v1/events?after=first&kind=task.created"})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	c.nodes[0].db.Delay(20 * time.Millisecond)
	sent := make(chan string, 1024)
	var senders sync.WaitGroup
	for i := range 8 {
		senders.Go(func() {
			for n := range 40 {
				var got struct{ Task shownTask }
				err := hubtest.Call(ctx, hubtest.Request{
					URL:  c.nodes[i%2].URL() + "/v1/a2a/echo/message:send",
					Body: fmt.Sprintf(`{"message": {"messageId": "%d-%d", "role": "ROLE_USER", "parts": [{"text": "x"}]}}`, i, n),
				}, &got)
				if err == nil {
					sent <- got.Task.ID
				}
			}
		})
	}
	senders.Wait()
	close(sent)
	c.nodes[0].db.Delay(0)
	last, err := c.marker(ctx)
	if err != nil {
		return err
	}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			return fmt.Errorf("events: %w", err)
		}
		var e struct{ Task string }
		if err := json.Unmarshal([]byte(ev.Data), &e); err != nil {
			return fmt.Errorf("event %s: %w", ev.Data, err)
		}
		if seen[e.Task] = true; e.Task == last {
			break
		}
	}
	for id := range sent {
		if !seen[id] {
			return wrong("a reader of all events does not get the task %s", id)
		}
	}
	return nil
}

// marker sends a message after all others, and returns its task.
func (c *campaign) marker(ctx context.Context) (id string, err error) {
	var got struct{ Task shownTask }
	err = hubtest.Call(ctx, hubtest.Request{
		URL: c.nodes[1].URL() + "/v1/a2a/echo/message:send", Body: `{"message": {"messageId": "last", "role": "ROLE_USER", "parts": [{"text": "x"}]}}`,
	}, &got)
	return got.Task.ID, err
}
