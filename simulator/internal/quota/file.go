package quota

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// file is the content of a file.
type file struct {
	Buckets []bucket `json:"buckets"`
}

// Parse reads the buckets from the YAML of a file. Its errors name the field that is
// wrong.
func Parse(text []byte) ([]wire.Fault, error) {
	content, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var f file
	if err := input.DecodeStrict(content, &f); err != nil {
		return nil, errors.New(input.Problem(err)) // The position is that in the JSON, which nobody has written.
	}
	if len(f.Buckets) == 0 {
		return nil, input.Invalid("buckets", "is missing")
	}
	var all []wire.Fault
	names := map[string]bool{}
	for n, b := range f.Buckets {
		err := b.check()
		if names[b.Name] && err == nil {
			err = input.Invalid("name", "%s is there twice", b.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("buckets[%d].%w", n, err)
		}
		names[b.Name] = true
		all = append(all, b.fault())
	}
	return all, nil
}
