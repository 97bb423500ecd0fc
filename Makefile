# What people run by hand. Continuous integration runs .ci/run.

TOOL = go tool -modfile=internal/tools/go.mod

.PHONY: build check test bench fuzz

build:
	go build -o bin/parley ./cmd/parley

# check is what a commit must pass; it takes about a minute.
check:
	@test -z "$$($(TOOL) gofumpt -l .)" || { $(TOOL) gofumpt -l .; echo "run: $(TOOL) gofumpt -w ."; exit 1; }
	go vet ./...
	$(TOOL) staticcheck ./...
	go test ./...

test:
	go test -race -shuffle=on ./...

bench:
	go test -run='^$$' -bench=. -benchmem ./...

# fuzz runs every fuzz target for FUZZTIME.
FUZZTIME ?= 10s
fuzz:
	.ci/fuzz $(FUZZTIME)
