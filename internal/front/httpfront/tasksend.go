package httpfront

import (
	"bytes"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
)

// errNoJobs refuses jobs if ids of callers are disabled, because a job needs the id of its
// caller.
var errNoJobs = apierror.New(a2a.ErrUnsupportedOperation, "task ids from callers are not accepted here")

// serveJob answers POST /tasks/send, the one operation of agents that accept only jobs.
func (x *exchange) serveJob() {
	x.in = takeBuffer()
	defer x.release()
	err := dialect.Version(x.versions(), dialect.REST)
	if err == nil {
		err = x.readRPC()
	}
	if err == nil {
		err = x.shape.Blame(dialect.SendMessage, x.doJob())
	}
	if err != nil {
		x.fail(err)
	}
}

// doJob sends the message and answers with the task, when it has ended or waits for its caller.
// A repeated job is answered with the same task.
func (x *exchange) doJob() error {
	if !x.front.cfg.Engine.ClientIDs() {
		return errNoJobs
	}
	r, err := x.front.filler.Job(x.in.b)
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	x.adopt(r)
	dialect.ForJob(r, x.front.cfg.Engine.Offers)
	r.Metadata = bytes.Clone(r.Metadata)
	r.Dialect = uint8(dialect.Job)
	r.NewIDs, r.Once, r.Resume = true, true, true
	a, err := x.front.cfg.Engine.Send(x.r.Context(), &x.caller, r)
	if err != nil {
		return err
	}
	defer a.Release()
	x.about(&a.Head)
	x.activated(a.Head.Agent, a.Confirmed)
	none := 0
	a.History = &none
	buf := takeBuffer()
	defer buf.put()
	buf.b = dialect.AppendJobResult(buf.b, r.Message.TaskID, dialect.AppendTask(nil, &a.Answer, dialect.RPCMessages))
	x.reply(buf.b)
	return nil
}
