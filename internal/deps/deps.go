// Package deps holds the module graph still while packages are being written.
package deps

import (
	_ "github.com/a2aproject/a2a-go/v2/a2aclient"
	_ "github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	_ "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	_ "github.com/a2aproject/a2a-go/v2/a2asrv"
	_ "github.com/alecthomas/kong"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/uuid"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/grpc"
	_ "google.golang.org/grpc/test/bufconn"
	_ "google.golang.org/protobuf/encoding/protojson"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
	_ "zombiezen.com/go/sqlite/sqlitex"
)
