// Package console serves /console/: pages about a hub for people.
//
// # Overview
//
// A [Handler] is a client of the hub in the same process. It reads and changes everything through
// /api/v1 and the HTTP+JSON binding of A2A, with the credentials of the person who has signed in.
// So a page shows what these interfaces answer this caller, and every permission, limit and audit
// record is theirs. Pages are rendered from templates; one script file adds what changes while a
// page is open.
//
// # Guarantees
//
// Without the script every page can be read, and every form works. Content of callers and agents is text: it never
// becomes an element, an attribute name or an address. Control characters and those that change
// the direction of text are shown as their codes. Pages load nothing from other origins and cannot
// be framed. The browser gets a random cookie, never the key. Every change needs the token of its
// session and comes from a page of the same origin.
//
// # Non-guarantees
//
// Sessions are in memory: after a restart of the hub people sign in again. A page shows at most
// the beginning of a large text, and of a long log its end; both can be read whole elsewhere.
//
// # Concurrency
//
// A Handler is safe for concurrent use.
//
// # Testing
//
// The tests run a Handler before a real hub; those in internal/e2e/browser use a browser.
package console
