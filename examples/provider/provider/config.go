package provider

import (
	"io"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// config is the content of the file that --cloud-config names. The file comes
// from a Secret, so it may contain credentials. The daemon watches the file, so
// you need not restart the daemon after a change of the file.
type config struct {
	// Endpoint is the URL of the cloud's API.
	Endpoint kit.Endpoint `json:"endpoint"`
}

// Check implements kit.Checker. Each call of the function wrong adds a problem to
// the error of kit.ReadConfig, with the line of the key.
func (c *config) Check(wrong kit.Wrong) {
	if c.Endpoint == "" {
		wrong("endpoint", "is missing; give a URL such as http://127.0.0.1:7640")
	}
}

// readConfig reads the file. Without --cloud-config, file is nil.
func readConfig(file io.Reader) (config, error) {
	var c config
	err := kit.ReadConfig(file, &c)
	return c, err
}
