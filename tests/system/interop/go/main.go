// Scenarios with Go clients. usage: interop SCENARIO BOOTSTRAP NAME [OPTION...]; prints one JSON
// object. OTTLA_PATIENCE is how long it may take, 30s where it is not set.
// The assertions are in the Python tests.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

var scenarios = map[string]func(ctx context.Context, bootstrap, name string) (any, error){
	"franz-records":           franzRecords,
	"franz-next-groups":       franzNextGroups,
	"franz-admin":             franzAdmin,
	"franz-transactions":      franzTransactions,
	"franz-next-transactions": franzNextTransactions,
	"franz-transaction-loop":  franzTransactionLoop,
	"sarama":                  saramaRecords,
}

func main() {
	patience, err := time.ParseDuration(os.Getenv("OTTLA_PATIENCE"))
	if err != nil {
		patience = 30 * time.Second
	}
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
