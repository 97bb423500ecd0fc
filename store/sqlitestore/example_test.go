package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-a2a/parley/internal/task"
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

	var store task.Store = db.Tasks()
	page, err := store.List(context.Background(), &task.Query{Owner: "anna", Limit: 10})
	fmt.Println(page.Total, err)
	// Output: 0 <nil>
}
