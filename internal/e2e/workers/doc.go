// Package workers tests the workers of sdk/python and sdk/ts. It has no code of its own.
//
// Each passes the transcripts of internal/bus/transcripts, and serves an agent beside a worker in Go, installed
// from its built file. The tests need the virtual environment of sdk/python (.ci/venvs), and in sdk/ts
// npm ci and npm run build.
package workers
