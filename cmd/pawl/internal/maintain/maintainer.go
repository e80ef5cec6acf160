package maintain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Maintainer makes a repaired script from the evidence: the JSON document that operation getEvidence answers, with a
// field refused where earlier answers were refused. The answer is the whole script, or a JSON object with it; see
// parse.
type Maintainer interface {
	Maintain(ctx context.Context, workflow string, evidence json.RawMessage) (answer []byte, err error)
}

// maxAnswer bounds what a maintainer may answer, in bytes.
const maxAnswer = 4 << 20

// Answer is a repaired script.
type Answer struct {
	Source string `json:"source"`
	// Note says what was repaired; it goes into the log.
	Note string `json:"note"`
}

// fence is a block of code in a text, as models write it.
var fence = regexp.MustCompile("(?ms)^```[a-zA-Z]*\r?\n(.*?)^```\\s*$")

// parse reads an answer: a JSON object {source, note}, a text with one block of code, or the script itself.
func parse(text []byte) (Answer, error) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 {
		return Answer{}, errors.New("it answered nothing")
	}
	if trimmed[0] == '{' {
		var a Answer
		if err := json.Unmarshal(trimmed, &a); err == nil && a.Source != "" {
			return a, nil
		}
	}
	switch blocks := fence.FindAllSubmatch(trimmed, -1); {
	case len(blocks) > 1:
		return Answer{}, fmt.Errorf("it answered %d blocks of code, and one whole script is wanted", len(blocks))
	case len(blocks) == 1:
		return Answer{Source: string(blocks[0][1])}, nil
	}
	return Answer{Source: strings.TrimRight(string(text), "\n") + "\n"}, nil
}
