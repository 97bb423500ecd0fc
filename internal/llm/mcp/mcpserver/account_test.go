package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/membudget"
)

// fixed is a source with one tool, which never changes.
type fixed func(ctx context.Context, c *llm.Call) (*llm.Result, error)

func (f fixed) Tools(context.Context) ([]llm.Tool, error) {
	return []llm.Tool{{Name: "fixed", Input: json.RawMessage(`{"type":"object"}`), Call: f}}, nil
}

func (fixed) Changed() <-chan struct{} { return nil }

// A call whose question is never answered releases its memory once its tool has ended.
func TestUnansweredCallsReleaseMemory(t *testing.T) {
	t.Parallel()
	const need = 1 << 20
	for name, closes := range map[string]bool{"the time is over": false, "the service closes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &membudget.Budget{Max: 2 * need}
				s := &Server{Tools: fixed(func(ctx context.Context, c *llm.Call) (*llm.Result, error) {
					if err := membudget.AccountOf(ctx).Acquire(ctx, need); err != nil {
						return nil, err
					}
					_, err := c.Ask(ctx, new(llm.Question))
					if used := b.Stats().Used; err == nil || used != need {
						t.Errorf("Ask = %v, want an error; %d bytes are used, want %d", err, used, need)
					}
					time.Sleep(time.Second) // with the answer that it has read
					return nil, err
				})}
				svc := s.open(t.Context())
				defer svc.close()
				svc.memory = b
				res, err := svc.handle(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "fixed", Meta: mcp.Meta{
					mcp.MetaKeyProtocolVersion: firstModern, mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{}},
				}}})
				if err != nil || res.RequestState == "" {
					t.Fatalf("the call gives %+v, %v, want a question", res, err)
				}
				if closes {
					svc.close()
				} else {
					time.Sleep(svc.Limits.Patience + 2*time.Second)
					synctest.Wait()
				}
				if used := b.Stats().Used; used != 0 {
					t.Errorf("%d bytes are used at the end", used)
				}
			})
		})
	}
}

// A call that ends with its service leaves no result behind.
func TestClosedServicesKeepNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Limits: Limits{Result: 10}, Tools: fixed(func(ctx context.Context, _ *llm.Call) (*llm.Result, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return &llm.Result{Parts: []*a2a.Part{a2a.NewTextPart(strings.Repeat("x", 100))}}, nil
		})}
		svc := s.open(t.Context())
		here, there := mcp.NewInMemoryTransports()
		if _, err := svc.mcp.Connect(t.Context(), here, nil); err != nil {
			t.Fatal(err)
		}
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fixed"}) }() // it may have no answer
		synctest.Wait()
		svc.close()
		if n := len(svc.results.all); n != 0 {
			t.Errorf("%d results are kept", n)
		}
		_ = cs.Close()
	})
}
