package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/pawl-run/pawl/engine/connector"
)

var english = message.NewPrinter(language.English)

// fits says why an operation whose results have the schema never answers the value. A case may leave members out that
// its script does not read; a member that the schema does not name is a mistake.
func fits(ctx context.Context, schema, value json.RawMessage) error {
	compiled, err := connector.CompileSchema(schema)
	if err != nil {
		return err
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	if err := unnamed("", document, read); err != nil {
		return err
	}
	err = compiled.Validate(ctx, read)
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		return err
	}
	return misfit(wrong)
}

// misfit is the first cause of an error that is more than a member left out.
func misfit(wrong *jsonschema.ValidationError) error {
	if len(wrong.Causes) == 0 {
		if _, missing := wrong.ErrorKind.(*kind.Required); missing {
			return nil
		}
		return fmt.Errorf("%s: %s", placeOf(strings.Join(wrong.InstanceLocation, ".")),
			wrong.ErrorKind.LocalizedString(english))
	}
	for _, cause := range wrong.Causes {
		if err := misfit(cause); err != nil {
			return err
		}
	}
	return nil
}

// unnamed finds a member of the value that the schema does not name.
func unnamed(at string, schema, value any) error {
	part, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		properties, ok := part["properties"].(map[string]any)
		if !ok || part["additionalProperties"] != nil || part["patternProperties"] != nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			below := strings.TrimPrefix(at+"."+name, ".")
			if _, known := properties[name]; !known {
				return fmt.Errorf("%s: there is no such member; %s has %s", below, placeOf(at),
					strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
			}
			if err := unnamed(below, properties[name], value[name]); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range value {
			if err := unnamed(fmt.Sprintf("%s[%d]", at, i), part["items"], item); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeOf names a part of a result.
func placeOf(path string) string {
	if path == "" {
		return "the result"
	}
	return path
}
