package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// YAML returns the report in YAML. Keys are sorted, so that reports can be compared
// line by line.
func (r *Report) YAML() ([]byte, error) { return yaml.Marshal(r) }

// JSON returns the report in JSON, with the keys in the same order as in YAML.
func (r *Report) JSON() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var plain any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	text, err = json.MarshalIndent(plain, "", "  ")
	return append(text, '\n'), err
}

// ReadReport reads a report in YAML or JSON.
func ReadReport(path string) (*Report, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the caller names its own file
	if err != nil {
		return nil, err
	}
	var r Report
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return nil, fmt.Errorf("%s is no report: %w", path, errors.Unwrap(err))
	}
	if r.APIVersion != APIVersion || r.Kind != Kind {
		return nil, fmt.Errorf("%s is no report that this program can read: it is %q of %q; want %q of %q", path, r.Kind, r.APIVersion, Kind, APIVersion)
	}
	return &r, nil
}
