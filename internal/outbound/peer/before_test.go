package peer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// steps records events in order.
type steps struct {
	mu  sync.Mutex // guards the field below
	all []string
}

func (s *steps) add(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, step)
}

func (s *steps) wants(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.all, want) {
		t.Errorf("the steps are %q, want %q", s.all, want)
	}
}

// steppingConn is a connection that records its calls.
type steppingConn struct{ *steps }

func (c steppingConn) Call(_ context.Context, method string, _ []byte) ([]byte, error) {
	c.add(method)
	return []byte(done), nil
}

func (c steppingConn) Stream(_ context.Context, method string, _ []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		c.add(method)
		yield([]byte(done), nil)
	}
}

func (steppingConn) Close() error { return nil }

// TestBeforeSending checks that the function is called between the connection and the message,
// and prevents the send with an error.
func TestBeforeSending(t *testing.T) {
	t.Parallel()
	errKept := errors.New("it is kept back")
	for name, tt := range map[string]struct {
		binding a2a.TransportProtocol
		err     error
		dead    bool
		want    []string
	}{
		"rpc":           {a2a.TransportProtocolJSONRPC, nil, false, []string{"before", "body"}},
		"rpc, kept":     {a2a.TransportProtocolJSONRPC, errKept, false, []string{"before"}},
		"rpc, no peer":  {a2a.TransportProtocolJSONRPC, nil, true, nil},
		"rest":          {a2a.TransportProtocolHTTPJSON, nil, false, []string{"before", "body"}},
		"rest, kept":    {a2a.TransportProtocolHTTPJSON, errKept, false, []string{"before"}},
		"grpc":          {a2a.TransportProtocolGRPC, nil, false, []string{"before", "SendMessage"}},
		"grpc, kept":    {a2a.TransportProtocolGRPC, errKept, false, []string{"before"}},
		"grpc, no peer": {a2a.TransportProtocolGRPC, nil, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := new(steps)
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return // the message is incomplete
				}
				s.add("body")
				if !strings.Contains(string(body), "hello") {
					t.Errorf("the body is %s", body)
				}
				w.Header().Set("Content-Type", "application/json")
				if tt.binding == a2a.TransportProtocolJSONRPC {
					_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":`+done+`}`)
					return
				}
				_, _ = io.WriteString(w, done)
			})
			if tt.dead {
				url = "http://127.0.0.1:1"
			}
			p := at(t, url, tt.binding, "1.0", peer.Options{Retries: -1, Transports: map[a2a.TransportProtocol]transport.Factory{
				a2a.TransportProtocolGRPC: func(context.Context, a2a.AgentInterface, transport.HeaderFunc, *tls.Config) (transport.Conn, error) {
					if tt.dead {
						return nil, peer.ErrUnreachable
					}
					return steppingConn{s}, nil
				},
			}})
			ctx := peer.BeforeSending(t.Context(), func(context.Context) error {
				s.add("before")
				return tt.err
			})
			_, err := p.Send(ctx, messageOf("hello"))
			if !errors.Is(err, tt.err) && !tt.dead || tt.dead != errors.Is(err, peer.ErrUnreachable) {
				t.Errorf("Send() = %v, want %v", err, tt.err)
			}
			s.wants(t, tt.want...)
		})
	}
}

// TestBeforeSendingAlone checks that calls that send no message do not call the function.
func TestBeforeSendingAlone(t *testing.T) {
	t.Parallel()
	s := new(steps)
	p := at(t, "http://127.0.0.1:2", a2a.TransportProtocolGRPC, "1.0", peer.Options{Transports: map[a2a.TransportProtocol]transport.Factory{
		a2a.TransportProtocolGRPC: func(context.Context, a2a.AgentInterface, transport.HeaderFunc, *tls.Config) (transport.Conn, error) {
			return steppingConn{s}, nil
		},
	}})
	ctx := peer.BeforeSending(t.Context(), func(context.Context) error {
		s.add("before")
		return nil
	})
	_, _ = p.Get(ctx, "t", nil) // only the recorded calls matter
	s.wants(t, "GetTask")
}
