package main

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"
)

// saramaRecords produces synchronously with every codec and reads it all back.
func saramaRecords(_ context.Context, bootstrap, name string) (any, error) {
	codecs := []sarama.CompressionCodec{
		sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy,
		sarama.CompressionLZ4, sarama.CompressionZSTD,
	}
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	offsets := []int64{}
	for _, codec := range codecs {
		config.Producer.Compression = codec
		producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
		if err != nil {
			return nil, err
		}
		for n := range 5 {
			message := &sarama.ProducerMessage{
				Topic: name, Value: sarama.StringEncoder(fmt.Sprintf("%v %d", codec, n)),
			}
			_, offset, err := producer.SendMessage(message)
			if err != nil {
				return nil, err
			}
			offsets = append(offsets, offset)
		}
		if err := producer.Close(); err != nil {
			return nil, err
		}
	}
	consumer, err := sarama.NewConsumer([]string{bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(name, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	values := []string{}
	for len(values) < len(offsets) {
		values = append(values, string((<-partition.Messages()).Value))
	}
	return map[string]any{"offsets": offsets, "values": values}, nil
}
