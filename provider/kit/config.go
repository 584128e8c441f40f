package kit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxProblems is how many problems an error names. The others are counted.
const maxProblems = 20

// Checker is a configuration, or a struct in one, that checks its own values.
type Checker interface {
	// Check calls wrong for each value that cannot be used. It is called after the
	// struct has been read, even if some of its keys were wrong. It is not called for
	// a struct that the file does not have.
	Check(wrong Wrong)
}

// Wrong notes what is wrong with the value of a key of the struct that is checked.
// The message has the line of the value, or that of the struct if the file does
// not have the key. Only the first problem of a key is shown. The file may hold
// credentials: do not print their values.
type Wrong func(key, format string, args ...any)

// ReadConfig reads the file of --cloud-config, YAML or JSON, into a struct. The error
// is one line. It names all problems, each with line and key. If there are many, it
// names the first ones and counts the others. For an unknown key it also names the
// key that was probably meant. After an error, the struct is as it was before.
//
// The name of a key is in the tag of its field, json or yaml. An embedded struct
// without a tag has its keys in the struct around it. A value that the file does
// not set stays as it is, so set defaults first. Keys that the struct does not
// have, keys that are there twice and a second document are errors. So are values of
// another type: 1 is not true, and "10" is not a duration. Text is taken as
// it is written, even if YAML would read it as a number. A type that implements
// encoding.TextUnmarshaler, such as Endpoint or netip.Prefix, reads its own text.
// Each struct that is a Checker checks its values.
//
// A nil file means that the flag is missing, which is an error. If a provider can do
// without a file, it must not call ReadConfig with nil.
func ReadConfig(file io.Reader, config any) error {
	if file == nil {
		return Invalidf("--cloud-config is missing: the provider needs a configuration file")
	}
	title := "cloud config"
	if named, ok := file.(interface{ Name() string }); ok {
		title += " " + filepath.Base(named.Name())
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	if err := readConfig(text, config); err != nil {
		return Invalidf("%s: %w", title, err)
	}
	return nil
}

func readConfig(text []byte, config any) error {
	if !utf8.Valid(text) {
		return errors.New("the file is not UTF-8 text: write it anew in that encoding")
	}
	document, another, err := parse(text)
	if err != nil {
		return err
	}
	target := reflect.ValueOf(config).Elem()
	read := reflect.New(target.Type()).Elem()
	read.Set(target)
	d := &decoder{}
	d.value("", document, read)
	if another != nil {
		d.wrong("", another, "a second document; the file must have one")
	}
	if len(d.problems) == 0 {
		target.Set(read)
		return nil
	}
	if document.Line == 0 {
		return fmt.Errorf("%w; the file is empty", d.err())
	}
	return d.err()
}

// parse returns the first document, or an empty one, and the second document if
// the file has one.
func parse(text []byte) (document, another *yaml.Node, err error) {
	reader := yaml.NewDecoder(bytes.NewReader(text))
	var documents []*yaml.Node
	for len(documents) < 2 {
		var next yaml.Node
		err := reader.Decode(&next)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, readable(err)
		}
		documents = append(documents, &next)
	}
	if len(documents) == 0 || isNull(documents[0].Content[0]) {
		documents = append([]*yaml.Node{{Content: []*yaml.Node{{Kind: yaml.MappingNode}}}}, documents[min(len(documents), 1):]...)
	}
	if len(documents) == 2 {
		another = documents[1]
	}
	return documents[0].Content[0], another, nil
}

// readable returns the parser's error in one line. Some errors quote the file. Such an
// error is replaced, because what it quotes may be a password.
func readable(err error) error {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " ")
	if strings.Contains(text, "unknown anchor") {
		text = "a value that begins with * must be in quotes"
	}
	return errors.New(text)
}

// problem is what is wrong in one place.
type problem struct {
	line      int
	key, text string
}

func (p problem) String() string {
	return fmt.Sprintf("line %d: %s", max(p.line, 1), strings.TrimPrefix(p.key+": "+p.text, ": "))
}

// err returns all problems, in the order of their lines.
func (d *decoder) err() error {
	slices.SortStableFunc(d.problems, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var texts []string
	for _, p := range d.problems[:min(len(d.problems), maxProblems)] {
		texts = append(texts, p.String())
	}
	if more := len(d.problems) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(texts, "; "))
}

// Endpoint is the URL of an API, without a slash at its end. In a configuration it
// is refused if its scheme is neither http nor https, or if it has no host. It is also
// refused if it has a user, a query or a fragment, because these would be logged or
// lost.
type Endpoint string

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Endpoint) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	switch {
	case err == nil && u.User != nil:
		return errors.New("must be a URL without a user and a password")
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("must be a URL such as https://api.example.com, not %q", text)
	}
	*e = Endpoint(strings.TrimRight(string(text), "/"))
	return nil
}
