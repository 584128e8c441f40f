package static

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	idPrefix  = Name + "://"
	namePlace = "{{name}}"
	// keepID in place of a template leaves each Node the provider ID that it has.
	keepID = "keep"
	// noExternal and fromAnnotation are the values of externalIPs. The key of the
	// annotation follows the second.
	noExternal     = "none"
	fromAnnotation = "fromAnnotation"
)

// config is the content of the configuration file.
type config struct {
	entries  []entry
	keep     bool
	template string // of provider IDs; unused with keep
}

// entry describes the Nodes that it selects. For an empty field nothing is written.
type entry struct {
	selector           labels.Selector
	region, zone, size string
	labels             map[string]string
	external           string // key of the annotation with the external addresses
}

// document, element and selector are the file as it is written.
type document struct {
	Nodes      []element `yaml:"nodes"`
	ProviderID string    `yaml:"providerID"`
}

type element struct {
	Selector    *selector         `yaml:"selector"`
	Region      string            `yaml:"region"`
	Zone        string            `yaml:"zone"`
	Type        string            `yaml:"type"`
	Labels      map[string]string `yaml:"labels"`
	ExternalIPs string            `yaml:"externalIPs"`
}

type selector struct {
	MatchLabels      map[string]string `yaml:"matchLabels"`
	MatchExpressions []struct {
		Key      string   `yaml:"key"`
		Operator string   `yaml:"operator"`
		Values   []string `yaml:"values"`
	} `yaml:"matchExpressions"`
}

// parseConfig reads the file. The error names each line or field that is wrong.
func parseConfig(r io.Reader) (config, error) {
	decoder := yaml.NewDecoder(r)
	decoder.KnownFields(true)
	var written document
	switch err := decoder.Decode(&written); {
	case errors.Is(err, io.EOF):
		return config{}, errors.New("cloud config: nodes: is missing; the file is empty")
	case err != nil:
		return config{}, fmt.Errorf("cloud config: %w", readable(err))
	}
	var another yaml.Node
	switch err := decoder.Decode(&another); {
	case err == nil:
		return config{}, fmt.Errorf("cloud config: line %d: a second document; the file must have one", another.Line)
	case !errors.Is(err, io.EOF):
		return config{}, fmt.Errorf("cloud config: %w", readable(err))
	}
	c, problems := written.config()
	if len(problems) > 0 {
		return config{}, errors.New("cloud config: " + strings.Join(problems, "; "))
	}
	return c, nil
}

// unknownField and intoType match the parts of the decoder's messages that name Go
// types.
var (
	unknownField = regexp.MustCompile(` not found in type \S+`)
	intoType     = regexp.MustCompile(` into \S+$`)
)

// readable returns the error of the decoder in one line, because a log record is
// one line.
func readable(err error) error {
	list := (*yaml.TypeError)(nil)
	if !errors.As(err, &list) {
		return err
	}
	var lines []string
	for _, text := range list.Errors {
		lines = append(lines, intoType.ReplaceAllString(unknownField.ReplaceAllString(text, " is unknown"), ""))
	}
	return errors.New(strings.Join(lines, "; "))
}

func (d document) config() (config, []string) {
	c := config{keep: d.ProviderID == keepID, template: d.ProviderID}
	var problems []string
	if len(d.Nodes) == 0 {
		problems = append(problems, "nodes: must have an entry")
	}
	for n, written := range d.Nodes {
		e, wrong := written.entry()
		for _, problem := range wrong {
			problems = append(problems, fmt.Sprintf("nodes[%d].%s", n, problem))
		}
		c.entries = append(c.entries, e)
	}
	if problem := wrongID(d.ProviderID); problem != "" {
		problems = append(problems, "providerID: "+problem)
	}
	return c, problems
}

// withoutName are the characters that a template may have beside the name.
var withoutName = regexp.MustCompile(`^[A-Za-z0-9._/-]*$`)

// wrongID returns what is wrong with the template of provider IDs. The name has to
// be in it, because two Nodes must not have the same ID.
func wrongID(template string) string {
	const example = idPrefix + "home/" + namePlace
	rest, ours := strings.CutPrefix(template, idPrefix)
	before, after, named := strings.Cut(rest, namePlace)
	switch {
	case template == "":
		return "is missing; give " + example + " or " + keepID
	case template == keepID, ours && named && withoutName.MatchString(before+after):
		return ""
	default:
		return fmt.Sprintf("must be %s or like %s, not %q", keepID, example, template)
	}
}

// entry returns the entry, and what is wrong with it.
func (w element) entry() (entry, []string) {
	e := entry{region: w.Region, zone: w.Zone, size: w.Type, labels: w.Labels}
	var problems []string
	wrong := func(field, format string, args ...any) {
		problems = append(problems, field+": "+fmt.Sprintf(format, args...))
	}
	var err error
	if w.Selector == nil {
		wrong("selector", "is missing; {} selects all Nodes")
	} else if e.selector, err = w.Selector.parsed(); err != nil {
		wrong("selector", "%v", err)
	}
	for _, value := range []struct{ field, text string }{{"region", w.Region}, {"zone", w.Zone}, {"type", w.Type}} {
		if texts := validation.IsValidLabelValue(value.text); len(texts) > 0 {
			wrong(value.field, "%q: %s", value.text, strings.Join(texts, ", "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.Labels)) {
		if text := wrongLabel(key, w.Labels[key]); text != "" {
			wrong("labels", "%s", text)
		}
	}
	if e.external, err = externalOf(w.ExternalIPs); err != nil {
		wrong("externalIPs", "%v", err)
	}
	return e, problems
}

func (s selector) parsed() (labels.Selector, error) {
	all := metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, e := range s.MatchExpressions {
		all.MatchExpressions = append(all.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator), Values: e.Values})
	}
	return metav1.LabelSelectorAsSelector(&all)
}

// reserved are the keys that a daemon does not write for a provider.
var reserved = regexp.MustCompile(`(^|\.)(kubernetes|k8s)\.io/`)

// wrongLabel returns what is wrong with a label that Nodes are to get.
func wrongLabel(key, value string) string {
	if reserved.MatchString(key) {
		return key + ": only Kubernetes itself sets labels under kubernetes.io and k8s.io; set it on the Node yourself"
	}
	if texts := validation.IsQualifiedName(key); len(texts) > 0 {
		return fmt.Sprintf("key %q: %s", key, strings.Join(texts, ", "))
	}
	if texts := validation.IsValidLabelValue(value); len(texts) > 0 {
		return fmt.Sprintf("%s: %q: %s", key, value, strings.Join(texts, ", "))
	}
	return ""
}

// externalOf returns the key of the annotation with the external addresses, empty
// if there are none.
func externalOf(text string) (string, error) {
	key, found := strings.CutPrefix(text, fromAnnotation+" ")
	switch {
	case text == "", text == noExternal:
		return "", nil
	case !found:
		return "", fmt.Errorf("must be %s, or %s and the key of an annotation, not %q", noExternal, fromAnnotation, text)
	}
	if texts := validation.IsQualifiedName(strings.ToLower(key)); len(texts) > 0 {
		return "", fmt.Errorf("key %q: %s", key, strings.Join(texts, ", "))
	}
	return key, nil
}
