// franz-go by one way to prove who it is. usage: writer BOOTSTRAP TOPIC; the rest is environment.
// What is asserted stands in test_ways_in.py.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func mechanism(way string) sasl.Mechanism {
	user, password := os.Getenv("USERNAME"), os.Getenv("PASSWORD")
	account := scram.Auth{User: user, Pass: password, IsToken: way == "delegation-token"}
	switch way {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	case "SCRAM-SHA-256", "delegation-token":
		return account.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return account.AsSha512Mechanism()
	case "OAUTHBEARER":
		return oauth.Auth{Token: os.Getenv("BEARER")}.AsMechanism()
	}
	return nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	way, trusted := os.Getenv("WAY"), x509.NewCertPool()
	trusted.AppendCertsFromPEM(must(os.ReadFile(os.Getenv("TRUSTED"))))
	encryption := &tls.Config{RootCAs: trusted}
	if way == "certificate" {
		own := os.Getenv("OWN")
		encryption.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(own, own))}
	}
	options := []kgo.Opt{kgo.SeedBrokers(os.Args[1]), kgo.DialTLSConfig(encryption)}
	if known := mechanism(way); known != nil {
		options = append(options, kgo.SASL(known))
	}
	client := must(kgo.NewClient(options...))
	defer client.Close()
	pause := must(time.ParseDuration(os.Getenv("EVERY")))
	for range must(strconv.Atoi(os.Getenv("RECORDS"))) {
		record := &kgo.Record{Topic: os.Args[2], Value: []byte("hello")}
		must(0, client.ProduceSync(ctx, record).FirstErr())
		time.Sleep(pause)
	}
}
