package adminapi

import (
	_ "embed"
	"net/http"
)

// Description is the path of the description of the API. It is the same for every hub and every
// caller, and needs no credentials.
const Description = Root + "/openapi.json"

// openapi is the description of the API in OpenAPI 3.1. A test writes it from the routes, their types
// and the comments of these:
//
//	go test ./internal/front/adminapi -run TestDescription -update
//
//go:embed openapi.json
var openapi []byte

// serveDescription answers with the description of the API.
func serveDescription(w http.ResponseWriter, r *http.Request) {
	write(w, r, http.StatusOK, openapi)
}
