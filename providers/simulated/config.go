package simulated

import (
	"io"
	"time"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// config is the content of the configuration file.
type config struct {
	Endpoint kit.Endpoint  `json:"endpoint"`
	PageSize int           `json:"pageSize"` // 0: the cloud's default
	Timeout  time.Duration `json:"timeout"`  // for each call; 0 means that only the caller's deadline applies
	// RouteAddresses makes the provider store the addresses of a Node with its
	// routes. ListRoutes then returns them.
	RouteAddresses bool `json:"routeAddresses"`
	// BatchRoutes lets concurrent changes of routes share calls.
	BatchRoutes bool `json:"batchRoutes"`
	optional
}

var _ kit.Checker = config{}

// Check implements kit.Checker.
func (c config) Check(wrong kit.Wrong) {
	if c.Endpoint == "" {
		wrong("endpoint", "is missing")
	}
	if c.PageSize < 0 {
		wrong("pageSize", "must not be negative, but is %d", c.PageSize)
	}
	if c.Timeout < 0 {
		wrong("timeout", "must not be negative, but is %s", c.Timeout)
	}
}

// parseConfig reads the file and returns all errors in it at once.
func parseConfig(r io.Reader) (config, error) {
	var c config
	err := kit.ReadConfig(r, &c)
	return c, err
}
