package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/parley-a2a/parley/client"
)

// grpcConnectTimeout is how long a connection may take to come up.
const grpcConnectTimeout = 10 * time.Second

// dialGRPC connects to a gRPC interface. It waits for the connection, so that the
// client can go on to another binding.
func dialGRPC(ctx context.Context, _ *a2a.AgentCard, iface *a2a.AgentInterface) (a2aclient.Transport, error) {
	conn, err := connectGRPC(ctx, iface.URL)
	if err != nil {
		return nil, err
	}
	return a2agrpc.NewGRPCTransport(conn), nil
}

// connectGRPC connects to the URL of a gRPC interface: in the clear on this machine or
// if it says http, over TLS elsewhere.
func connectGRPC(ctx context.Context, url string) (*grpc.ClientConn, error) {
	scheme, address, ok := strings.Cut(url, "://")
	if !ok {
		scheme, address = "", url
	}
	address = strings.TrimRight(address, "/")
	creds := credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	if scheme == "http" || scheme == "" && client.Loopback(address) {
		creds = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	if err != nil {
		return nil, err
	}
	if err := connected(ctx, conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return conn, nil
}

// connected waits until conn is ready.
func connected(ctx context.Context, conn *grpc.ClientConn) error {
	waiting, cancel := context.WithTimeout(ctx, grpcConnectTimeout)
	defer cancel()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if state == connectivity.TransientFailure || state == connectivity.Shutdown || !conn.WaitForStateChange(waiting, state) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return client.ErrUnreachable
		}
	}
	return nil
}
