package grpcbind

import (
	"context"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// requestLog logs each call that has ended. The record has no metadata and no message, because
// these may contain secrets.
type requestLog struct{ logger *slog.Logger }

var _ stats.Handler = requestLog{}

// loggedCall is the record of a call.
type loggedCall struct {
	method string
	caller atomic.Pointer[string]
	bytes  atomic.Int64
}

type loggedKey struct{}

// TagRPC implements stats.Handler.
func (requestLog) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, loggedKey{}, &loggedCall{method: info.FullMethodName})
}

// HandleRPC implements stats.Handler.
func (l requestLog) HandleRPC(ctx context.Context, s stats.RPCStats) {
	call, _ := ctx.Value(loggedKey{}).(*loggedCall)
	if call == nil {
		return
	}
	switch s := s.(type) {
	case *stats.OutPayload:
		call.bytes.Add(int64(s.WireLength))
	case *stats.End:
		caller := ""
		if id := call.caller.Load(); id != nil {
			caller = *id
		}
		l.logger.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("method", "gRPC"), slog.String("path", call.method), slog.String("caller", caller),
			slog.String("status", status.Code(s.Error).String()), slog.Int64("bytes", call.bytes.Load()), slog.Duration("took", s.EndTime.Sub(s.BeginTime)))
	}
}

// TagConn implements stats.Handler.
func (requestLog) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (requestLog) HandleConn(context.Context, stats.ConnStats) {}
