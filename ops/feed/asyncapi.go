package feed

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// meanings says what each fact means, with the doc comment of its Go type: a test compares the two.
//
//go:embed facts.json
var meanings []byte

type object = map[string]any

// AsyncAPI returns the AsyncAPI 3 document of the feed, for a program of the given version: its subjects, and a message
// for each type of fact, with the schema of its body. types has the schemas that do not follow from the Go kind of a
// type. It fails where a fact cannot be described.
func AsyncAPI(version string, types rpc.Types) ([]byte, error) {
	var meant map[eventlog.FactType]string
	if err := json.Unmarshal(meanings, &meant); err != nil {
		return nil, fmt.Errorf("read what the facts mean: %w", err)
	}
	d := description{messages: object{}, schemas: object{"headers": headersOfAll()}, types: types}
	var published []string
	for _, t := range Published() {
		published = append(published, string(t))
		if err := d.fact(t, meant[t]); err != nil {
			return nil, fmt.Errorf("describe the fact %s: %w", t, err)
		}
	}
	published = append(published, typeUnreadable)
	if err := d.notice(); err != nil {
		return nil, fmt.Errorf("describe the message %s: %w", typeUnreadable, err)
	}
	ofChannel, ofOperation := object{}, []any{}
	for _, name := range published {
		ofChannel[name] = refer("components", "messages", name)
		ofOperation = append(ofOperation, refer("channels", "feed", "messages", name))
	}
	document, err := json.MarshalIndent(object{
		"asyncapi": "3.1.0", "id": "https://github.com/pawl-run/pawl", "defaultContentType": jsonType,
		"info": object{
			"title": "Pawl feed", "version": version,
			"description": "What happens to the workflows of an installation: one message for each fact of its log, in order, " +
				"as a CloudEvent in binary mode. The stream is " + StreamName("") + ". ops/FEED.md says how to follow it.",
			"contact": object{"name": "Pawl", "url": "https://github.com/pawl-run/pawl"},
			"license": object{"name": "Apache License 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
			"tags":    []any{object{"name": "workflows", "description": "Durable automations."}},
		},
		"servers": object{"engine": object{
			"host": "127.0.0.1:4222", "protocol": "nats",
			"description": "The address that --nats-listen gives. The file nats/subscriber.url of the data directory has the " +
				"whole URL, with the user and the password of a follower.",
			"security": []any{refer("components", "securitySchemes", "subscriber")},
		}},
		"channels": object{"feed": object{
			"address":     DefaultPrefix + ".feed.{workflow}.{factType}",
			"description": "Each message is kept in the JetStream stream " + StreamName("") + ", in the order of the log.",
			"servers":     []any{refer("servers", "engine")},
			"parameters": object{
				"workflow": object{"description": "The workflow's name; " + logToken + " where part of the log cannot be read " +
					"and it is not known of which workflow.", "examples": []string{exampleWorkflow}},
				"factType": object{"description": "What happened: two tokens of the subject.", "enum": published},
			},
			"messages": ofChannel,
		}},
		"operations": object{"publishFact": object{
			"action": "send", "channel": refer("channels", "feed"), "messages": ofOperation,
			"summary": "An engine publishes each fact once, with no gap.",
		}},
		"components": object{
			"messages": d.messages, "schemas": d.schemas,
			"securitySchemes": object{"subscriber": object{"type": "userPassword",
				"description": "The NATS user subscriber, which reads the feed and the log and can do nothing else."}},
		},
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the AsyncAPI document: %w", err)
	}
	return append(document, '\n'), nil
}

// Published lists the types of the facts that a feed has, in order.
func Published() []eventlog.FactType {
	published := slices.DeleteFunc(eventlog.FactTypes(), eventlog.OfInstallation)
	slices.Sort(published)
	return published
}

// description collects the messages and the schemas of the document.
type description struct {
	messages, schemas object
	types             rpc.Types
}

// fact adds the message of a fact.
func (d description) fact(t eventlog.FactType, meaning string) error {
	record, err := example(t)
	if err != nil {
		return err
	}
	m, err := exampleWriter.message(&record, 1, record.Position.String())
	if err != nil {
		return err
	}
	headers := object{}
	for name := range m.Header {
		headers[name] = m.Header.Get(name)
	}
	var versions []string
	for _, v := range eventlog.Versions(t) {
		versions = append(versions, nameOfType(string(t), v))
	}
	required := []string{headerKey, headerSequence, headerTime}
	return d.message(string(t), meaning, versions, required, reflect.TypeOf(record.Facts[0]).Elem(),
		object{"headers": headers, "payload": json.RawMessage(m.Data)})
}

// notice adds the message that announces a part of the log that cannot be read.
func (d description) notice() error {
	return d.message(typeUnreadable, "Part of the log cannot be read: what it holds is missing here.",
		[]string{nameOfType(typeUnreadable, 1)}, nil, reflect.TypeFor[Unreadable](),
		object{"payload": Unreadable{Partition: 0, Seq: 7, Problem: "the record does not decode"}})
}

// message adds a message with a body of the type.
func (d description) message(name, meaning string, versions, required []string, of reflect.Type, example object) error {
	schema, err := d.types.SchemaOf(of)
	if err != nil {
		return err
	}
	schema.NullableLists()
	schema.Description = meaning
	own := object{"type": "object", "properties": object{headerType: object{"enum": versions}}}
	if len(required) > 0 {
		own["required"] = required
	}
	example["name"] = name
	d.schemas[name] = schema
	d.messages[name] = object{
		"name": name, "title": name, "summary": meaning, "contentType": jsonType,
		"headers":  object{"type": "object", "allOf": []any{refer("components", "schemas", "headers"), own}},
		"payload":  refer("components", "schemas", name),
		"examples": []any{example},
	}
	return nil
}

// headersOfAll is the schema of the headers of every message.
func headersOfAll() object {
	text := func(description string) object { return object{"type": "string", "description": description} }
	matching := func(pattern, description string) object {
		return object{"type": "string", "pattern": pattern, "description": description}
	}
	constant := func(value string) object { return object{"type": "string", "const": value} }
	return object{
		"type": "object", "description": "The headers of CloudEvents 1.0 in binary mode, and those of Pawl.",
		"required": []string{headerSpec, headerID, headerSource, headerType, headerCount, headerPosition, headerPositions},
		"properties": object{
			headerSpec:   constant(specVersion),
			headerID:     matching(`^.+-[1-9][0-9]*$`, "TRANSITION-N: fact N, from 1, of that transition; never used again"),
			headerSource: matching(`^/pawl/`, "/pawl/INSTALLATION/WORKFLOW"),
			headerType:   text("type and version of the body; pass over types and versions that you do not know"),
			headerTime: object{"type": "string", "format": "date-time",
				"description": "when it was recorded"},
			headerDataType: constant(jsonType),
			headerContent:  constant(jsonType),
			headerKey:      text("the workflow"),
			headerSequence: matching(`^[0-9]{20}$`, "the workflow's revision"),
			headerCount:    matching(`^[1-9][0-9]*$`, "how many facts became true together, this one included"),
			headerPosition: matching(`^[0-9]+:[0-9]+$`, "where the transition stands in the log"),
			headerPositions: matching(`^[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*$`,
				"how far each partition of the log is published with this message"),
			headerData: object{"type": "string", "const": dataOmitted,
				"description": "The fact is too large for a message: the body is empty, read it from the log."},
		},
	}
}

// refer is a reference into the document.
func refer(path ...string) object { return object{"$ref": "#/" + strings.Join(path, "/")} }
