package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// CheckStore returns a description of the problem of the value of store; empty if it is valid. The
// description does not contain the value, which may include a password.
func CheckStore(text string) string {
	if text == "" || text == "sqlite" {
		return ""
	}
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return "must be sqlite, or the address of a database like postgres://user:password@host/name"
	}
	if u, err := url.Parse(text); err != nil || u.Path == "" || u.Path == "/" {
		return "is not the address of a database like postgres://user:password@host/name"
	}
	return ""
}

// Store is where the hub keeps its data. A single text is Home.
type Store struct {
	// Home is sqlite for a file in the data folder, or the address of a PostgreSQL database:
	// postgres://user:password@host/name. The default is sqlite. With Databases, it is the one of
	// them that keeps the data shared by all owners of tasks.
	Home string `yaml:"home"`
	// Databases are the addresses of the PostgreSQL databases among which the owners of tasks are
	// divided. It is empty for a store in one place.
	Databases []string `yaml:"databases"`
}

// DecodeNode implements yamlfile.Node.
func (s *Store) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	if node.Type() == ast.MappingType || node.Type() == ast.MappingValueType {
		type keys Store
		d.Value(node, reflect.ValueOf((*keys)(s)).Elem(), key, "")
		return
	}
	if text, ok := d.Text(node, key); ok {
		s.Home = text
	}
}

// Others returns the databases except the home.
func (s Store) Others() (all []string) {
	for _, address := range s.Databases {
		if address != s.Home {
			all = append(all, address)
		}
	}
	return all
}

// names returns s with the hosts and names of Databases alone.
func (s Store) names() (all Store) {
	for _, address := range s.Databases {
		if u, err := url.Parse(address); err == nil {
			all.Databases = append(all.Databases, u.Host+u.Path)
		}
	}
	slices.Sort(all.Databases)
	return all
}

func checkStore(d *yamlfile.Decoder, c *Config) {
	s := &c.Store
	if len(s.Databases) == 0 {
		if wrong := CheckStore(s.Home); wrong != "" {
			d.Problem(nil, "store", "%s", wrong)
		}
		checkStoreDirect(d, c)
		return
	}
	if c.StoreDirect != "" {
		d.Problem(nil, "store_direct", "is for one database behind a pooler; store.databases are direct addresses")
	}
	for i, address := range s.Databases {
		wrong := CheckStore(address)
		switch {
		case address == "" || address == "sqlite":
			wrong = "must be the address of a database like postgres://user:password@host/name"
		case wrong == "" && slices.Contains(s.Databases[:i], address):
			wrong = "lists a database twice"
		}
		if wrong != "" {
			d.Problem(nil, fmt.Sprintf("store.databases[%d]", i), "%s", wrong)
		}
	}
	if !slices.Contains(s.Databases, s.Home) {
		d.Problem(nil, "store.home", "must be one of store.databases, written in the same way")
	}
	if c.HubID == "" {
		d.Problem(nil, "store.databases", "needs hub_id, although this hub may be the only one")
	}
}

func checkStoreDirect(d *yamlfile.Decoder, c *Config) {
	switch {
	case c.StoreDirect == "":
	case c.Store.Home == "sqlite":
		d.Problem(nil, "store_direct", "is for a PostgreSQL database behind a pooler, and store is sqlite")
	case c.StoreDirect == "sqlite" || CheckStore(c.StoreDirect) != "":
		d.Problem(nil, "store_direct", "must be the address of a database like postgres://user:password@host/name")
	}
}

// Parts configures the storage of large parts of messages and artifacts. The zero value keeps
// all parts in the log of their tasks, and callers get their bytes.
type Parts struct {
	// Threshold is the size above which the bytes of a part are stored in a file, and readers
	// get its address instead; zero means never.
	Threshold Size `yaml:"threshold"`
	// Expiry is the retention time of parts after the end of their task, at most that of the
	// task. The default is 7d.
	Expiry Duration `yaml:"expiry"`
	// Max is the largest accepted part. The default is 64MiB.
	Max Size `yaml:"max"`
	// Dir is the folder of the files. The default is parts in the data folder.
	Dir string `yaml:"dir" path:"yes"`
}

// checkParts reports contradictory limits.
func checkParts(d *yamlfile.Decoder, p *Parts) {
	if p.Threshold == 0 && (p.Expiry != 0 || p.Max != 0) {
		d.Problem(nil, "parts.threshold", "is missing: without it, no part is stored separately")
	}
	if p.Max != 0 && p.Max < p.Threshold {
		d.Problem(nil, "parts.max", "must be at least parts.threshold")
	}
}
