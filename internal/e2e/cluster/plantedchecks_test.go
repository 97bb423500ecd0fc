package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
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
const lateWitness = `CREATE TABLE public.late (slot BIGINT);
CREATE FUNCTION public.late() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
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
	number, err := c.query(ctx)
	if err != nil {
		return err
	}
	if _, err := number("BEGIN; LOCK TABLE parley.moments IN EXCLUSIVE MODE; SELECT 0"); err != nil {
		return err
	}
	a := c.nodes[0]
	var sender sync.WaitGroup
	defer sender.Wait()
	defer a.signal(syscall.SIGCONT)
	sender.Go(func() { _, _ = c.echo(ctx, a) }) // its answer may be any
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
	n, err := number("SELECT count(*) FROM public.late")
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

// holdFirst makes the first commit wait until the test gives back the lock 2. Its moments have their ids then.
const holdFirst = `CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF pg_try_advisory_xact_lock(1) THEN
		PERFORM pg_advisory_xact_lock_shared(2);
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON parley.moments DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION public.hold()`

// allEvents holds the commit of a hub while that of another one ends and is read. A reader of all events must see
// both tasks.
func (c *campaign) allEvents() error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		return err
	}
	number, err := c.query(ctx)
	if err != nil {
		return err
	}
	resp, err := hubtest.Do(ctx, hubtest.Request{Method: http.MethodGet, URL: c.nodes[2].URL() + "/api/v1/events?after=first&kind=task.created"})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	seen := make(map[string]bool)
	next, stop := iter.Pull2(hubtest.Events(resp.Body))
	defer stop()
	until := func(id string) error {
		for !seen[id] {
			ev, err, _ := next()
			if err != nil {
				return fmt.Errorf("events: %w", err)
			}
			var e struct{ Task string }
			if err := json.Unmarshal([]byte(ev.Data), &e); err != nil {
				return fmt.Errorf("event %s: %w", ev.Data, err)
			}
			seen[e.Task] = true
		}
		return nil
	}
	c.server.Exec(c.t, c.database(), holdFirst)
	if _, err := number("SELECT pg_advisory_lock(2); SELECT 0"); err != nil {
		return err
	}
	held := make(chan string, 1)
	go func() { // ends with ctx at the latest
		id, _ := c.echo(ctx, c.nodes[0]) // empty at the end of ctx
		held <- id
	}()
	for waits := 0; waits == 0; {
		if waits, err = number("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND objid = 2"); err != nil {
			return err
		}
	}
	id, err := c.echo(ctx, c.nodes[1])
	if err == nil {
		err = until(id)
	}
	if err != nil {
		return err
	}
	if _, err := number("SELECT pg_advisory_unlock(2); SELECT 0"); err != nil {
		return err
	}
	late := <-held
	c.t.Logf("held %s, passed by %s", late, id)
	if id, err = c.echo(ctx, c.nodes[1]); err == nil {
		err = until(id)
	}
	if err == nil && late != "" && !seen[late] {
		err = wrong("a reader of all events does not get the task %s", late)
	}
	return err
}

// echo sends a message until it is accepted, and returns its task.
func (c *campaign) echo(ctx context.Context, n *node) (id string, err error) {
	var got struct{ Task shownTask }
	for got.Task.ID == "" {
		err = hubtest.Call(ctx, hubtest.Request{
			URL: n.URL() + "/v1/a2a/echo/message:send", Body: `{"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "x"}]}}`,
		}, &got)
		if err != nil && pause(ctx, 50*time.Millisecond) != nil {
			return "", err
		}
	}
	return got.Task.ID, nil
}

// query returns a function that executes SQL in one session, and returns the number in its last row.
func (c *campaign) query(ctx context.Context) (func(sql string) (int, error), error) {
	db, err := pgconn.Connect(ctx, c.store.String())
	if err != nil {
		return nil, err
	}
	c.t.Cleanup(func() { _ = db.Close(context.WithoutCancel(ctx)) })
	return func(sql string) (int, error) {
		got, err := db.Exec(ctx, sql).ReadAll()
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(string(got[len(got)-1].Rows[0][0]))
	}, nil
}
