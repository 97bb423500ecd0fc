package server

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/internal/secret/hubkey"
	"github.com/parley-a2a/parley/internal/secret/tokenexchange"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// Unusable returns the reasons for which a hub of a configuration cannot use its existing files: rights
// that this process lacks, and files with keys that others may read or that hold no key. It changes
// nothing. A start refuses the first of them, and parley doctor reports all.
func Unusable(cfg *config.Config) (all []error) {
	here := func(name string) string { return filepath.Join(cfg.Data, name) }
	paths := []string{cfg.Data, here("parley.lock"), here("runs"), here(spoolName)}
	if !OnDatabase(cfg.Store.Home) {
		for _, suffix := range []string{"", "-wal", "-shm", sqlitestore.MarkSuffix} {
			paths = append(paths, here(StoreName+suffix))
		}
		paths = append(paths, partsFolder(cfg))
	}
	if !cfg.Audit.Off() {
		paths = append(paths, cmp.Or(cfg.Audit.Dir, here(AuditName)))
	}
	for _, path := range paths {
		if err := datadir.Usable(path); err != nil {
			all = append(all, err)
		}
	}
	if _, err := masterOf(cfg); err != nil {
		all = append(all, err)
	}
	if path := here(hubkey.FileName); cfg.Bus.URL != config.BusOff && !cfg.Conformance && exists(path) {
		if _, err := hubkey.Load(path); err != nil {
			all = append(all, err)
		}
	}
	asserts := slices.ContainsFunc(cfg.Agents, func(a config.Agent) bool { return a.Identity.Asserts() })
	if path := here(tokenexchange.FileName); asserts && exists(path) {
		if _, err := tokenexchange.Load(path); err != nil {
			all = append(all, err)
		}
	}
	for _, path := range cfg.Cards.SigningKeys {
		if _, err := readSigner(path); err != nil {
			all = append(all, configf("cards.signing_keys: %s: %w", path, err))
		}
	}
	return all
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
