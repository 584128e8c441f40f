// Package input reads and checks input from outside: the body of a request, a
// fault, the state file. Its errors name the field that is wrong.
//
// It does not depend on any kind of resource. It imports no other package of the
// simulator. All packages of the simulator except wire may import it.
package input

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Error is an error in the input. It names the field. It is permanent: a retry
// with the same input fails again.
type Error struct{ field, problem string }

func (e *Error) Error() string { return e.field + ": " + e.problem }

// Invalid returns an error that says what is wrong with a field.
func Invalid(field, format string, args ...any) error {
	return &Error{field: field, problem: fmt.Sprintf(format, args...)}
}

// CheckWord requires a word that can be an item of a comma-separated list.
func CheckWord(field, word string) error {
	const longest = 253
	switch {
	case word == "":
		return Invalid(field, "must not be empty")
	case len(word) > longest:
		return Invalid(field, "is longer than %d bytes", longest)
	case strings.ContainsFunc(word, func(r rune) bool { return r == ',' || unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return Invalid(field, "%q must not contain commas, spaces or control characters", word)
	}
	return nil
}

// CheckName is like CheckWord for the field "name". It also limits the length of the
// name in bytes.
func CheckName(name string, longest int) error {
	if len(name) > longest {
		return Invalid("name", "is longer than %d bytes", longest)
	}
	return CheckWord("name", name)
}

// CheckTags requires keys that can be written in the filter KEY=VALUE.
func CheckTags(tags map[string]string) error {
	for key := range tags {
		if key == "" || strings.Contains(key, "=") {
			return Invalid("tags", "%q is not a key: it must not be empty and have no equals sign", key)
		}
	}
	return nil
}

// CheckPort requires a valid port to listen on.
func CheckPort(field string, port int) error {
	if port < 1 || port > 65535 {
		return Invalid(field, "%d is not a port", port)
	}
	return nil
}

// CheckOneOf requires one of the given words.
func CheckOneOf[T ~string](field string, word T, all []T) error {
	if !slices.Contains(all, word) {
		return Invalid(field, "%q is not one of %s", word, List(all))
	}
	return nil
}

// List returns the words, separated by commas.
func List[T ~string](words []T) string {
	plain := make([]string, len(words))
	for n, word := range words {
		plain[n] = string(word)
	}
	return strings.Join(plain, ", ")
}

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
