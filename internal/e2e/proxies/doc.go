// Package proxies holds the tests of hubs behind reverse proxies: nginx, Caddy, HAProxy and Traefik, with
// the configurations of docs/howto/proxy.md, at the root of a site and below a path.
//
// # Guarantees
//
// The tests read the configurations from the page and replace only addresses, ports and the paths of
// certificates. Each proxy serves TLS for agents.example. Clients use that name and the standard port.
//
// # Testing
//
// Traefik is installed by .ci/venvs, the other programs are Debian packages.
package proxies
