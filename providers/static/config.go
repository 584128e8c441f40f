package static

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

const (
	idPrefix  = Name + "://"
	namePlace = "{{name}}"
	// keepID in place of a template means that each Node keeps its present provider ID.
	keepID = "keep"
	// The field externalIPs has the value noExternal, or fromAnnotation followed by the
	// key of an annotation.
	noExternal     = "none"
	fromAnnotation = "fromAnnotation"
)

// config is the content of the configuration file.
type config struct {
	entries  []entry
	keep     bool
	template string // the template of provider IDs; unused if keep is true
}

// entry selects Nodes and says what the provider returns for them. An empty field adds
// nothing.
type entry struct {
	selector           labels.Selector
	region, zone, size string
	labels             map[string]string
	external           string // key of the annotation with the external addresses
}

// document is the structure of the file. element is the structure of one of its
// entries.
type document struct {
	Nodes      []element `json:"nodes"`
	ProviderID string    `json:"providerID"`
}

type element struct {
	Selector    *metav1.LabelSelector `json:"selector"`
	Region      string                `json:"region"`
	Zone        string                `json:"zone"`
	Type        string                `json:"type"`
	Labels      map[string]string     `json:"labels"`
	ExternalIPs string                `json:"externalIPs"`
}

// parseConfig reads the file. The error names each wrong field, with its line.
func parseConfig(r io.Reader) (config, error) {
	var written document
	if err := kit.ReadConfig(r, &written); err != nil {
		return config{}, err
	}
	c := config{keep: written.ProviderID == keepID, template: written.ProviderID}
	for _, e := range written.Nodes {
		c.entries = append(c.entries, e.entry())
	}
	return c, nil
}

// Check implements kit.Checker.
func (d *document) Check(wrong kit.Wrong) {
	if len(d.Nodes) == 0 {
		wrong("nodes", "must have an entry")
	}
	if problem := wrongID(d.ProviderID); problem != "" {
		wrong("providerID", "%s", problem)
	}
}

// withoutName matches what remains of a valid template after the prefix and the name
// are removed.
var withoutName = regexp.MustCompile(`^[A-Za-z0-9._/-]*$`)

// wrongID returns what is wrong with the template of provider IDs, or "" if nothing is.
// The template must contain the name, because two Nodes must not have the same ID.
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

// entry returns the entry of an element that Check has accepted.
func (w *element) entry() entry {
	e := entry{region: w.Region, zone: w.Zone, size: w.Type, labels: w.Labels}
	e.selector, _ = metav1.LabelSelectorAsSelector(w.Selector)
	e.external, _ = externalOf(w.ExternalIPs)
	return e
}

// Check implements kit.Checker.
func (w *element) Check(wrong kit.Wrong) {
	if w.Selector == nil {
		wrong("selector", "is missing; {} selects all Nodes")
	} else if _, err := metav1.LabelSelectorAsSelector(w.Selector); err != nil {
		wrong("selector", "%v", err)
	}
	for _, value := range []struct{ field, text string }{{"region", w.Region}, {"zone", w.Zone}, {"type", w.Type}} {
		if texts := validation.IsValidLabelValue(value.text); len(texts) > 0 {
			wrong(value.field, "%q: %s", value.text, strings.Join(texts, ", "))
		}
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(w.Labels)) {
		if text := wrongLabel(key, w.Labels[key]); text != "" {
			labels = append(labels, text)
		}
	}
	if len(labels) > 0 {
		wrong("labels", "%s", strings.Join(labels, "; "))
	}
	if _, err := externalOf(w.ExternalIPs); err != nil {
		wrong("externalIPs", "%v", err)
	}
}

// reserved matches the keys of labels that only Kubernetes itself may set. The daemon
// ignores these labels if a provider returns them.
var reserved = regexp.MustCompile(`(^|\.)(kubernetes|k8s)\.io/`)

// wrongLabel returns what is wrong with a label for Nodes, or "" if nothing is.
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

// externalOf returns the key of the annotation with the external addresses. It
// returns "" if Nodes get no external addresses.
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
