package grpcbind_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
)

const (
	geoURI  = "https://example.com/ext/geo/v1"
	citeURI = "https://example.com/ext/cite/v1"
)

// extensive is a hub whose agent of that name requires geo and knows cite.
func extensive(t *testing.T) *hub {
	t.Helper()
	h := start(t, grpcbind.Config{}, words, nil)
	card := &a2a.AgentCard{Name: "extensive"}
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: geoURI, Required: true}, {URI: citeURI}}
	if err := h.engine.Register(engine.Agent{Name: "extensive", Card: card, Executor: words}); err != nil {
		t.Fatal(err)
	}
	return h
}

// extensionCalls returns calls of the agent with metadata, which return the header.
func extensionCalls(t *testing.T, h *hub) map[string]func(kv ...string) (metadata.MD, error) {
	t.Helper()
	a, err := h.client.SendMessage(with(t.Context(), "a2a-extensions", geoURI), to("extensive", textRequest("a")))
	if err != nil {
		t.Fatal(err)
	}
	id := a.GetTask().GetId()
	unary := func(do func(kv []string, o grpc.CallOption) error) func(kv ...string) (metadata.MD, error) {
		return func(kv ...string) (metadata.MD, error) {
			var md metadata.MD
			err := do(kv, grpc.Header(&md))
			return md, err
		}
	}
	return map[string]func(kv ...string) (metadata.MD, error){
		"SendMessage": unary(func(kv []string, o grpc.CallOption) error {
			_, err := h.client.SendMessage(with(t.Context(), kv...), to("extensive", textRequest("a")), o)
			return err
		}),
		"GetTask": unary(func(kv []string, o grpc.CallOption) error {
			_, err := h.client.GetTask(with(t.Context(), kv...), &pb.GetTaskRequest{Id: id}, o)
			return err
		}),
		"ListTasks": unary(func(kv []string, o grpc.CallOption) error {
			_, err := h.client.ListTasks(with(t.Context(), kv...), &pb.ListTasksRequest{Tenant: "extensive"}, o)
			return err
		}),
		"SendStreamingMessage": func(kv ...string) (metadata.MD, error) {
			s, err := h.client.SendStreamingMessage(with(t.Context(), kv...), to("extensive", textRequest("a")))
			if err != nil {
				return nil, err
			}
			_, err = drain(s)
			md, _ := s.Header()
			return md, err
		},
	}
}

func TestActivatedExtensions(t *testing.T) {
	t.Parallel()
	h := extensive(t)
	for name, call := range extensionCalls(t, h) {
		for _, tt := range []struct{ kv, want, v0 []string }{
			{[]string{"a2a-extensions", "urn:x, " + citeURI + "," + geoURI}, []string{citeURI + "," + geoURI}, nil},
			{[]string{"a2a-extensions", geoURI, "a2a-extensions", citeURI}, []string{geoURI + "," + citeURI}, nil},
			{[]string{"x-a2a-extensions", geoURI}, []string{geoURI}, []string{geoURI}},
		} {
			md, err := call(tt.kv...)
			if err != nil {
				t.Errorf("%s with %v: %v", name, tt.kv, err)
			}
			if diff := cmp.Diff([][]string{tt.want, tt.v0}, [][]string{md.Get("a2a-extensions"), md.Get("x-a2a-extensions")}); diff != "" {
				t.Errorf("%s with %v: header mismatch (-want +got):\n%s", name, tt.kv, diff)
			}
		}
	}
}

func TestRequiredExtensions(t *testing.T) {
	t.Parallel()
	h := extensive(t)
	want := failure{Code: codes.FailedPrecondition, Reason: "EXTENSION_SUPPORT_REQUIRED", Meta: map[string]string{"extensions": geoURI}}
	for name, call := range extensionCalls(t, h) {
		for _, kv := range [][]string{nil, {"a2a-extensions", citeURI}} {
			md, err := call(kv...)
			if diff := cmp.Diff(want, failureOf(t, err)); diff != "" {
				t.Errorf("%s with %v mismatch (-want +got):\n%s", name, kv, diff)
			}
			if got := md.Get("a2a-extensions"); len(got) > 0 {
				t.Errorf("%s with %v activates %v", name, kv, got)
			}
		}
	}
}
