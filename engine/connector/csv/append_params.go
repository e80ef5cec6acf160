package csv

import "encoding/json"

// appendParams are the parameters of appendRow.
type appendParams struct {
	File   string          `json:"file"`
	Values json.RawMessage `json:"values"`
	// Header names the columns that listed values are for, and those of a file that is created.
	Header []string `json:"header"`
}

// appendSchema is their JSON Schema.
const appendResultSchema = `{"type": "object", "required": ["row"], "properties": {"row": {"type": "integer"}}}`

const appendSchema = `{
  "type": "object", "additionalProperties": false, "required": ["file", "values"],
  "properties": {
    "file": {"type": "string", "minLength": 1},
    "values": {"type": ["object", "array"],
      "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
      "items": {"type": ["string", "number", "boolean", "null"]}},
    "header": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}
  }
}`
