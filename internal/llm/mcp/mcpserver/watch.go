package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watches holds the subscribed resources by their addresses.
type watches struct {
	service *service

	mu sync.Mutex // guards the fields below
	of map[string]*watch
	// readers are the sessions for which a goroutine waits, to remove them at their end.
	readers map[*mcp.ServerSession]bool
}

// watch is one subscribed resource. It is followed once the SDK has registered a reader; an
// earlier change would reach no reader.
type watch struct {
	ctx      context.Context
	cancel   context.CancelFunc
	followed bool
	readers  map[*mcp.ServerSession]bool
}

// The SDK has registered a subscriber when it has answered the first method, and when it sends
// the second one.
const (
	methodSubscribe    = "resources/subscribe"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
)

// answering begins to follow resources that a session subscribes to with a request.
func (w *watches) answering(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if ss, ok := req.GetSession().(*mcp.ServerSession); ok && err == nil && method == methodSubscribe {
			w.begin(ss)
		}
		return res, err
	}
}

// sending begins to follow resources that a session subscribes to with a stream.
func (w *watches) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if ss, ok := req.GetSession().(*mcp.ServerSession); ok && method == methodAcknowledged {
			w.begin(ss)
		}
		return next(ctx, method, req)
	}
}

// begin follows the resources that a session subscribes to.
func (w *watches) begin(ss *mcp.ServerSession) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uri, of := range w.of {
		if of.readers[ss] && !of.followed {
			of.followed = true
			w.service.wg.Go(func() { w.follow(of.ctx, uri) })
		}
	}
}

// subscribe is called before the SDK registers the subscriber.
func (w *watches) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	svc, uri := w.service, req.Params.URI
	if svc.watcher() == nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "resources cannot be subscribed to"}
	}
	if _, err := svc.Library.Read(ctx, uri); err != nil {
		return readError(uri, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[uri] == nil {
		if len(w.of) >= svc.Limits.Watches {
			return &jsonrpc.Error{
				Code:    jsonrpc.CodeInvalidParams,
				Message: fmt.Sprintf("%d resources are subscribed to, which is the limit", len(w.of)),
			}
		}
		ctx, cancel := context.WithCancel(svc.base)
		w.of[uri] = &watch{ctx: ctx, cancel: cancel, readers: make(map[*mcp.ServerSession]bool)}
	}
	w.of[uri].readers[req.Session] = true
	w.await(req.Session)
	return nil
}

// await removes a reader when its session has ended. w.mu is held.
func (w *watches) await(ss *mcp.ServerSession) {
	if w.readers[ss] {
		return
	}
	if w.readers == nil {
		w.readers = make(map[*mcp.ServerSession]bool)
	}
	w.readers[ss] = true
	w.service.wg.Go(func() {
		_ = ss.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.readers, ss)
		for uri := range w.of {
			w.dropLocked(uri, ss)
		}
	})
}

// unsubscribe is called before the SDK removes the subscriber.
func (w *watches) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropLocked(req.Params.URI, req.Session)
	return nil
}

func (w *watches) dropLocked(uri string, ss *mcp.ServerSession) {
	of := w.of[uri]
	if of == nil {
		return
	}
	delete(of.readers, ss)
	if len(of.readers) == 0 {
		of.cancel()
		delete(w.of, uri)
	}
}

// follow notifies the readers of a resource of its changes.
func (w *watches) follow(ctx context.Context, uri string) {
	svc := w.service
	for _, err := range svc.watcher().Watch(ctx, uri) {
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, ErrNoResource) {
				svc.Logger.Warn("a resource cannot be watched any more", "uri", uri, "error", err)
			}
			return
		}
		if err := svc.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			svc.Logger.Debug("a subscriber was not notified of a change", "uri", uri, "error", err)
		}
	}
}
