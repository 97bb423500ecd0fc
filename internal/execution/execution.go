// Package execution is the hub's side of package agent: it prepares the context in which an
// executor is called.
//
// # Concurrency
//
// All functions are pure.
package execution

import (
	"cmp"
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
)

// Limits of the journal of a task.
const (
	// MaxRecord is the largest size of a record in bytes.
	MaxRecord = 16 << 20
	// MaxJournal is the largest size of all records in bytes.
	MaxJournal = 64 << 20
	// MaxRecords is the largest number of records.
	MaxRecords = 10_000
)

// ErrRedispatched is the cause of an execution's context that ends because an operator has
// dispatched the message anew. The execution no longer counts. See agent.Call.Forgotten.
var ErrRedispatched = errors.New("an operator has dispatched the message again")

// ErrResting is the error with which the Execute of an agent with the trait Away ends an execution
// that would only wait, so that it needs no memory meanwhile. The message stays claimed. The hub
// continues it in a new execution, with the saved checkpoint, once it is woken, and after a
// restart. Agents with the trait Serial must not rest.
var ErrResting = errors.New("the execution is waiting elsewhere")

type runKey struct{}

// WithRun returns a context with the hub's side of a run: it has the methods of *agent.Call.
// agent.WithCall passes the methods of its Call on to it.
func WithRun(ctx context.Context, run any) context.Context {
	return context.WithValue(ctx, runKey{}, run)
}

// Run returns the hub's side of the run that ctx belongs to, or nil.
func Run(ctx context.Context) any { return ctx.Value(runKey{}) }

// WithUser returns a context for calling an executor with x on behalf of p. The context has the
// SDK's CallContext, with the extensions of the URIs in active activated. WithUser sets x.User,
// and passes x.ServiceParams to the CallContext.
func WithUser(ctx context.Context, x *a2asrv.ExecutorContext, p *auth.Principal, active []string) context.Context {
	x.User = &a2asrv.User{Name: cmp.Or(p.DisplayName, p.ID), Authenticated: !p.Anonymous()}
	if len(p.Claims) > 0 || !p.Anonymous() {
		x.User.Attributes = map[string]any{"id": p.ID}
		for k, v := range p.Claims {
			x.User.Attributes[k] = v
		}
	}
	ctx, call := a2asrv.NewCallContext(auth.WithPrincipal(ctx, p), x.ServiceParams)
	call.User = x.User
	for _, uri := range active {
		call.Extensions().Activate(&a2a.AgentExtension{URI: uri})
	}
	return ctx
}

// As returns e, or the first executor inside it, that is a T. An executor that wraps another one
// has a method Unwrap that returns it.
func As[T any](e a2asrv.AgentExecutor) (found T, ok bool) {
	for e != nil {
		if found, ok = e.(T); ok {
			return found, true
		}
		w, wraps := e.(interface{ Unwrap() a2asrv.AgentExecutor })
		if !wraps {
			break
		}
		e = w.Unwrap()
	}
	return found, false
}
