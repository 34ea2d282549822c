package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// franzRecords produces with every codec, reads through a group, commits, and reads on.
func franzRecords(ctx context.Context, bootstrap, name string) (any, error) {
	offsets := []int64{}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		client, err := kgo.NewClient(
			kgo.SeedBrokers(bootstrap),
			kgo.DefaultProduceTopic(name),
			kgo.ProducerBatchCompression(codecs[codec]),
		)
		if err != nil {
			return nil, err
		}
		for n := range 10 {
			record := kgo.StringRecord(fmt.Sprintf("%s %d", codec, n))
			record.Headers = []kgo.RecordHeader{{Key: "codec", Value: []byte(codec)}}
			if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
				return nil, err
			}
			offsets = append(offsets, record.Offset)
		}
		client.Close()
	}
	first, err := readGroup(ctx, bootstrap, name, 20)
	if err != nil {
		return nil, err
	}
	rest, err := readGroup(ctx, bootstrap, name, 30)
	if err != nil {
		return nil, err
	}
	return map[string]any{"offsets": offsets, "first": first, "rest": rest}, nil
}

// readGroup reads a number of records as a group's only member and commits exactly them.
func readGroup(ctx context.Context, bootstrap, name string, count int, more ...kgo.Opt) ([]string, error) {
	client, err := kgo.NewClient(append(more,
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(name),
		kgo.ConsumeTopics(name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	values := []string{}
	for len(values) < count {
		fetches := client.PollRecords(ctx, count-len(values))
		if err := fetches.Err0(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			values = append(values, string(record.Value))
		}
		if err := client.CommitRecords(ctx, fetches.Records()...); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// franzNextGroups reads through a group whose coordinator assigns (KIP-848), and reads on.
func franzNextGroups(ctx context.Context, bootstrap, name string) (any, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.DefaultProduceTopic(name))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for n := range 20 {
		if err := client.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint(n))).FirstErr(); err != nil {
			return nil, err
		}
	}
	first, err := readGroup(ctx, bootstrap, name, 8, kgo.ServerSideBalancer())
	if err != nil {
		return nil, err
	}
	rest, err := readGroup(ctx, bootstrap, name, 12, kgo.ServerSideBalancer())
	if err != nil {
		return nil, err
	}
	return map[string]any{"first": first, "rest": rest}, nil
}

func franzAdmin(ctx context.Context, bootstrap, name string) (any, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	retention := "4242"
	configs := map[string]*string{"retention.ms": &retention}
	if _, err := admin.CreateTopic(ctx, 3, 1, configs, name); err != nil {
		return nil, err
	}
	_, again := admin.CreateTopic(ctx, 3, 1, configs, name)
	described, err := admin.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return nil, err
	}
	found := ""
	for _, config := range described[0].Configs {
		if config.Key == "retention.ms" {
			found = config.MaybeValue()
		}
	}
	ends, err := admin.ListEndOffsets(ctx, name)
	if err != nil {
		return nil, err
	}
	metadata, err := admin.BrokerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := admin.DeleteTopics(ctx, name); err != nil {
		return nil, err
	}
	return map[string]any{
		"exists":     errors.Is(again, kerr.TopicAlreadyExists),
		"retention":  found,
		"partitions": len(ends[name]),
		"brokers":    len(metadata.Brokers),
		"controller": metadata.Controller,
	}, nil
}

// franzTransactions copies a topic to another in one transaction with the offsets, then aborts one.
func franzTransactions(ctx context.Context, bootstrap, name string) (any, error) {
	return copyInTransactions(ctx, bootstrap, name)
}

// franzNextTransactions does the same as a member of a group whose coordinator assigns.
func franzNextTransactions(ctx context.Context, bootstrap, name string) (any, error) {
	return copyInTransactions(ctx, bootstrap, name, kgo.ServerSideBalancer())
}

// franzTransactionLoop runs transactions right after one another, each over all partitions of the
// topic. Options: how many partitions, how many transactions, plain or abort (each commit is followed
// by a transaction that is aborted).
func franzTransactionLoop(ctx context.Context, bootstrap, name string) (any, error) {
	partitions, err := strconv.Atoi(os.Args[4])
	if err != nil {
		return nil, err
	}
	count, err := strconv.Atoi(os.Args[5])
	if err != nil {
		return nil, err
	}
	aborts := os.Args[6] == "abort"
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.DefaultProduceTopic(name),
		kgo.TransactionalID(name),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.Dialer(dialPatiently),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	committed, failures := 0, map[string]int{}
	for n := range count {
		if err := transact(ctx, client, partitions, fmt.Sprint(n), kgo.TryCommit); err != nil {
			failures[err.Error()]++
			continue
		}
		committed++
		if aborts {
			if err := transact(ctx, client, partitions, fmt.Sprintf("aborted %d", n), kgo.TryAbort); err != nil {
				failures[err.Error()]++
			}
		}
	}
	return map[string]any{"committed": committed, "failures": failures}, nil
}

// transact sends a value to every partition and ends the transaction; what fails is aborted.
func transact(ctx context.Context, client *kgo.Client, partitions int, value string, end kgo.TransactionEndTry) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	var records []*kgo.Record
	for partition := range partitions {
		records = append(records, &kgo.Record{Partition: int32(partition), Value: []byte(value)})
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return errors.Join(err, client.EndTransaction(ctx, kgo.TryAbort))
	}
	return client.EndTransaction(ctx, end)
}

// dialPatiently waits for a node that was killed and is being started again. franz-go gives up a commit
// when the node that it happens to ask for the coordinator is not there, and then nobody knows its outcome.
func dialPatiently(ctx context.Context, network, address string) (net.Conn, error) {
	for {
		connection, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return connection, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func copyInTransactions(ctx context.Context, bootstrap, name string, more ...kgo.Opt) (any, error) {
	source, target := name+"-in", name+"-out"
	plain, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.AllowAutoTopicCreation())
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	admin := kadm.NewClient(plain)
	if _, err := admin.CreateTopics(ctx, 1, 1, nil, source, target); err != nil {
		return nil, err
	}
	for n := range 10 {
		record := &kgo.Record{Topic: source, Value: fmt.Append(nil, n)}
		if err := plain.ProduceSync(ctx, record).FirstErr(); err != nil {
			return nil, err
		}
	}
	session, err := kgo.NewGroupTransactSession(append(more,
		kgo.SeedBrokers(bootstrap),
		kgo.TransactionalID(name),
		kgo.ConsumerGroup(name),
		kgo.ConsumeTopics(source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	copied := 0
	for commit := kgo.TryAbort; copied < 10; commit = kgo.TryCommit {
		fetches := session.PollRecords(ctx, 100)
		if err := fetches.Err0(); err != nil {
			return nil, err
		}
		if err := session.Begin(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			session.Produce(ctx, &kgo.Record{Topic: target, Value: record.Value}, nil)
		}
		committed, err := session.End(ctx, commit)
		if err != nil {
			return nil, err
		}
		if committed {
			copied += fetches.NumRecords()
		}
	}
	reader, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeTopics(target),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	values := []string{}
	for len(values) < 10 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			values = append(values, string(record.Value))
		}
	}
	committed, err := admin.FetchOffsets(ctx, name)
	if err != nil {
		return nil, err
	}
	offset, _ := committed.Lookup(source, 0)
	return map[string]any{"values": values, "committed": offset.At}, nil
}
