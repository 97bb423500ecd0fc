package server

import (
	"fmt"
)

// A ConfigError is an error in the configuration: its text names the place there, or the
// flag.
type ConfigError struct{ Err error }

// Error implements error.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the configuration.
func (e *ConfigError) Unwrap() error { return e.Err }

// configf returns a ConfigError.
func configf(format string, args ...any) error {
	return &ConfigError{fmt.Errorf(format, args...)}
}
