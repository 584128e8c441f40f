package kit

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-k8s/fairlead/provider/kit/suggest"
)

// maxValues is the largest number of values in a file. The values of an alias count each
// time the alias is used. maxDepth is the largest depth of nested values. Without
// maxDepth, an alias that contains itself would be read without end.
const (
	maxValues = 100_000
	maxDepth  = 50
)

// decoder reads a document and records its problems.
type decoder struct {
	problems []problem
	values   int
	depth    int
}

func (d *decoder) wrong(path string, at *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems, problem{line: at.Line, key: path, text: fmt.Sprintf(format, args...)})
}

// value reads one value.
func (d *decoder) value(path string, node *yaml.Node, into reflect.Value) {
	if node.Kind == yaml.AliasNode {
		meant := *node.Alias
		meant.Line = node.Line
		node = &meant
	}
	if d.tooLarge(path, node) {
		return
	}
	d.depth++
	defer func() { d.depth-- }()
	if into.Kind() == reflect.Pointer {
		if isNull(node) {
			return
		}
		// The caller's default is copied, because it must stay unchanged after an
		// error.
		pointed := reflect.New(into.Type().Elem())
		if !into.IsNil() {
			pointed.Elem().Set(into.Elem())
		}
		into.Set(pointed)
		into = pointed.Elem()
	}
	if own, ok := reflect.TypeAssert[encoding.TextUnmarshaler](into.Addr()); ok {
		d.text(path, node, func(text string) error { return own.UnmarshalText([]byte(text)) })
		return
	}
	switch into.Kind() { //nolint:exhaustive // all other kinds are scalars
	case reflect.Struct:
		d.mapping(path, node, into, d.fields)
	case reflect.Map:
		d.mapping(path, node, into, d.entries)
	case reflect.Slice:
		d.list(path, node, into)
	default:
		d.text(path, node, func(text string) error { return setScalar(node.Tag, text, into) })
	}
}

// text passes the text of a single value to the given function, and records the function's
// error.
func (d *decoder) text(path string, node *yaml.Node, set func(string) error) {
	text, ok := d.scalar(path, node)
	if !ok {
		return
	}
	if err := set(text); err != nil {
		d.wrong(path, node, "%v", err)
	}
}

// tooLarge reports whether the file has too many values or is nested too deeply.
func (d *decoder) tooLarge(path string, node *yaml.Node) bool {
	d.values++
	switch {
	case d.depth == maxDepth:
		d.wrong(path, node, "the file is nested too deeply")
		d.values = maxValues // so that the problem is recorded only once
	case d.values == maxValues:
		d.wrong(path, node, "the file has too many values")
	}
	return d.values >= maxValues
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

// scalar returns the text of a single value.
func (d *decoder) scalar(path string, node *yaml.Node) (text string, ok bool) {
	switch {
	case node.Kind != yaml.ScalarNode:
		d.wrong(path, node, "must have one value, not %s", form(node))
	case isNull(node):
		d.wrong(path, node, "has no value; give one, or remove the key")
	case !strings.HasPrefix(node.Tag, "!!") || node.Tag == "!!binary":
		d.wrong(path, node, "has the tag %s, which is not supported", printable(node.Tag))
	default:
		return node.Value, true
	}
	return "", false
}

func form(node *yaml.Node) string {
	switch node.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "keys and values"
	case yaml.ScalarNode, yaml.DocumentNode, yaml.AliasNode:
	}
	return "one value"
}

// mapping passes a mapping to the given function. It ignores null, so the defaults stay.
func (d *decoder) mapping(path string, node *yaml.Node, into reflect.Value, read func(string, *yaml.Node, reflect.Value)) {
	switch {
	case node.Kind == yaml.MappingNode:
		read(path, node, into)
	case path == "":
		d.wrong(path, node, "the file must have keys and values, not %s", form(node))
	case !isNull(node):
		d.wrong(path, node, "must have keys and values, not %s", form(node))
	}
}

// each calls the given function for each key, and records duplicate keys as problems.
func (d *decoder) each(path string, node *yaml.Node, do func(key, value *yaml.Node)) {
	seen := map[string]bool{}
	for n := 0; n+1 < len(node.Content); n += 2 {
		key, value := node.Content[n], node.Content[n+1]
		switch name := join(path, key.Value); {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			d.wrong(path, key, "a key must be a word")
		case seen[key.Value]:
			d.wrong(name, key, "is there twice")
		default:
			seen[key.Value] = true
			do(key, value)
		}
	}
}

func (d *decoder) fields(path string, node *yaml.Node, into reflect.Value) {
	fields := fieldsOf(into.Type(), nil)
	known := make([]string, len(fields))
	byKey := map[string][]int{}
	for n, f := range fields {
		known[n] = f.key
		byKey[f.key] = f.index
	}
	values := map[string]*yaml.Node{}
	d.each(path, node, func(key, value *yaml.Node) {
		index, ok := byKey[key.Value]
		if !ok {
			d.wrong(join(path, key.Value), key, "unknown key%s", instead(key.Value, known))
			return
		}
		values[key.Value] = value
		d.value(join(path, key.Value), value, into.FieldByIndex(index))
	})
	checker, ok := reflect.TypeAssert[Checker](into.Addr())
	if !ok {
		return
	}
	reported := map[string]bool{}
	for _, p := range d.problems {
		reported[p.key] = true
	}
	checker.Check(func(key, format string, args ...any) {
		at, path := node, join(path, key)
		if value, ok := values[key]; ok {
			at = value
		}
		if !reported[path] {
			reported[path] = true
			d.wrong(path, at, format, args...)
		}
	})
}

// instead returns the end of the message about an unknown key. It suggests similar
// known keys, or lists all known keys if none is similar.
func instead(key string, known []string) string {
	if question := suggest.Question(suggest.Near(key, known)); question != "" {
		return question
	}
	return "; known are " + strings.Join(known, ", ")
}

func (d *decoder) entries(path string, node *yaml.Node, into reflect.Value) {
	entries := reflect.MakeMap(into.Type())
	d.each(path, node, func(key, value *yaml.Node) {
		element := reflect.New(into.Type().Elem()).Elem()
		d.value(join(path, key.Value), value, element)
		entries.SetMapIndex(reflect.ValueOf(key.Value).Convert(into.Type().Key()), element)
	})
	into.Set(entries)
}

func (d *decoder) list(path string, node *yaml.Node, into reflect.Value) {
	switch {
	case isNull(node):
		return
	case node.Kind != yaml.SequenceNode:
		d.wrong(path, node, "must be a list, not %s", form(node))
		return
	}
	elements := reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content))
	for n, element := range node.Content {
		d.value(fmt.Sprintf("%s[%d]", path, n), element, elements.Index(n))
	}
	into.Set(elements)
}

// field is a key of a struct.
type field struct {
	key   string
	index []int
}

// fieldsOf returns the keys of a struct, including those of embedded structs.
func fieldsOf(t reflect.Type, within []int) (all []field) {
	for n := range t.NumField() {
		f := t.Field(n)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" {
			key, _, _ = strings.Cut(f.Tag.Get("yaml"), ",")
		}
		index := append(append([]int{}, within...), n)
		switch {
		case f.Anonymous && key == "" && f.Type.Kind() == reflect.Struct:
			all = append(all, fieldsOf(f.Type, index)...)
		case f.IsExported() && key == "":
			all = append(all, field{f.Name, index})
		case f.IsExported() && key != "-":
			all = append(all, field{key, index})
		}
	}
	return all
}

// join returns the path of a key, in one line.
func join(path, key string) string {
	return strings.TrimPrefix(path+"."+printable(key), ".")
}

// printable returns a key in one line. It shortens a long key. It quotes a key that is not
// a plain word.
func printable(key string) string {
	const longest = 64
	cut := key
	if len(key) > longest {
		cut = key[:longest] + "…"
	}
	if quoted := strconv.Quote(cut); len(quoted) != len(cut)+2 || cut == "" || strings.ContainsAny(cut, " :;") {
		return quoted
	}
	return cut
}

// setScalar sets a value of a basic type from its text.
func setScalar(tag, text string, into reflect.Value) error {
	if into.Type() == reflect.TypeFor[time.Duration]() {
		duration, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("must be a duration such as 30s, not %q", text)
		}
		into.SetInt(int64(duration))
		return nil
	}
	switch into.Kind() { //nolint:exhaustive // all other kinds are refused
	case reflect.String:
		into.SetString(text)
		return nil
	case reflect.Bool:
		if tag != "!!bool" {
			return fmt.Errorf("must be true or false, not %q", text)
		}
		into.SetBool(strings.EqualFold(text, "true"))
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, into.Type().Bits())
		if err := wrongNumber(tag == "!!int", text, err); err != nil {
			return err
		}
		into.SetInt(n)
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, into.Type().Bits())
		if err := wrongNumber(tag == "!!int", text, err); err != nil {
			return err
		}
		into.SetUint(n)
		return nil
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(text, into.Type().Bits())
		if err := wrongNumber(tag == "!!int" || tag == "!!float", text, err); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("must be a number, not %q", text)
		}
		into.SetFloat(f)
		return nil
	}
	return fmt.Errorf("cannot be read: ReadConfig does not know the Go type %s", into.Type())
}

func wrongNumber(isNumber bool, text string, err error) error {
	switch {
	case isNumber && errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("is out of range: %q", text)
	case !isNumber || err != nil:
		return fmt.Errorf("must be a whole number, not %q", text)
	}
	return nil
}
