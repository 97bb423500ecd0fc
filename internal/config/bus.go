package config

import (
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// BusOff is the URL that disables the bus.
const BusOff = "off"

// Bus configures the message bus, over which the hub calls agents that are not always running.
// Zero fields mean the defaults.
type Bus struct {
	// URL is the address of a broker: nats://, tls:// (NATS with TLS), amqp:// or amqps://; or
	// off. If empty, the hub runs an embedded broker for programs on this machine.
	URL string `yaml:"url"`
	// Listen is the address of the embedded broker. The default is a free port of 127.0.0.1. An
	// address that other machines can reach requires TLS.
	Listen string `yaml:"listen"`
	// TLS is the certificate of the embedded broker. If set, all connections to it use TLS.
	TLS Certificate `yaml:"tls"`
	// MaxWait is the time a message may wait for a worker before its task fails. The default is
	// 24h.
	MaxWait Duration `yaml:"max_wait" never:"true"`
	// Lease is the silence after which a worker counts as disconnected. The default is 30s.
	Lease Duration `yaml:"lease"`
	// NoLiveView disables publishing the output of remote agents on the bus.
	NoLiveView bool `yaml:"no_live_view"`
}

// Certificate is a certificate and its private key, as PEM files.
type Certificate struct {
	// Cert is the file of the certificate, followed by its chain.
	Cert string `yaml:"cert" path:"yes"`
	// Key is the file of the private key.
	Key string `yaml:"key" path:"yes"`
}

// CheckBusURL returns a description of the problem of a broker's address; empty if it is valid.
// The description does not contain the address, which may include a password.
func CheckBusURL(text string) string {
	if text == "" || text == BusOff {
		return ""
	}
	for one := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(one)
		switch {
		case err != nil || u.Host == "":
			return "is not the address of a broker like nats://127.0.0.1:4222 or amqp://user:password@host/vhost, nor off"
		case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "amqp" && u.Scheme != "amqps":
			return "must begin with nats://, tls://, amqp:// or amqps://, or be off"
		}
	}
	return ""
}

func checkBus(d *yamlfile.Decoder, c *Config) {
	if wrong := CheckBusURL(c.Bus.URL); wrong != "" {
		d.Problem(nil, "bus.url", "%s", wrong)
	}
	checkAddress(d, "bus.listen", c.Bus.Listen)
	if c.Bus.URL != "" && c.Bus.Listen != "" {
		d.Problem(nil, "bus.listen", "is for the hub's own broker, and there is a bus.url")
	}
	switch tls := c.Bus.TLS; {
	case tls == Certificate{}:
	case tls.Cert == "" || tls.Key == "":
		d.Problem(nil, "bus.tls", "needs cert and key")
	case c.Bus.URL != "":
		d.Problem(nil, "bus.tls", "is for the hub's own broker, and there is a bus.url")
	}
}
