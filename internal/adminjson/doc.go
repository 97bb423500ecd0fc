// Package adminjson defines the JSON of a hub's own interface below /api/v1, as far as clients
// in this module use it.
//
// The server is package adminapi; the clients are the parley command and package hubclient.
// Comments state which members may be absent, and when.
package adminjson
