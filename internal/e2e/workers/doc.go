// Package workers tests the worker of sdk/python. It has no code of its own.
//
// The worker passes the transcripts of bus/transcripts. The tests need the virtual environment of
// sdk/python (.ci/venvs).
package workers
