package adminapi

import (
	_ "embed"
	"net/http"

	"github.com/parley-a2a/parley/internal/file/packed"
)

// Description is the path of the description of the API. It is the same for every hub and every
// caller, and needs no credentials.
const Description = Root + "/openapi.json"

// compressed is openapi.json, the description of the API in OpenAPI 3.1. A test writes both from the
// routes, their types and the comments of these:
//
//	go test ./internal/front/adminapi -run TestDescription -update
//
//go:embed openapi.json.gz
var compressed []byte

var openapi = packed.File(compressed)

// OpenAPI returns the description of the API in OpenAPI 3.1, as JSON. Callers must not change it.
func OpenAPI() []byte { return openapi() }

// serveDescription answers with the description of the API.
func serveDescription(w http.ResponseWriter, r *http.Request) {
	write(w, r, http.StatusOK, openapi())
}
