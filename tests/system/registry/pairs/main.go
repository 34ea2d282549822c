// franz-go's client of a schema registry, with hamba/avro, encoding/json and Google's Protobuf: reads tasks
// as JSON, prints an answer to each. A task writes or reads one record: {do, kind, topic, row, hex}.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

type row struct {
	ID   int64  `avro:"id" json:"id"`
	Note string `avro:"note" json:"note"`
}

type task struct {
	Do, Kind, Topic, Hex string
	Row                  row
}

var given struct {
	URL, Descriptor string
	Schemas         map[string]string
	Tasks           []task
}

var kinds = map[string]sr.SchemaType{"AVRO": sr.TypeAvro, "JSON": sr.TypeJSON, "PROTOBUF": sr.TypeProtobuf}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func message() *dynamicpb.Message {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(must(hex.DecodeString(given.Descriptor)), &set); err != nil {
		log.Fatal(err)
	}
	files := must(protodesc.NewFiles(&set))
	found := must(files.FindDescriptorByName("pairs.Order"))
	return dynamicpb.NewMessage(found.(protoreflect.MessageDescriptor))
}

func encoded(kind, text string, value row) ([]byte, error) {
	switch kind {
	case "AVRO":
		return avro.Marshal(must(avro.Parse(text)), value)
	case "JSON":
		return json.Marshal(value)
	}
	made := message()
	fields := made.Descriptor().Fields()
	made.Set(fields.ByName("id"), protoreflect.ValueOfInt64(value.ID))
	made.Set(fields.ByName("note"), protoreflect.ValueOfString(value.Note))
	return proto.Marshal(made)
}

func decoded(kind, text string, body []byte) row {
	var value row
	var err error
	switch kind {
	case "AVRO":
		err = avro.Unmarshal(must(avro.Parse(text)), body, &value)
	case "JSON":
		err = json.Unmarshal(body, &value)
	default:
		made := message()
		err = proto.Unmarshal(body, made)
		fields := made.Descriptor().Fields()
		value = row{made.Get(fields.ByName("id")).Int(), made.Get(fields.ByName("note")).String()}
	}
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func write(ctx context.Context, client *sr.Client, one task) any {
	text := given.Schemas[one.Kind]
	made := must(client.CreateSchema(ctx, one.Topic+"-value", sr.Schema{Schema: text, Type: kinds[one.Kind]}))
	options := []sr.EncodingOpt{sr.EncodeFn(func(value any) ([]byte, error) { return encoded(one.Kind, text, value.(row)) })}
	if one.Kind == "PROTOBUF" {
		options = append(options, sr.Index(0))
	}
	var serde sr.Serde
	serde.Register(made.ID, row{}, options...)
	return map[string]any{"hex": hex.EncodeToString(must(serde.Encode(one.Row))), "header": nil}
}

func read(ctx context.Context, client *sr.Client, one task) any {
	var header sr.ConfluentHeader
	id, body, err := header.DecodeID(must(hex.DecodeString(one.Hex)))
	if err != nil {
		log.Fatal(err)
	}
	if one.Kind == "PROTOBUF" {
		if _, body, err = header.DecodeIndex(body, 3); err != nil {
			log.Fatal(err)
		}
	}
	return decoded(one.Kind, must(client.SchemaByID(ctx, id)).Schema, body)
}

func main() {
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client := must(sr.NewClient(sr.URLs(given.URL)))
	var answers []any
	for _, one := range given.Tasks {
		if one.Do == "write" {
			answers = append(answers, write(ctx, client, one))
		} else {
			answers = append(answers, read(ctx, client, one))
		}
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}
