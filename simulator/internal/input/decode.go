package input

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// DecodeStrict reads exactly one JSON value, and refuses unknown fields.
func DecodeStrict(content []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return &decodeError{content: content, offset: decoder.InputOffset(), err: err}
	}
	rest := content[decoder.InputOffset():]
	if more := bytes.TrimSpace(rest); len(more) > 0 {
		offset := decoder.InputOffset() + int64(bytes.Index(rest, more)) + 1
		return &decodeError{content: content, offset: offset, err: errors.New("more follows after the end of the JSON value")}
	}
	return nil
}

// decodeError is an error with its position in the content.
type decodeError struct {
	content []byte
	offset  int64
	err     error
}

func (e *decodeError) Error() string {
	line, column := e.position()
	return fmt.Sprintf("line %d, column %d: %s", line, column, e.problem())
}

// problem returns the text of the error without the names of Go types.
func (e *decodeError) problem() string {
	var mistyped *json.UnmarshalTypeError
	if !errors.As(e.err, &mistyped) {
		return e.err.Error()
	}
	problem := fmt.Sprintf("must be %s, not %s", jsonType(mistyped.Type), mistyped.Value)
	if mistyped.Field != "" {
		problem = mistyped.Field + ": " + problem
	}
	return problem
}

// Problem returns the text of an error of DecodeStrict without its position.
func Problem(err error) string {
	if located, ok := errors.AsType[*decodeError](err); ok {
		return located.problem()
	}
	return err.Error()
}

func (e *decodeError) Unwrap() error { return e.err }

// position is a line and a column, both counted from 1.
func (e *decodeError) position() (line, column int) {
	offset := e.offset
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(e.err, &syntax):
		offset = syntax.Offset
	case errors.As(e.err, &mistyped):
		offset = mistyped.Offset
	case errors.Is(e.err, io.EOF), errors.Is(e.err, io.ErrUnexpectedEOF):
		offset = int64(len(e.content))
	}
	before := e.content[:min(int(offset), len(e.content))]
	return bytes.Count(before, []byte("\n")) + 1, max(1, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

// Decode reads the body of a request as DecodeStrict does. Its error names the
// field and can be sent as the answer.
func Decode[T any](body []byte) (T, error) {
	var into T
	err := DecodeStrict(body, &into)
	if err == nil {
		return into, nil
	}
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) && mistyped.Field != "" {
		return into, Invalid(mistyped.Field, "must be %s, not %s", jsonType(mistyped.Type), mistyped.Value)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return into, Invalid("body", "is not one JSON object: %v", err)
	}
	if _, name, ok := strings.Cut(err.Error(), `unknown field "`); ok { // encoding/json has no type for this error
		return into, Invalid(strings.TrimSuffix(name, `"`), "is not a field of this request")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := decodeField[T](name, fields[name]); err != nil {
			return into, Invalid(name, "%v", err)
		}
	}
	return into, Invalid("body", "%v", err)
}

// decodeField decodes one field alone and returns its error, because some
// errors of encoding/json do not name the field.
func decodeField[T any](name string, value json.RawMessage) error {
	object, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return err
	}
	var into T
	var located *decodeError
	if err := DecodeStrict(object, &into); errors.As(err, &located) {
		return located.err
	}
	return nil
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
