package config

import (
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// BusOff is the URL of no bus.
const BusOff = "off"

// Bus says how agents are reached that need not be running when they are called. Zero means
// the default that is named.
type Bus struct {
	// URL is the address of a broker: nats://, tls:// (NATS with TLS), amqp:// or amqps://;
	// or off. If empty, the hub brings one along, for programs on this machine.
	URL string `yaml:"url"`
	// Listen is the address of the broker that the hub brings along: a free port of
	// 127.0.0.1. One that other machines reach needs TLS.
	Listen string `yaml:"listen"`
	// TLS is the certificate that this broker shows. Then all speak TLS to it.
	TLS Certificate `yaml:"tls"`
	// MaxWait is how long a message waits for a worker before its task fails: 24h.
	MaxWait Duration `yaml:"max_wait" never:"true"`
	// Lease is how long a worker may be silent before it counts as lost: 30s.
	Lease Duration `yaml:"lease"`
	// NoLiveView keeps the hub from telling on the bus what agents elsewhere say.
	NoLiveView bool `yaml:"no_live_view"`
}

// Certificate is one with its key, in files as PEM.
type Certificate struct {
	// Cert is the file of the certificate, followed by those that it was signed with.
	Cert string `yaml:"cert" path:"yes"`
	// Key is the file of its private key.
	Key string `yaml:"key" path:"yes"`
}

// CheckBusURL returns what is wrong with the address of a broker; empty if nothing is. It
// repeats none of it, because there may be a password in it.
func CheckBusURL(text string) string {
	if text == "" || text == BusOff {
		return ""
	}
	for _, one := range strings.Split(text, ",") {
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
		d.Problem(nil, "bus.listen", "is for the broker that the hub brings along, and there is a bus.url")
	}
	switch tls := c.Bus.TLS; {
	case tls == Certificate{}:
	case tls.Cert == "" || tls.Key == "":
		d.Problem(nil, "bus.tls", "needs cert and key")
	case c.Bus.URL != "":
		d.Problem(nil, "bus.tls", "is for the broker that the hub brings along, and there is a bus.url")
	}
}
