package provider

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"
)

// config is the content of the file in --cloud-config. The file comes from a
// Secret, so it may contain credentials. The daemon watches the file, so you need
// not restart it after a change.
type config struct {
	// Endpoint is the URL of the cloud's API.
	Endpoint string `json:"endpoint"`
}

// readConfig reads the file, which is nil without --cloud-config.
func readConfig(file io.Reader) (config, error) {
	if file == nil {
		return config{}, errors.New("--cloud-config is missing: a file that says where the cloud is, such as endpoint: http://127.0.0.1:7640")
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return config{}, fmt.Errorf("cloud config: %w", err)
	}
	var c config
	// Strict, because an unknown key is probably a misspelled one.
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return config{}, fmt.Errorf("cloud config: %w", err)
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return config{}, fmt.Errorf("cloud config: endpoint: must be a URL such as http://127.0.0.1:7640, not %q", c.Endpoint)
	}
	c.Endpoint = strings.TrimRight(c.Endpoint, "/")
	return c, nil
}
