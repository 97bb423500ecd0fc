package pgstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/store/pgstore"
)

// A hub keeps its tasks in a PostgreSQL database. This one is down.
func Example() {
	db, err := pgstore.Open(context.Background(), "postgres://parley@127.0.0.1:1/parley", pgstore.Options{})
	if err != nil {
		fmt.Println(errors.Is(err, pgstore.ErrUnavailable))
		return
	}
	defer db.Close()
	hub := &parley.Hub{Store: db.Tasks()}
	fmt.Println(hub.ListenAndServe(context.Background(), "127.0.0.1:4100"))
	// Output: true
}
