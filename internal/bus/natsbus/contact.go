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

// ContactFile is the name of the file in the data folder of a hub that holds the address of its
// bus, for workers on the same machine.
const ContactFile = "bus.json"

// Contact is the content of a ContactFile.
type Contact struct {
	// URL is the address of the server, Token the token for it.
	URL   string `json:"url"`
	Token string `json:"token"`
	// Hub is the hub's key for signatures: see bus.ParseHubKey. It may be empty.
	Hub string `json:"hub,omitempty"`
	// Certificate is the SHA-256 of the server's certificate, in hexadecimal digits: clients
	// trust this certificate alone, whatever names it contains. It is empty without TLS.
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

// Fingerprint returns the value of Contact.Certificate for a certificate in DER.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// pinned returns the TLS configuration of a client that trusts one certificate alone.
func pinned(fingerprint string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection checks the certificate at each handshake
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || Fingerprint(s.PeerCertificates[0].Raw) != fingerprint {
				return errors.New("the certificate is not the one in " + ContactFile)
			}
			return nil
		},
	}
}

// ReadContact reads a Contact from the file at path. An error that is fs.ErrNotExist means that
// no hub runs there, or that its bus does not listen.
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
