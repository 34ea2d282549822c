// franz-go's client of a schema registry, with hamba/avro: `main URL SUBJECT HEX` reads what somebody
// else wrote, registers a schema of its own, writes a record with it and prints both as JSON.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/sr"
)

type order struct {
	ID   int64  `avro:"id" json:"id"`
	Note string `avro:"note" json:"note"`
}

const text = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"note","type":"string","default":""},{"name":"go","type":"boolean","default":true}]}`

type newer struct {
	ID   int64  `avro:"id"`
	Note string `avro:"note"`
	Go   bool   `avro:"go"`
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	url, subject := os.Args[1], os.Args[2]
	foreign := must(hex.DecodeString(os.Args[3]))
	ctx := context.Background()
	client := must(sr.NewClient(sr.URLs(url)))

	var header sr.ConfluentHeader
	id, body, err := header.DecodeID(foreign)
	if err != nil {
		log.Fatal(err)
	}
	writer := must(client.SchemaByID(ctx, id))
	var read order
	if err := avro.Unmarshal(must(avro.Parse(writer.Schema)), body, &read); err != nil {
		log.Fatal(err)
	}

	check := must(client.CheckCompatibility(ctx, subject, -1, sr.Schema{Schema: text}))
	made := must(client.CreateSchema(ctx, subject, sr.Schema{Schema: text}))
	again := must(client.LookupSchema(ctx, subject, sr.Schema{Schema: text}))
	var serde sr.Serde
	parsed := must(avro.Parse(text))
	serde.Register(made.ID, newer{}, sr.EncodeFn(func(v any) ([]byte, error) { return avro.Marshal(parsed, v) }))
	written := must(serde.Encode(newer{ID: 8, Note: "franz", Go: true}))
	levels := client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatFull}, subject)
	_, missing := client.SchemaByVersion(ctx, subject, 77)
	code := 0
	if refusal, ok := missing.(*sr.ResponseError); ok {
		code = refusal.ErrorCode
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"read": read, "compatible": check.Is, "version": made.Version, "same": again.ID == made.ID,
		"written": hex.EncodeToString(written), "level": levels[0].Level.String(),
		"subjects": must(client.Subjects(ctx)), "missing": code,
		"deleted": must(client.DeleteSubject(ctx, subject, sr.SoftDelete)),
	})
}
