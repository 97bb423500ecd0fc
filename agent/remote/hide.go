package remote

import (
	"net/url"
	"regexp"
	"strings"
)

// addresses are those that errors of a connection name: URLs, and IP addresses with a
// port or without. An index in the name of a member, such as parts[0], is none.
var addresses = regexp.MustCompile(`https?://[^\s"]*[^\s":,;.]|\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\](:\d+)?|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b`)

// hidden stands where an address was.
const hidden = "(address)"

// hide returns text without the addresses in it: where the agents of a hub are, and whom
// the hub asks for names, is the operator's business, who finds it in the log.
func (a *Agent) hide(text string) string {
	text = addresses.ReplaceAllString(text, hidden)
	if u, err := url.Parse(a.URL); err == nil && u.Hostname() != "" {
		text = strings.ReplaceAll(text, u.Host, hidden)
		text = strings.ReplaceAll(text, u.Hostname(), hidden)
	}
	return text
}
