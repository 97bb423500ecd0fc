package server

import (
	"log/slog"
	"net"
	"net/http"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/cluster/keeper"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/file/policyfile"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/front/conns"
	"github.com/parley-a2a/parley/internal/front/inside"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpclient"
	"github.com/parley-a2a/parley/internal/outbound/inprocess"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/secret/openid"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// given are the options of a hub.
type given struct {
	cfg        *config.Config
	load       func() (*config.Config, error)
	commit     string
	logger     *slog.Logger
	level      *slog.LevelVar // that of the logger; nil if it cannot be changed
	acceptLoss bool
}

// kept holds the data that outlives the process.
type kept struct {
	dir       *datadir.Dir
	db        *sqlitestore.DB // nil if the store is a database
	stores    stores
	storeName string // the path of db or the address of the database, without password
	losses    []*sqlitestore.Loss
	box       *seal.Sealer
	audit     auditParts
	parts     *blobstore.Externalizer // nil if all parts are in the log
}

// network holds the listeners of the hub and their servers.
type network struct {
	tls          *tlsfile.Source // nil if the listeners do not use TLS
	listener     net.Listener
	conns        *conns.Limit
	grpcListener net.Listener // nil if gRPC has no listener of its own
	server       *http.Server
	grpc         *grpcbind.Binding
}

// accessParts authenticate and authorize callers.
type accessParts struct {
	keys      *auth.Keyring
	providers []*openid.Provider // at which people sign in to the console
	signing   signing
	identity  identityParts
	rules     *policy.Policy   // nil without a policy
	policy    *policyfile.Live // nil unless the policy is a file
	trust     trustParts
}

// running is the hub itself, with the state of others on its database.
type running struct {
	core    *hub.Hub
	engine  *engine.Engine // that of core
	broker  *broker.Broker
	control *operator.Operator
	keeper  *keeper.Keeper // nil if the hub uses its store alone
	// topics are the changes of other hubs that this one has read. They belong to the keeper.
	topics map[string]int64
	// polls is set if a pooler passes no hints of other hubs.
	polls bool
}

// modelParts serve agents with models.
type modelParts struct {
	models  map[string]llm.Provider
	servers *mcpclient.Set      // the MCP servers whose tools models use
	calls   *inside.Binding     // the A2A calls of models to agents of the hub
	inside  inprocess.Transport // the transport of the tools of models to the hub
}
