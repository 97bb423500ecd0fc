package console_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

var whyLink = regexp.MustCompile(`href="(/console/policy\?[^"]*)">(\w+)<`)

// TestPolicyPage follows the cells of the matrix to their reasons.
func TestPolicyPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, root := w.as(annsKey), w.as(rootKey)
	if a := ann.get("/console/policy"); a.code != 403 || strings.Contains(a.body, "bob") {
		t.Errorf("the policy for a caller without a role = %d %s", a.code, a.body)
	}
	a := root.get("/console/policy?op=send&find=echo")
	wants(t, a, 200, "<title>Policy · Parley</title>", "without credentials", "This hub has no")
	cells := whyLink.FindAllStringSubmatch(a.body, -1)
	if len(cells) != 4 {
		t.Fatalf("the matrix has %d cells, want 4 callers with one agent: %s", len(cells), a.body)
	}
	wants(t, root.get(html.UnescapeString(cells[0][1])), 200, "ann, echo", "there is no policy: every caller may", "<title>Why? ann, echo · Parley</title>")
	wants(t, root.get(html.UnescapeString(cells[3][1])), 200, "callers need a key")
	wants(t, root.get("/console/policy?agent=echo&caller=root"), 200, "admin.keys", "the caller has the role admin")
	wants(t, root.get("/console/policy?op=nosuch"), 200, `role="alert"`, "nosuch")
	wants(t, root.get("/console/policy?caller=nobody-here&find=none"), 200, "No matching caller or agent")
	for _, s := range hostiletest.Texts {
		q := url.QueryEscape(s)
		check(t, fmt.Sprintf("%q in the matrix", s), root.get("/console/policy?op="+q+"&caller="+q+"&find="+q+"&agent="+q+"&row="+q+"&column="+q).body)
	}
	h := hostileWorld(t)
	check(t, "policy", h.person().get("/console/policy").body)
}
