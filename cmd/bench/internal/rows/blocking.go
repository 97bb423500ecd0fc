package rows

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

const completed = `"TASK_STATE_COMPLETED"`

// blocking measures SendMessage calls that wait for the end of the task.
func blocking(ctx context.Context, b *Bench) ([]Result, error) {
	kinds := append([]serve.Kind{serve.Bare}, serve.Peers()...)
	kinds = append(kinds, serve.ParleyMemory, serve.ParleySQLite, serve.ParleyPostgres)
	all, err := b.each(ctx, "blocking", kinds, func(ctx context.Context, k serve.Kind) ([]Result, error) { return b.blockingOn(ctx, k) })
	if err != nil {
		return all, err
	}
	rs, err := b.each(ctx, "blocking", []serve.Kind{serve.ParleySQLite}, func(ctx context.Context, k serve.Kind) ([]Result, error) {
		return b.blockingOn(ctx, k, effects)
	})
	for i := range rs {
		rs[i].Case = "agent with effects"
	}
	return append(all, rs...), err
}

// effects is the option of a Parley whose agent has effects, so that each task takes two commits.
const effects = "-effects"

func (b *Bench) blockingOn(ctx context.Context, k serve.Kind, args ...string) (rs []Result, err error) {
	p, stop, err := b.start(ctx, k, args...)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	ops, hangUp, err := b.senders(ctx, p.Addr, languageOf(k))
	if err != nil {
		return nil, err
	}
	defer hangUp()
	var runs []run
	err = b.profiled(ctx, p, strings.Join(append([]string{string(k)}, args...), ""), func() (err error) {
		runs, err = b.closedLoop(ctx, p, ops)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := summary(k, "sends/s", runs)
	err = finish(ctx, p, &r)
	return []Result{r}, err
}

// senders opens the connections of the blocking sends to an address.
func (b *Bench) senders(ctx context.Context, addr string, as language) (ops []op, hangUp func(), err error) {
	return b.dialed(ctx, addr, func(c *wire.Conn) op { return newSender(c, as, b.Text).send })
}

// dialed opens connections to an address, each with its operation.
func (b *Bench) dialed(ctx context.Context, addr string, operation func(*wire.Conn) op) (ops []op, hangUp func(), err error) {
	ctx, hangUp = context.WithCancel(ctx)
	for range b.Conns {
		c, err := wire.Dial(ctx, addr)
		if err != nil {
			hangUp()
			return nil, nil, err
		}
		ops = append(ops, operation(c))
	}
	return ops, hangUp, nil
}

// sendParams returns the parameters of a message with a text.
func sendParams(text, more string) string {
	return `{"message":{"messageId":"` + wire.Mark + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}` + more + `}`
}

// sender sends messages on one connection and checks the answers.
type sender struct {
	c       *wire.Conn
	request *wire.Request
	// want is the text of the artifact, with its quotes. The agent removes the first word, so
	// that the message in the history does not match.
	want []byte
	done []byte
}

// newSender returns a sender of texts of the given length.
func newSender(c *wire.Conn, as language, length int) *sender {
	text := wire.Mark + strings.Repeat(" word", max(0, length-wire.MarkLen)/5)
	return &sender{
		c:       c,
		request: as.request(serve.Text(serve.Say, text)),
		want:    []byte(`"` + text + `"`),
		done:    []byte(as.completed),
	}
}

func (s *sender) send(n uint64) error {
	body, err := s.c.Do(s.request.With(n))
	if err != nil {
		return err
	}
	wire.PutMark(s.want[1:], n)
	return contains(body, s.want, s.done)
}

// contains returns an error unless body contains all of want.
func contains(body []byte, want ...[]byte) error {
	for _, w := range want {
		if !bytes.Contains(body, w) {
			return fmt.Errorf("answer without %s: %.600s", w, body)
		}
	}
	return nil
}
