package csv

import "encoding/json"

// appendParams are the parameters of appendRow.
type appendParams struct {
	File   string          `json:"file"`
	Values json.RawMessage `json:"values"`
	// Header names the columns that listed values are for, and those of a file that is created.
	Header []string `json:"header"`
}

// appendResultSchema is the JSON Schema of what appendRow returns.
const appendResultSchema = `{"type": "object", "required": ["row"], "properties": {"row": {"type": "integer"}}}`

// appendSchema is the JSON Schema of appendParams.
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
