package mailparse

// Parts of the JSON schemas of results that hold a Head, or a whole Mail, which begins with its head: what stands
// between the brackets of required, and between the braces of properties.
const (
	HeadRequired   = `"id", "messageId", "from", "fromAddress", "to", "cc", "subject", "date", "size"`
	HeadProperties = `
    "id": {"type": "string"}, "messageId": {"type": "string"}, "from": {"type": "string"},
    "fromAddress": {"type": "string"}, "to": {"type": "array", "items": {"type": "string"}},
    "cc": {"type": "array", "items": {"type": "string"}}, "subject": {"type": "string"},
    "date": {"type": ["string", "null"]}, "size": {"type": "integer"}, "truncated": {"type": "boolean"},
    "malformed": {"type": "boolean"}, "error": {"type": "string"}`
	MailRequired   = HeadRequired + `, "text", "html", "attachments"`
	MailProperties = HeadProperties + `,
    "text": {"type": "string"}, "html": {"type": "string"},
    "attachments": {"type": "array", "items": {"type": "object", "required": ["filename", "contentType", "size"],
      "properties": {"filename": {"type": "string"}, "contentType": {"type": "string"}, "size": {"type": "integer"}}}},
    "headers": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}`
)
