// Scenarios with Go clients. usage: interop SCENARIO BOOTSTRAP NAME; prints one JSON object.
// The assertions are in the Python tests.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const patience = 30 * time.Second

var scenarios = map[string]func(ctx context.Context, bootstrap, name string) (any, error){
	"franz-records":           franzRecords,
	"franz-next-groups":       franzNextGroups,
	"franz-admin":             franzAdmin,
	"franz-transactions":      franzTransactions,
	"franz-next-transactions": franzNextTransactions,
	"sarama":                  saramaRecords,
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	seen, err := scenarios[os.Args[1]](ctx, os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		panic(err)
	}
}
