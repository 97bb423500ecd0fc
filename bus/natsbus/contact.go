package natsbus

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// ContactFile is the name of the file in the data folder of a hub that says how workers on
// the same machine reach its bus.
const ContactFile = "bus.json"

// Contact is what is in it.
type Contact struct {
	// URL is the address of the server, Token what it asks for.
	URL   string `json:"url"`
	Token string `json:"token"`
	// Hub is the hub's key for signatures: see bus.ParseHubKey. It may be empty.
	Hub string `json:"hub,omitempty"`
	// Certificate is the SHA-256 of the certificate that the server shows, in hexadecimal
	// digits: clients believe that one, whatever names are in it. It is empty without TLS.
	Certificate string `json:"certificate,omitempty"`
}

// Options returns those of a client.
func (c Contact) Options() Options {
	o := Options{URL: c.URL, Token: c.Token}
	if c.Certificate != "" {
		o.TLS = pinned(c.Certificate)
	}
	return o
}

// Fingerprint returns what Contact.Certificate says of a certificate in DER.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// pinned returns the TLS of a client that believes one certificate alone.
func pinned(fingerprint string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection looks at it, at each handshake
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || Fingerprint(s.PeerCertificates[0].Raw) != fingerprint {
				return errors.New("the certificate is not that of " + ContactFile)
			}
			return nil
		},
	}
}

// ReadContact reads a Contact from the file at path. An error that is fs.ErrNotExist means
// that no hub runs there, or that it does not listen.
func ReadContact(path string) (Contact, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Contact{}, err
	}
	var c Contact
	if err := json.Unmarshal(text, &c); err != nil {
		return Contact{}, fmt.Errorf("read %s: %w", path, err)
	}
	if c.URL == "" {
		return Contact{}, fmt.Errorf("read %s: %w", path, errors.New("has no member url"))
	}
	return c, nil
}
