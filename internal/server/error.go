package server

import (
	"fmt"
)

// A ConfigError is an error in the configuration. Its text names the place in the file or the
// flag.
type ConfigError struct{ Err error }

// Error implements error.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

func configf(format string, args ...any) error {
	return &ConfigError{fmt.Errorf(format, args...)}
}
