package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/file/textfile"
)

// maxSecret is the largest size, in bytes, of a file that ${file:…} reads.
const maxSecret = 64 << 10

// readSecret returns the content of a file for ${file:PATH}, without trailing line ends. A
// relative path is relative to the folder of the configuration. Errors contain nothing of the
// content.
func (c *Config) readSecret(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(c.File), path)
	}
	info, err := os.Stat(path) // orchestrators create symbolic links
	switch {
	case err != nil:
		return "", withoutPath(err)
	case !info.Mode().IsRegular():
		return "", errors.New("is not a regular file")
	case info.Size() > maxSecret:
		return "", fmt.Errorf("has %d bytes; the maximum is %d", info.Size(), maxSecret)
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", withoutPath(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret)) // some systems report a size of zero
	if err != nil {
		return "", withoutPath(err)
	}
	if b, err = textfile.Unmarked(b); err != nil {
		return "", err
	}
	text := strings.TrimRight(string(b), "\r\n")
	switch {
	case text == "":
		return "", errors.New("is empty")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", errors.New("is not text")
	}
	if !slices.Contains(c.SecretFiles, path) {
		c.SecretFiles = append(c.SecretFiles, path)
	}
	return text, nil
}

// withoutPath removes the path from an error, because the message already names it.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// Secrets returns all secrets of the configuration, regardless of their source.
func (c *Config) Secrets() []string {
	all := []string{c.ExtendedCard.Token, Password(c.Bus.URL), Password(c.Store.Home), Password(c.StoreDirect), c.MasterKey}
	for _, address := range c.Store.Others() {
		all = append(all, Password(address))
	}
	all = append(all, c.Push.SigningSecrets...)
	for _, added := range c.Extensions() {
		if s, ok := added.(Secrets); ok {
			all = append(all, s.Secrets()...)
		}
	}
	for _, k := range slices.Concat(c.Auth.APIKeys, c.Auth.BearerTokens) {
		all = append(all, k.key)
	}
	for i := range c.ModelProviders {
		all = append(all, c.ModelProviders[i].APIKey)
	}
	for i := range c.Agents {
		a := &c.Agents[i]
		all = append(all, a.Endpoint.Auth.Token, a.Endpoint.Auth.ClientSecret, a.Identity.ClientSecret)
	}
	for i := range c.MCPServers {
		all = append(all, c.MCPServers[i].Headers["Authorization"])
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// Password returns the password in the address of a broker or database.
func Password(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	p, _ := u.User.Password()
	return p
}

// HoldsSecrets reports whether the file itself contains a secret.
func (c *Config) HoldsSecrets() bool {
	text, err := os.ReadFile(filepath.Clean(c.File))
	return err == nil && slices.ContainsFunc(c.Secrets(), func(s string) bool { return strings.Contains(string(text), s) })
}
