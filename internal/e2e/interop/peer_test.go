package interop

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// The protocol versions of peers.
const (
	v1  = "1.0"
	v03 = "0.3"
)

// peer is the client of a foreign SDK.
type peer struct {
	// name is the first part of the names of its tests, and of its file of accepted failures,
	// testdata/known/NAME.yaml.
	name string
	// title is the name and the version of the SDK for the page.
	title string
	// speaks is the version of the protocol: v1, v03 or promptKit.
	speaks   string
	bindings []string
	// lacks are the calls that the SDK does not offer. Calls that its version of the protocol
	// does not define may be omitted.
	lacks []string
	// missing maps bindings on which Parley does not support this peer yet to the reason.
	missing map[string]string
	// plainCard is set if the SDK refuses cards with keys that it does not know. Its hub has
	// union_card: false.
	plainCard bool
	// program returns the command to run in the folder dir; the hub's URL and the binding are
	// appended. It skips or fails the test if the machine lacks a requirement. If it is nil,
	// connect runs the SDK in this process.
	program func(t *testing.T, dir string) []string
	dir     string
	connect func(t *testing.T, hub, binding string) client
}

// peers are all clients that the tests run against the hub. A new one is a program that
// implements the line protocol, and a row.
var peers = []peer{
	{
		name: "go-2.4", title: "Go SDK 2.4.0", speaks: v1, bindings: allBindings,
		connect: func(t *testing.T, hub, binding string) client {
			return newGoClient(t, hub, a2a.TransportProtocol(binding))
		},
	},
	{name: "js-1.3", title: "JavaScript SDK 1.3.0", speaks: v1, bindings: allBindings, dir: "js", program: node("drive.mjs")},
	{name: "js-0.3", title: "JavaScript SDK 0.3.13", speaks: v03, bindings: allBindings, dir: "js03", program: node("drive.mjs")},
	{
		name: "python-1.3", title: "Python SDK 1.3.0", speaks: v1, bindings: allBindings,
		dir: "python/v1", program: python("drive.py"),
	},
	{
		name: "python-0.3", title: "Python SDK 0.3.26", speaks: v03, bindings: allBindings,
		lacks: []string{"listPush", "deletePush"}, dir: "python/v03", program: python("drive.py"),
	},
	{name: "go-0.3", title: "Go SDK 0.3.15", speaks: v03, bindings: []string{"JSONRPC", "GRPC"}, dir: "go03", program: goModule("client")},
	{
		name: "trpc-0.2", title: "trpc-a2a-go 0.2.5", speaks: v03, bindings: []string{"JSONRPC"}, dir: "trpc", program: goModule("client"),
		lacks: []string{"listPush", "deletePush"},
	},
	{
		// Its webhooks, its gRPC and its returnImmediately are those of a draft of v1.0.
		name: "java-1.0", title: "Java SDK 1.0.0.Alpha3", speaks: v1, bindings: []string{"JSONRPC", "HTTP+JSON"},
		lacks:     []string{"immediate", "createPush", "getPush", "listPush", "deletePush"},
		plainCard: true, dir: "java/v1", program: java("peer.Drive"),
	},
	{name: "java-0.3", title: "Java SDK 0.3.3", speaks: v03, bindings: allBindings, dir: "java/v03", program: java("peer.Drive")},
	{name: "promptkit-1.5", title: "PromptKit runtime 1.5.11", speaks: promptKit, bindings: []string{"JSONRPC"}, dir: "promptkit", program: goModule("client")},
}

var allBindings = []string{"JSONRPC", "HTTP+JSON", "GRPC"}

// start connects a peer to a hub.
func (p *peer) start(t *testing.T, hub, binding string) client {
	t.Helper()
	if p.program == nil {
		return p.connect(t, hub, binding)
	}
	args := append(p.program(t, p.dir), hub, binding)
	return &spoken{client: startProcess(t, p.dir, args), as: languages[p.speaks], binding: binding}
}

// offers reports whether a peer can make a call.
func (p *peer) offers(op string) bool {
	return !slices.Contains(p.lacks, op) && !slices.Contains(languages[p.speaks].lacks, op)
}

// node returns the command of a script for Node, whose packages npm ci installs.
func node(script string) func(t *testing.T, dir string) []string {
	return func(t *testing.T, dir string) []string {
		program := testenv.Tool(t, "node")
		testenv.Made(t, "internal/e2e/interop/"+dir+"/node_modules")
		return []string{program, script}
	}
}

// python returns the command of a script for Python, whose packages are in a virtual
// environment beside it.
func python(script string) func(t *testing.T, dir string) []string {
	return func(t *testing.T, dir string) []string {
		t.Helper()
		return []string{filepath.Join(testenv.Made(t, "internal/e2e/interop/"+dir+"/.venv"), "bin", "python"), script}
	}
}

// java returns the command of a class whose sources and packages Maven compiles and downloads.
func java(class string) func(t *testing.T, dir string) []string {
	return func(t *testing.T, dir string) []string {
		program := testenv.Tool(t, "java")
		testenv.Made(t, "internal/e2e/interop/"+dir+"/target")
		path := "target/classes" + string(filepath.ListSeparator) + "target/lib/*"
		// A small machine runs other tests concurrently.
		return []string{program, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", path, class}
	}
}
