# What people run by hand. Continuous integration runs .ci/run.

TOOL = go tool -modfile=internal/tools/go.mod

.PHONY: build check check-all lint test bench fuzz sdk site

# build makes the program as releases have it: static, without symbols and debug information.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/parley ./cmd/parley

# sdk builds the workers in other languages: a wheel, and a package for npm. It needs .ci/venvs.
sdk:
	mkdir -p bin
	cd sdk/python && .venv/bin/python -m flit_core.wheel --outdir ../../bin
	cd sdk/ts && npm ci --no-audit --no-fund && npm run build && npm pack --pack-destination ../../bin

# site builds the manual as a site in bin/site. It needs Python.
site:
	.ci/site

# HEAVY are the packages whose tests start many processes, a broker or a database. Together they
# take longer than all others; check-all and continuous integration test them, too.
HEAVY = ./internal/e2e/... ./internal/agents/queue ./internal/bus ./internal/bus/amqpbus ./internal/bus/natsbus/... ./internal/cli \
	./internal/parts/.../e2e/... ./internal/parts/.../exchange ./internal/llm/hubclient \
	./internal/llm/mcp/endpoint ./store/pgstore \
	./internal/testing/hubtest ./internal/testing/pgtest ./internal/testing/rabbittest ./internal/testing/suite/workertest

# check is for each commit; it takes at most three minutes on two cores.
check: lint
	go test -vet=off $$(go list ./... | grep -vxF "$$(go list $(HEAVY))")

# check-all is what a change must pass before it is merged.
check-all: lint
	go test -vet=off ./...

lint:
	@test -z "$$($(TOOL) gofumpt -l .)" || { $(TOOL) gofumpt -l .; echo "run: $(TOOL) gofumpt -w ."; exit 1; }
	go vet ./...
	$(TOOL) staticcheck ./...

test:
	go test -race -shuffle=on ./...

bench:
	go test -run='^$$' -bench=. -benchmem ./...

# fuzz runs every fuzz target for FUZZTIME.
FUZZTIME ?= 10s
fuzz:
	.ci/fuzz $(FUZZTIME)
