// Package safedial dials addresses that untrusted parties have chosen, such as webhooks,
// redirects and URLs in cards, without allowing them to reach internal networks.
//
// A [Policy] defines the addresses that may be reached. Its zero value allows public unicast
// addresses and nothing else; an operator adds to it with [ParsePolicy]. [Policy.CheckURL]
// refuses a bad URL when it is registered. [Policy.Transport] and [Policy.Client] check every
// dialed address again.
//
// Addresses that the operator configured, in files, flags or commands, are trusted and do not
// belong here.
//
// # Refused addresses
//
// At registration: URLs that are not absolute http or https, that have a user, a fragment, a
// strange port or more than 2,048 bytes; addresses in any other spelling than the usual one
// (one number, octal, hexadecimal, fewer than four numbers, full-width digits, percent
// encoding), whatever the policy allows, because programs disagree about them; host names
// outside ASCII, which must be written in their xn-- form; literal addresses that the policy
// does not allow; and names that are always local: names without a dot, localhost, and
// everything below localhost, localdomain, local, internal, intranet, private, corp, home, lan
// and home.arpa. Local names are left to the dialer if the policy allows any internal address.
// Names are not resolved at registration, so a caller cannot probe the internal meaning of a
// name.
//
// When dialing: every address that is not public. IPv4: this network, private, shared
// (100.64.0.0/10), loopback, link-local, protocol assignments, documentation, 6to4 relays,
// benchmarks, multicast, reserved, broadcast. IPv6: all outside 2000::/3, such as loopback,
// unspecified, mapped and compatible, unique local, link-local, site-local, multicast, discard,
// 64:ff9b:1::/48; inside it protocol assignments (Teredo, ORCHID, benchmarks), 6to4 and
// documentation. Addresses that carry an IPv4 address, NAT64 (64:ff9b::/96) and ISATAP, are
// treated like that IPv4 address. The metadata addresses of clouds, which serve the credentials
// of machines, are refused even if a range around them is allowed: only a rule with exactly
// that address, or "all", allows one.
//
// # Guarantees
//
// The address of each connection is checked after names were resolved, right before it is
// opened. An attacker gains nothing from a name that resolves to another address a second
// later, or to several addresses. Each request of a client is checked like a registration. A
// client that follows redirects with a [Policy.Transport] checks each of them, too.
//
// Proxies named by the environment are ignored, because a proxy dials on behalf of this program
// and could reach internal addresses.
//
// TLS is 1.2 or later and verified. Response headers, idle connections and the time to connect
// are bounded. Nothing is decompressed.
//
// # Non-guarantees
//
// Bodies and whole requests are not bounded: callers do that, since they know the expected
// sizes. A public address that belongs to the operator's own network is public. Ports are not
// restricted.
//
// # Errors
//
// The text of a [Refusal] never contains the address of a name, so that it can be shown to the
// party that chose the name. [Explain] returns a similarly safe text for any error of a request.
//
// # Concurrency
//
// A Policy is safe for concurrent use once its fields are set.
//
// # Testing
//
// A [Dialer] accepts a resolver and a function that is called with each allowed address, so
// that no test needs names or a network.
package safedial
