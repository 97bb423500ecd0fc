// Package safedial dials addresses that somebody outside has chosen, such as
// webhooks, redirects and URLs in cards, without letting them reach inside.
//
// A [Policy] says which addresses may be reached. Its zero value allows public
// unicast addresses and nothing else; an operator adds to it with [ParsePolicy].
// [Policy.CheckURL] refuses a bad URL when it is registered. [Policy.Transport] and
// [Policy.Client] check again whatever is dialed.
//
// Addresses that the operator wrote himself, in files, flags or commands, do not
// belong here: they are trusted as written.
//
// # What is refused
//
// At registration: URLs that are not absolute http or https, that have a user, a
// fragment, a strange port or more than 2,048 bytes; addresses in any other spelling
// than the usual one (one number, octal, hexadecimal, fewer than four numbers,
// full-width digits, percent encoding), whatever the policy allows, because programs
// disagree about them; host names outside ASCII, which are written in their xn-- form;
// literal addresses that the policy does not allow; and names that are always local:
// names without a dot, localhost, and everything below localhost, localdomain,
// local, internal, intranet, private, corp, home, lan and home.arpa. Local names are
// left to the dialer if the policy allows any address inside. Names are not resolved
// at registration, so a caller cannot ask what a name means inside.
//
// When dialing: every address that is not public. IPv4: this network, private,
// shared (100.64.0.0/10), loopback, link-local, protocol assignments, documentation,
// 6to4 relays, benchmarks, multicast, reserved, broadcast. IPv6: all outside
// 2000::/3, such as loopback, unspecified, mapped and compatible, unique local,
// link-local, site-local, multicast, discard, 64:ff9b:1::/48; inside it protocol
// assignments (Teredo, ORCHID, benchmarks), 6to4 and documentation. Addresses that
// carry an IPv4 address, NAT64 (64:ff9b::/96) and ISATAP, count as what they carry.
// The addresses where clouds keep the credentials of their machines are refused even
// where a range around them is allowed: only a rule with exactly that address, or
// "all", allows one.
//
// # Guarantees
//
// The check is made on the address of each connection after names were resolved,
// right before it is opened. A name that means something else a second later gains
// nothing, nor does a second address of a name. Each request of a client is checked
// like a registration, redirects included. A redirect never leads from https to
// http, and on the way to another origin all headers are dropped but those that
// describe the content.
//
// Proxies named by the environment are ignored, because a proxy dials for us and
// would reach inside. Only [Policy.Proxy] is used. That proxy resolves names itself:
// keeping it from inside addresses is then its operator's duty, and only literal
// addresses and local names are refused here.
//
// TLS is 1.2 or later and verified. Response headers, idle connections and the time
// to connect are bounded. Nothing is decompressed.
//
// # What it does not promise
//
// Bodies and whole requests are not bounded: callers do that, since they know what
// they expect. A public address that belongs to the operator's own network is
// public. Ports are not restricted.
//
// # Errors
//
// The text of a [Refusal] never says what a name was resolved to, so that it can be
// shown to who chose the name; [Refusal.Detail] says it, for the operator's log.
// [Explain] makes text of the same kind of any error of a request.
//
// # Concurrency
//
// A Policy may be used by several goroutines once its fields are set.
//
// # Testing
//
// A [Dialer] takes a resolver and a function that sees each address that has passed,
// so that no test needs names or a network.
package safedial
