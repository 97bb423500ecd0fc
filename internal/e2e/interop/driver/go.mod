module github.com/parley-a2a/parley/internal/e2e/interop/driver

go 1.26

require go.uber.org/goleak v1.3.0
