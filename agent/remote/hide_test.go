package remote

import "testing"

// TestAddressesAreHidden checks that messages to callers contain no address and stay readable.
func TestAddressesAreHidden(t *testing.T) {
	t.Parallel()
	a := &Agent{URL: "https://research.internal:8443/a2a"}
	for text, want := range map[string]string{
		"is not reachable: card of https://research.internal:8443/a2a: dial tcp 10.1.2.3:8443: connect: connection refused": "is not reachable: card of (address): dial tcp (address): connect: connection refused",
		"lookup research.internal on 10.255.255.53:53: no such host":                                                        "lookup (address) on (address): no such host",
		"dial tcp [fd00::1]:80: connect: no route to host":                                                                  "dial tcp (address): connect: no route to host",
		"Get \"http://other.internal/x?key=1\": EOF":                                                                        "Get \"(address)\": EOF",
		"task.artifacts[0].parts[12].text: must be a string":                                                                "task.artifacts[0].parts[12].text: must be a string",
		"the model is gone at 12:30, version 1.2.3":                                                                         "the model is gone at 12:30, version 1.2.3",
	} {
		if got := a.hide(text); got != want {
			t.Errorf("hide(%q) =\n%q, want\n%q", text, got, want)
		}
	}
}
