package cluster

import (
	"context"
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
	c.all[0].server.Exec(c.t, c.all[0].name(), lateWitness)
	number, err := c.query(ctx, c.all[0])
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

// query returns a function that executes SQL in one session of a database, and returns the number in its last row.
func (c *campaign) query(ctx context.Context, in *database) (func(sql string) (int, error), error) {
	db, err := pgconn.Connect(ctx, in.store.String())
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
