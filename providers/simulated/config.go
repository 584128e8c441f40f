package simulated

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// config is the content of the configuration file.
type config struct {
	endpoint string
	pageSize int           // 0: the cloud's default
	timeout  time.Duration // for each call; 0 means only the caller's deadline
	// routeAddresses makes the provider store the addresses of a Node with its
	// routes, and return them.
	routeAddresses bool
	// batchRoutes lets concurrent changes of routes share calls.
	batchRoutes bool
	// without is what the provider does not offer.
	without optional
}

// configKey reads the value of one key.
type configKey struct {
	name string
	read func(*config, *yaml.Node) error
}

func configKeys() []configKey {
	return []configKey{
		{"endpoint", readEndpoint},
		{"pageSize", readPageSize},
		{"timeout", readTimeout},
		{"routeAddresses", readSwitch(func(c *config) *bool { return &c.routeAddresses })},
		{"batchRoutes", readSwitch(func(c *config) *bool { return &c.batchRoutes })},
		{"withoutBatches", readSwitch(func(c *config) *bool { return &c.without.instances.batches })},
		{"withoutLists", readSwitch(func(c *config) *bool { return &c.without.instances.lists })},
		{"withoutWatches", readSwitch(func(c *config) *bool { return &c.without.instances.watches })},
		{"withoutBackendSetter", readSwitch(func(c *config) *bool { return &c.without.backendSetter })},
		{"withoutRouteApplier", readSwitch(func(c *config) *bool { return &c.without.routeApplier })},
		{"withoutConcurrentCalls", readSwitch(func(c *config) *bool { return &c.without.concurrentCalls })},
		{"withoutConcurrentServices", readSwitch(func(c *config) *bool { return &c.without.concurrentServices })},
	}
}

// parseConfig reads the file and returns all errors in it at once.
func parseConfig(r io.Reader) (config, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return config{}, fmt.Errorf("cloud config: %w", err)
	}
	if !utf8.Valid(text) {
		return config{}, errors.New("cloud config: the file is not UTF-8 text: write it anew in that encoding")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, another yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return config{}, errors.New("cloud config: line 1: endpoint: is missing; the file is empty")
	case err != nil:
		return config{}, fmt.Errorf("cloud config: %w", err)
	}
	c, problems := readConfig(document.Content[0])
	switch err := decoder.Decode(&another); {
	case err == nil:
		problems = append(problems, at(&another, "a second document; the file must have one"))
	case !errors.Is(err, io.EOF):
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return config{}, fmt.Errorf("cloud config: %w", oneLine(problems))
	}
	return c, nil
}

// oneLine joins errors into one line, because a log record is one line.
func oneLine(all []error) error {
	joined := all[0]
	for _, err := range all[1:] {
		joined = fmt.Errorf("%w; %w", joined, err)
	}
	return joined
}

func readConfig(mapping *yaml.Node) (config, []error) {
	var c config
	var problems []error
	if mapping.Kind != yaml.MappingNode {
		return c, []error{at(mapping, "must be keys and values, such as endpoint: http://127.0.0.1:7640")}
	}
	seen := map[string]bool{}
	for n := 0; n < len(mapping.Content); n += 2 {
		key, value := mapping.Content[n], mapping.Content[n+1]
		if seen[key.Value] {
			problems = append(problems, at(key, "%s: is there twice", key.Value))
			continue
		}
		seen[key.Value] = true
		if err := readKey(&c, key, value); err != nil {
			problems = append(problems, err)
		}
	}
	if !seen["endpoint"] {
		problems = append(problems, at(mapping, "endpoint: is missing"))
	}
	return c, problems
}

func readKey(c *config, key, value *yaml.Node) error {
	var names []string
	for _, known := range configKeys() {
		names = append(names, known.name)
		if known.name != key.Value {
			continue
		}
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
			return at(value, "%s: must have one value", key.Value)
		}
		if err := known.read(c, value); err != nil {
			return at(value, "%s: %w", key.Value, err)
		}
		return nil
	}
	return at(key, "%s: unknown key; known are %s", key.Value, strings.Join(names, ", "))
}

// at returns an error with a line number.
func at(node *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", node.Line, fmt.Errorf(format, args...))
}

func readEndpoint(c *config, value *yaml.Node) error {
	u, err := url.Parse(value.Value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("must be a URL such as http://127.0.0.1:7640, not %q", value.Value)
	}
	c.endpoint = value.Value
	return nil
}

func readPageSize(c *config, value *yaml.Node) error {
	n, err := strconv.Atoi(value.Value)
	if err != nil || value.Tag != "!!int" || n < 1 {
		return fmt.Errorf("must be a positive number, not %q", value.Value)
	}
	c.pageSize = n
	return nil
}

func readTimeout(c *config, value *yaml.Node) error {
	d, err := time.ParseDuration(value.Value)
	if err != nil || d <= 0 {
		return fmt.Errorf("must be a positive duration such as 10s, not %q", value.Value)
	}
	c.timeout = d
	return nil
}

func readSwitch(of func(*config) *bool) func(*config, *yaml.Node) error {
	return func(c *config, value *yaml.Node) error {
		if value.Tag != "!!bool" {
			return fmt.Errorf("must be true or false, not %q", value.Value)
		}
		return value.Decode(of(c))
	}
}
