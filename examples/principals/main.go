// Command principals serves callers that send a bearer token. A caller sees only its own tasks;
// the tasks of others do not exist for it.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/auth"
)

// people are the callers by the digest of their token. In production the digests come from a
// file, and the tokens are long and random.
var people = map[[sha256.Size]byte]*auth.Principal{
	sha256.Sum256([]byte("ada-secret")):   {ID: "ada", DisplayName: "Ada"},
	sha256.Sum256([]byte("grace-secret")): {ID: "grace", DisplayName: "Grace"},
}

// bearer returns the caller of a request by its token.
func bearer(_ context.Context, r *auth.Request) (*auth.Principal, error) {
	for _, value := range r.Header("Authorization") {
		token, ok := strings.CutPrefix(value, "Bearer ")
		if p := people[sha256.Sum256([]byte(token))]; ok && p != nil {
			return p, nil
		}
	}
	return nil, auth.ErrUnauthenticated
}

func main() {
	listen := flag.String("listen", "127.0.0.1:4100", "the address to listen on")
	flag.Parse()
	hub := parley.Hub{Auth: auth.Func(bearer)}
	hub.Handle(&a2a.AgentCard{
		Name:                 "diary",
		SecuritySchemes:      a2a.NamedSecuritySchemes{"token": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{"token": {}}},
	}, diary{})

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("serving http://%s", l.Addr())
	if err := hub.Serve(ctx, l); err != nil {
		log.Fatal(err)
	}
}
