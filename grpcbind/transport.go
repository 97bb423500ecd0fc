package grpcbind

import (
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/outbound/caller"
)

// Transport returns the transport with which clients and remote agents call others over gRPC, in both
// versions of the protocol. A connection is not encrypted if its URL has the scheme http, or if it
// has none, leads to this machine, and the credentials have no certificates.
func Transport() client.Transport { return caller.Dial }
