package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	db, err := sqlitestore.Open(filepath.Join(dir, "parley.db"), sqlitestore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()

	hub := &parley.Hub{Store: db.Tasks(), Memory: &parley.Memory{Notes: &parley.Notes{Store: db.Notes()}}}
	fmt.Println(hub.Open(context.Background()))
	// Output: <nil>
}
