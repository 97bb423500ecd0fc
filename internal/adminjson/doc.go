// Package adminjson is the JSON of a hub's own interface below /api/v1, as far as its clients
// read and write it.
//
// The hub's side is package adminapi; the clients are the parley command and package hubclient.
// Comments say which members are absent, and when.
package adminjson
