package cli

import (
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// TestRevokedCertificate revokes a certificate while its holder has open connections. They are
// refused from then on, new ones fail, and the connections of other callers are unaffected.
func TestRevokedCertificate(t *testing.T) {
	t.Parallel()
	h := startTLS(t, ", client_crl: crl.pem", rulesOfTest)
	buyer := h.acme.Issue(t, x509.Certificate{URIs: []*url.URL{parsedURL(t, buyerID)}})
	worker := h.acme.Issue(t, x509.Certificate{DNSNames: []string{"worker.acme.example"}})
	old, new2, others := h.web(h.config(buyer), false), h.web(h.config(buyer), true), h.web(h.config(worker), true)
	conn, err := grpc.NewClient(h.About().GRPC, grpc.WithTransportCredentials(credentials.NewTLS(h.config(buyer))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	list := func() error {
		_, err := pb.NewA2AServiceClient(conn).ListTasks(t.Context(), &pb.ListTasksRequest{})
		return err
	}
	asks := map[string]func() (int, string, error){
		"HTTP/1.1": func() (int, string, error) { return h.rpc(old, listV1) },
		"HTTP/2":   func() (int, string, error) { return h.rpc(new2, listV1) },
		"gRPC": func() (int, string, error) {
			switch err := list(); status.Code(err) {
			case codes.OK:
				return http.StatusOK, "", nil
			case codes.Unauthenticated:
				return http.StatusUnauthorized, err.Error(), nil
			default:
				return 0, "", err
			}
		},
	}
	for name, ask := range asks {
		if code, body, err := ask(); code != http.StatusOK {
			t.Fatalf("%s at first: %d %s %v", name, code, body, err)
		}
	}
	replace := func(text []byte) {
		t.Helper()
		path := filepath.Join(h.dir, "crl.pem")
		if err := os.WriteFile(path+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	replace(h.acme.Revoke(t, x509.RevocationList{}, buyer))
	if f := tlsFacts(h.settings); len(f.Lists) != 1 || f.Lists[0].Revoked != 1 || f.Unlisted != nil {
		t.Errorf("parley doctor knows the lists %+v, and none of %q", f.Lists, f.Unlisted)
	}
	for name, ask := range asks {
		for end := time.Now().Add(2 * time.Minute); ; {
			code, body, err := ask()
			if code == http.StatusUnauthorized {
				if strings.Contains(body, "revoked") {
					t.Errorf("%s: a caller gets the reason: %s", name, body)
				}
				break
			}
			if err != nil || time.Now().After(end) {
				t.Fatalf("%s with a certificate that was revoked: %d %s %v, want 401 on the connection that is open", name, code, body, err)
			}
		}
	}
	if code, body, err := h.rpc(h.web(h.config(buyer), true), listV1); err == nil {
		t.Errorf("a new connection is made: %d %s", code, body)
	}
	if code, body, err := h.rpc(others, listV1); code != http.StatusOK {
		t.Errorf("another certificate: %d %s %v", code, body, err)
	}
	if code, body, err := h.rpc(h.web(h.config(nil), true), listV1, "X-Api-Key: key-of-the-buyer-0123"); code != http.StatusOK {
		t.Errorf("a key without a certificate: %d %s %v", code, body, err)
	}
	if output := h.log.String(); !strings.Contains(output, "was revoked") {
		t.Errorf("the log does not say why:\n%s", output)
	}
	replace(tlstest.NewAuthority(t, "acme").Revoke(t, x509.RevocationList{}))
	for end := time.Now().Add(2 * time.Minute); !strings.Contains(h.log.String(), "none of the authorities has signed it"); {
		if code, body, err := h.rpc(others, listV1); code != http.StatusOK || time.Now().After(end) {
			t.Fatalf("with a list that is forged: %d %s %v", code, body, err)
		}
	}
	if code, _, err := asks["HTTP/1.1"](); err == nil && code != http.StatusUnauthorized {
		t.Errorf("a list that is forged lets a certificate in again: %d", code)
	}
}
