package remote

import (
	"net/url"
	"regexp"
	"strings"
)

// addresses matches the addresses in errors of a connection: URLs, and IP addresses with or
// without a port. An index in the name of a member, such as parts[0], does not match.
var addresses = regexp.MustCompile(`https?://[^\s"]*[^\s":,;.]|\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\](:\d+)?|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b`)

// hidden replaces an address.
const hidden = "(address)"

// hide returns text without the addresses in it. The addresses of a hub's agents and name
// servers are for the operator only, who finds them in the log.
func (a *Agent) hide(text string) string {
	text = addresses.ReplaceAllString(text, hidden)
	if u, err := url.Parse(a.URL); err == nil && u.Hostname() != "" {
		text = strings.ReplaceAll(text, u.Host, hidden)
		text = strings.ReplaceAll(text, u.Hostname(), hidden)
	}
	return text
}
