package push

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed notification, as in Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// Tolerance is the largest accepted difference between the time of a signed notification and
// the receiver's clock.
const Tolerance = 5 * time.Minute

// The bounds of a signing secret in bytes, as in Standard Webhooks.
const (
	minSecret = 24
	maxSecret = 64
)

const (
	secretPrefix    = "whsec_"
	signaturePrefix = "v1,"
)

// ErrUnverified is wrapped by errors about notifications whose sender could not be verified.
var ErrUnverified = errors.New("notification is not verified")

// ParseSecret reads a signing secret: "whsec_" and 24 to 64 bytes in base64. The error does not
// repeat the secret. This command creates one:
//
//	echo "whsec_$(openssl rand -base64 32)"
func ParseSecret(s string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(s), secretPrefix)
	if !ok {
		return nil, fmt.Errorf("a signing secret must begin with %q", secretPrefix)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		key, err = base64.RawStdEncoding.DecodeString(encoded)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the signing secret behind %q is not base64", secretPrefix)
	case len(key) < minSecret || len(key) > maxSecret:
		return nil, fmt.Errorf("the signing secret has %d bytes, want %d to %d", len(key), minSecret, maxSecret)
	}
	return key, nil
}

// Sign returns the header webhook-signature of a notification with an id and a time in seconds.
// It has one signature for each secret, so that receivers can move from one secret to the next.
func Sign(secrets [][]byte, id string, at time.Time, body []byte) string {
	signatures := make([]string, len(secrets))
	for i, key := range secrets {
		mac := signature(key, id, strconv.FormatInt(at.Unix(), 10), body)
		signatures[i] = signaturePrefix + base64.StdEncoding.EncodeToString(mac)
	}
	return strings.Join(signatures, " ")
}

// signature returns the HMAC-SHA256 of "id.timestamp.body".
func signature(key []byte, id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// Verify checks the signature of a notification by its headers and its body. At least one
// signature must be made with one of the secrets, and the time of the notification must not
// differ from now by more than Tolerance. The error wraps ErrUnverified.
func Verify(secrets [][]byte, h http.Header, body []byte, now time.Time) error {
	id, timestamp, err := signed(h)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return unverified("%s is not a number of seconds", headerTimestamp)
	}
	if off := now.Sub(time.Unix(seconds, 0)); off > Tolerance || off < -Tolerance {
		return unverified("%s is more than %v from now", headerTimestamp, Tolerance)
	}
	for _, key := range secrets {
		if signedBy(signature(key, id, timestamp, body), h.Get(headerSignature)) {
			return nil
		}
	}
	return unverified("%s does not match the body", headerSignature)
}

// signed returns the headers that are signed with the body. Each must be present exactly once.
func signed(h http.Header) (id, timestamp string, err error) {
	for _, name := range []string{headerID, headerTimestamp, headerSignature} {
		switch v := h.Values(name); {
		case len(v) == 0 || v[0] == "":
			return "", "", unverified("%s is missing", name)
		case len(v) > 1:
			return "", "", unverified("%s appears %d times", name, len(v))
		}
	}
	return h.Get(headerID), h.Get(headerTimestamp), nil
}

// signedBy reports whether a list of signatures contains mac.
func signedBy(mac []byte, list string) bool {
	found := false
	for s := range strings.FieldsSeq(list) {
		encoded, ok := strings.CutPrefix(s, signaturePrefix)
		if !ok {
			continue // another version
		}
		if got, err := base64.StdEncoding.DecodeString(encoded); err == nil && hmac.Equal(got, mac) {
			found = true
		}
	}
	return found
}

func unverified(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUnverified}, args...)...)
}
