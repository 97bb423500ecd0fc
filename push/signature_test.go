package push

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The example that implementations of Standard Webhooks share.
const (
	exampleSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	exampleBody      = `{"test": 2432232314}`
	exampleSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

var exampleTime = time.Unix(1614265330, 0)

func mustSecret(t testing.TB, s string) []byte {
	t.Helper()
	key, err := ParseSecret(s)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// otherSecret returns a secret of n bytes.
func otherSecret(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n)))
}

func signedHeader(id string, at time.Time, signature string) http.Header {
	return http.Header{
		headerID: {id}, headerTimestamp: {strconv.FormatInt(at.Unix(), 10)}, headerSignature: {signature},
	}
}

func TestSignKnownExample(t *testing.T) {
	t.Parallel()
	got := Sign([][]byte{mustSecret(t, exampleSecret)}, exampleID, exampleTime, []byte(exampleBody))
	if got != exampleSignature {
		t.Errorf("Sign = %q, want %q", got, exampleSignature)
	}
}

func TestVerifyWhileSecretsRotate(t *testing.T) {
	t.Parallel()
	first, second, third := mustSecret(t, exampleSecret), mustSecret(t, otherSecret(24)), mustSecret(t, otherSecret(64))
	for name, tt := range map[string]struct {
		signs, takes [][]byte
		good         bool
	}{
		"the sender is ahead":   {[][]byte{second, first}, [][]byte{first}, true},
		"the receiver is ahead": {[][]byte{first}, [][]byte{second, first}, true},
		"both have both":        {[][]byte{first, second}, [][]byte{second, first}, true},
		"none in common":        {[][]byte{first, second}, [][]byte{third}, false},
		"nothing signed":        {nil, [][]byte{first}, false},
		"no secret":             {[][]byte{first}, nil, false},
	} {
		h := signedHeader(exampleID, exampleTime, Sign(tt.signs, exampleID, exampleTime, []byte(exampleBody)))
		err := Verify(tt.takes, h, []byte(exampleBody), exampleTime)
		if (err == nil) != tt.good || err != nil && !errors.Is(err, ErrUnverified) {
			t.Errorf("%s: Verify = %v, want success: %v", name, err, tt.good)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	secrets := [][]byte{mustSecret(t, exampleSecret)}
	for name, change := range map[string]func(h http.Header, body *string, now *time.Time){
		"another id":           func(h http.Header, _ *string, _ *time.Time) { h.Set(headerID, "msg_2") },
		"another time":         func(h http.Header, _ *string, _ *time.Time) { h.Set(headerTimestamp, "1614265331") },
		"another body":         func(_ http.Header, body *string, _ *time.Time) { *body += " " },
		"no id":                func(h http.Header, _ *string, _ *time.Time) { h.Del(headerID) },
		"no time":              func(h http.Header, _ *string, _ *time.Time) { h.Del(headerTimestamp) },
		"no signature":         func(h http.Header, _ *string, _ *time.Time) { h.Del(headerSignature) },
		"an empty signature":   func(h http.Header, _ *string, _ *time.Time) { h.Set(headerSignature, "") },
		"two ids":              func(h http.Header, _ *string, _ *time.Time) { h.Add(headerID, exampleID) },
		"two signatures":       func(h http.Header, _ *string, _ *time.Time) { h.Add(headerSignature, exampleSignature) },
		"time in words":        func(h http.Header, _ *string, _ *time.Time) { h.Set(headerTimestamp, "today") },
		"time out of range":    func(h http.Header, _ *string, _ *time.Time) { h.Set(headerTimestamp, "99999999999999999999") },
		"time far out":         func(h http.Header, _ *string, _ *time.Time) { h.Set(headerTimestamp, "9223372036854775807") },
		"too late":             func(_ http.Header, _ *string, now *time.Time) { *now = now.Add(Tolerance + time.Second) },
		"too early":            func(_ http.Header, _ *string, now *time.Time) { *now = now.Add(-Tolerance - time.Second) },
		"another version":      func(h http.Header, _ *string, _ *time.Time) { h.Set(headerSignature, "v2"+exampleSignature[2:]) },
		"no version":           func(h http.Header, _ *string, _ *time.Time) { h.Set(headerSignature, exampleSignature[3:]) },
		"no base64":            func(h http.Header, _ *string, _ *time.Time) { h.Set(headerSignature, "v1,%%%") },
		"a shorter signature":  func(h http.Header, _ *string, _ *time.Time) { h.Set(headerSignature, "v1,g0hM") },
		"an asymmetric prefix": func(h http.Header, _ *string, _ *time.Time) { h.Set(headerSignature, "v1a,"+exampleSignature[3:]) },
	} {
		h, body, now := signedHeader(exampleID, exampleTime, exampleSignature), exampleBody, exampleTime
		change(h, &body, &now)
		if err := Verify(secrets, h, []byte(body), now); !errors.Is(err, ErrUnverified) {
			t.Errorf("%s: Verify = %v, want ErrUnverified", name, err)
		}
	}
}

func TestVerifyTakes(t *testing.T) {
	t.Parallel()
	secrets := [][]byte{mustSecret(t, exampleSecret)}
	for name, tt := range map[string]struct {
		signature string
		now       time.Time
	}{
		"now":            {exampleSignature, exampleTime},
		"a bit late":     {exampleSignature, exampleTime.Add(Tolerance)},
		"a bit early":    {exampleSignature, exampleTime.Add(-Tolerance)},
		"among others":   {"v1a,abc v1,AAAA " + exampleSignature + " v2,x", exampleTime},
		"spaces between": {"  " + exampleSignature + "  ", exampleTime},
	} {
		if err := Verify(secrets, signedHeader(exampleID, exampleTime, tt.signature), []byte(exampleBody), tt.now); err != nil {
			t.Errorf("%s: Verify = %v", name, err)
		}
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	for _, s := range []string{exampleSecret, " " + exampleSecret + "\n", otherSecret(24), otherSecret(64), strings.TrimRight(otherSecret(32), "=")} {
		if _, err := ParseSecret(s); err != nil {
			t.Errorf("ParseSecret(%q) = %v", s, err)
		}
	}
	for _, s := range []string{"", "whsec_", exampleSecret[6:], "whsec_!!!", otherSecret(23), otherSecret(65), "WHSEC_" + exampleSecret[6:]} {
		if _, err := ParseSecret(s); err == nil || len(s) > 8 && strings.Contains(err.Error(), s[6:]) {
			t.Errorf("ParseSecret(%q) = %v, want an error that does not repeat it", s, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(exampleID, "1614265330", exampleSignature, []byte(exampleBody))
	f.Add("", "", "v1,", []byte{})
	secrets := [][]byte{mustSecret(f, exampleSecret)}
	f.Fuzz(func(t *testing.T, id, at, signature string, body []byte) {
		h := http.Header{headerID: {id}, headerTimestamp: {at}, headerSignature: {signature}}
		if Verify(secrets, h, body, exampleTime) != nil {
			return
		}
		seconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil || !strings.Contains(signature, Sign(secrets, id, time.Unix(seconds, 0), body)[3:40]) {
			t.Errorf("Verify takes %q, %q, %q, %q", id, at, signature, body)
		}
	})
}
