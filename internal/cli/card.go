package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

type cardCmd struct {
	target
	format
	Card string `arg:"" optional:"" name:"url" as:"url" help:"The URL of the agent; the same as --url."`
}

func (c *cardCmd) Run(in interrupts, o *OS) error {
	if c.Card != "" {
		c.URL = c.Card
	}
	if _, err := c.config(); err != nil {
		return err
	}
	card, raw, err := client.Fetch(in.soft, c.at(), c.options())
	if err != nil {
		return c.advise(c.missing(in.soft, err))
	}
	if c.data() {
		return c.received(o, raw)
	}
	_, err = io.WriteString(o.Stdout, printable(cardText(card)))
	return err
}

// printRaw writes received JSON: indented on a terminal, on one line otherwise.
func printRaw(o *OS, raw []byte) error {
	var b bytes.Buffer
	write := json.Compact
	if o.Terminal {
		write = func(dst *bytes.Buffer, src []byte) error { return json.Indent(dst, src, "", "  ") }
	}
	if err := write(&b, raw); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := o.Stdout.Write(b.Bytes())
	return err
}

// cardText formats a card for a person.
func cardText(card *a2a.AgentCard) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n%s\n", card.Name, card.Version, card.Description)
	if p := card.Provider; p != nil {
		fmt.Fprintf(&b, "by %s\n", list(p.Org, p.URL))
	}
	b.WriteString("\nInterfaces\n")
	for _, i := range card.SupportedInterfaces {
		if i != nil {
			fmt.Fprintf(&b, "  %-9s %s  %s\n", i.ProtocolBinding, i.ProtocolVersion, i.URL)
		}
	}
	fmt.Fprintf(&b, "\nCan do     %s\n", cmp.Or(capabilities(&card.Capabilities), "request and response only"))
	fmt.Fprintf(&b, "Takes      %s\n", strings.Join(card.DefaultInputModes, ", "))
	fmt.Fprintf(&b, "Gives      %s\n", strings.Join(card.DefaultOutputModes, ", "))
	if len(card.SecuritySchemes) > 0 {
		fmt.Fprintf(&b, "Asks for   %s\n", strings.Join(schemes(card), ", "))
	}
	if len(card.Skills) > 0 {
		b.WriteString("\nSkills\n")
	}
	for _, s := range card.Skills {
		fmt.Fprintf(&b, "  %s: %s\n", s.ID, cmp.Or(s.Description, s.Name))
		for _, example := range s.Examples {
			fmt.Fprintf(&b, "      %q\n", example)
		}
	}
	return b.String()
}

func capabilities(c *a2a.AgentCapabilities) string {
	var can []string
	for name, ok := range map[string]bool{
		"streaming": c.Streaming, "push notifications": c.PushNotifications, "extended card": c.ExtendedAgentCard,
	} {
		if ok {
			can = append(can, name)
		}
	}
	slices.Sort(can)
	for _, e := range c.Extensions {
		can = append(can, e.URI)
	}
	return strings.Join(can, ", ")
}

// schemes describes the credentials that the card requires.
func schemes(card *a2a.AgentCard) []string {
	var names []string
	for name, scheme := range card.SecuritySchemes {
		kind := ""
		switch s := scheme.(type) {
		case a2a.APIKeySecurityScheme:
			kind = fmt.Sprintf("API key in %s %s", s.Location, s.Name)
		case a2a.HTTPAuthSecurityScheme:
			kind = "HTTP " + s.Scheme
		case a2a.OAuth2SecurityScheme:
			kind = "OAuth 2.0"
		case a2a.OpenIDConnectSecurityScheme:
			kind = "OpenID Connect"
		case a2a.MutualTLSSecurityScheme:
			kind = "mutual TLS"
		}
		names = append(names, fmt.Sprintf("%s (%s)", name, kind))
	}
	slices.Sort(names)
	return names
}
