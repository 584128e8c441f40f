// Package deploy holds the plain manifests, for the playground and the tests.
package deploy

import _ "embed"

// Deployment is deployment.yaml.
//
//go:embed deployment.yaml
var Deployment string
