// Package linktest provides TCP proxies between processes, which tests cut, stall and delay.
//
// A [Link] forwards connections to an address. Its faults are those of a network: connections
// that end, bytes that arrive in neither or in only one direction while the connections stay
// open, bytes that arrive late, and connections that are refused.
package linktest
