package input

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// Decode reads exactly one JSON value, and refuses unknown fields. Its error names the
// field and can be sent as the answer to a request.
func Decode[T any](text []byte) (T, error) {
	var into T
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&into)
	if err == nil {
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return into, Invalid("body", "more follows after the end of the JSON value")
		}
		return into, nil
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return into, Invalid(cmp.Or(mistyped.Field, "body"), "must be %s, not %s", jsonType(mistyped.Type), mistyped.Value)
	}
	if _, name, ok := strings.Cut(err.Error(), `unknown field "`); ok { // encoding/json has no type for this error
		return into, Invalid(strings.TrimSuffix(name, `"`), "is not a field here")
	}
	return into, Invalid("body", "%v", err)
}

func jsonType(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	switch t.Kind() { //nolint:exhaustive // the API uses no other kinds
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return "a number"
	}
}
