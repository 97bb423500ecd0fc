package remote

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
)

// addresses matches the addresses in errors of a connection: URLs, and IP addresses with or
// without a port. An index in the name of a member, such as parts[0], does not match.
var addresses = regexp.MustCompile(`https?://[^\s"]*[^\s":,;.]|\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\](:\d+)?|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b`)

// hidden replaces an address.
const hidden = "(address)"

// worded returns the text of an error for the caller of the run: without addresses, unless the caller
// is an administrator.
func (r *run) worded(text string) string {
	administers := r.agent.Administers
	if administers == nil {
		administers = func(p *auth.Principal) bool { return p != nil && slices.Contains(p.Roles, auth.RoleAdmin) }
	}
	if administers(r.caller) {
		return text
	}
	return r.agent.hide(text)
}

// hide returns text without the addresses in it. The addresses of a hub's agents and name
// servers are for administrators only. Operators find them in the log.
func (a *Agent) hide(text string) string {
	text = addresses.ReplaceAllString(text, hidden)
	if u, err := url.Parse(a.URL); err == nil && u.Hostname() != "" {
		text = strings.ReplaceAll(text, u.Host, hidden)
		text = strings.ReplaceAll(text, u.Hostname(), hidden)
	}
	return text
}
