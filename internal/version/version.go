// Package version has the version of Parley. It imports nothing, so that every package can name the
// version. The facade exports it as parley.Version.
package version

// Version is the version of this module.
const Version = "0.1.0-dev"
