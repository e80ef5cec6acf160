package httpcall

import "strings"

// The parts that the schemas of the operations share.
const (
	urlSchema = `
    "url": {"type": "string", "minLength": 1, "maxLength": 16384},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}},
    "query": ` + fieldsSchema + `,
    "responseEncoding": {"enum": ["utf8", "base64"]}`
	fieldsSchema = `{"type": "object", "additionalProperties": {
      "anyOf": [{"type": ["string", "number", "boolean"]}, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}]}}`
	// A status of 2xx needs no mention.
	readExpect = `
    "expect": {"type": "array", "maxItems": 20, "items": {"type": "integer", "minimum": 300, "maximum": 599}}`
	// After 408, 425, 429 and 5xx the outcome is unknown, or the call is to be tried again: no script may call that
	// applied.
	mutateExpect = `
    "expect": {"type": "array", "maxItems": 20, "items": {"type": "integer", "minimum": 300, "maximum": 499,
      "not": {"enum": [408, 425, 429]}}}`
	bodySchema = `
    "body": {},
    "text": {"type": "string"},
    "form": ` + fieldsSchema
	etagSchema  = `{"type": "string", "minLength": 1, "maxLength": 1024}`
	namesSchema = `{"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}`
)

const getSchema = `{
  "type": "object", "additionalProperties": false, "required": ["url"],
  "properties": {` + urlSchema + `,` + readExpect + `,
    "ifNoneMatch": ` + etagSchema + `,
    "secret": {"type": "object", "additionalProperties": false, "properties": {
      "header": ` + namesSchema + `, "query": ` + namesSchema + `, "path": ` + namesSchema + `}}
  }
}`

// A placeholder in the path is not offered: the path is what the operator has listed.
var readSchema = `{
  "type": "object", "additionalProperties": false, "required": ["method", "url"],
  "properties": {
    "method": {"enum": ["` + strings.Join(readMethods, `", "`) + `"]},` + urlSchema + `,` + readExpect + `,` +
	bodySchema + `,
    "secret": {"type": "object", "additionalProperties": false, "properties": {
      "header": ` + namesSchema + `, "query": ` + namesSchema + `, "body": ` + namesSchema + `}}
  }
}`

const mutateSchema = `{
  "type": "object", "additionalProperties": false, "required": ["url"],
  "properties": {` + urlSchema + `,` + mutateExpect + `,` + bodySchema + `,
    "base64": {"type": "string"},
    "multipart": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {
      "type": "object", "additionalProperties": false, "required": ["name", "content"], "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 1024}, "content": {"type": "string"},
        "encoding": {"enum": ["utf8", "base64"]}, "filename": {"type": "string", "maxLength": 1024},
        "contentType": {"type": "string", "maxLength": 1024}}}},
    "ifMatch": ` + etagSchema + `,
    "ifNoneMatch": ` + etagSchema + `,
    "secret": {"type": "object", "additionalProperties": false, "properties": {
      "header": ` + namesSchema + `, "query": ` + namesSchema + `, "body": ` + namesSchema + `, "path": ` + namesSchema + `}}
  }
}`

// resultSchema is what every operation returns. The body is what the other side sent.
const resultSchema = `{
  "type": "object", "required": ["status", "headers", "body"],
  "properties": {
    "status": {"type": "integer"},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}},
    "body": {}
  }
}`
