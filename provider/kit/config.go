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

// maxProblems is the largest number of problems that an error names. The others are
// counted.
const maxProblems = 20

// Checker is a configuration that checks its own values. A struct within a
// configuration can be a Checker, too.
type Checker interface {
	// Check calls the given function for each value that cannot be used. It is called
	// after the struct has been read, even if some of its keys were wrong. If the file
	// does not have the struct, Check is not called.
	Check(wrong Wrong)
}

// Wrong records a problem with the value of a key. The key belongs to the struct
// that is checked. The message names the line of the value, or the line of the
// struct if the file does not have the key. Only the first problem of a key is
// shown. The file may contain credentials: do not print their values.
type Wrong func(key, format string, args ...any)

// ReadConfig reads the file of --cloud-config into a struct. The file is YAML or
// JSON. The error is one line. It names all problems, each with its line and key. If
// there are many problems, it names the first ones and counts the others. For an
// unknown key it also names the key that was probably meant. After an error, the
// struct is unchanged.
//
// The name of a key is in the json or yaml tag of its field. The keys of an embedded
// struct without a tag belong to the struct around it. A value that the file does
// not set stays as it is, so set defaults first. An unknown key, a duplicate key and
// a second document are errors. A value of the wrong type is an error, too: 1 is not
// true, and "10" is not a duration. Text is taken as it is written, even if YAML
// would read it as a number. A type that implements encoding.TextUnmarshaler, such
// as Endpoint or netip.Prefix, reads its own text. Each struct that is a Checker
// checks its values.
//
// A nil file is an error, because it means that the flag is missing. A provider
// that can work without a file must not call ReadConfig with nil.
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

// parse returns the first document, which may be empty. If the file has a
// second document, parse returns that, too.
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

// readable returns the parser's error in one line. If the parser's error quotes
// the file, readable returns an error without the quotation, because the quoted
// text may be a password.
func readable(err error) error {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " ")
	if strings.Contains(text, "unknown anchor") {
		text = "a value that begins with * must be in quotes"
	}
	return errors.New(text)
}

// problem is one problem of the file.
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

// Endpoint is the URL of an API, without a slash at its end. ReadConfig refuses an
// Endpoint whose scheme is neither http nor https, and one that has no host. It also
// refuses an Endpoint with a user, a query or a fragment, because these would be
// logged or lost.
type Endpoint string

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Endpoint) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	switch {
	case err == nil && u.User != nil:
		return errors.New("must be a URL without a user and a password")
	case err == nil && (u.RawQuery != "" || u.Fragment != ""):
		return errors.New("must be a URL without a query and a fragment")
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		if bytes.ContainsAny(text, "@?#") { // The text may contain credentials.
			return errors.New("must be a URL such as https://api.example.com")
		}
		return fmt.Errorf("must be a URL such as https://api.example.com, not %q", text)
	}
	*e = Endpoint(strings.TrimRight(string(text), "/"))
	return nil
}
