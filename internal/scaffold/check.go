package scaffold

import (
	"fmt"
	"regexp"
	"strings"
)

// maxName is the maximum length of a cloud's name. Names of images and objects
// consist of that name and a suffix, and have at most 63 characters.
const maxName = 35

var (
	name    = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	element = regexp.MustCompile(`^[A-Za-z0-9_~-]([A-Za-z0-9._~-]*[A-Za-z0-9_~-])?$`)
)

// CheckName returns an error if the name of a cloud is not valid.
func CheckName(text string) error {
	switch {
	case text == "external":
		return fmt.Errorf("%q is the value of kubelets' --cloud-provider for any external daemon; it cannot be the name of a cloud", text)
	case len(text) > maxName:
		return fmt.Errorf("%q has %d characters, and may have at most %d", text, len(text), maxName)
	case !name.MatchString(text):
		return fmt.Errorf("%q is not a name for a cloud: lower-case letters, digits and dashes, first a letter, such as acme; it becomes the scheme of provider IDs, as in acme://region/i-1", text)
	}
	return nil
}

// CheckModule returns an error if the path of a Go module is not valid.
func CheckModule(path string) error {
	const example = "such as github.com/acme/acme-cloud-controller-manager"
	if strings.Contains(path, "://") || strings.HasSuffix(path, ".git") {
		return fmt.Errorf("%q is a URL of a repository, and not the path of a Go module, %s", path, example)
	}
	elements := strings.Split(path, "/")
	for _, e := range elements {
		if !element.MatchString(e) || e == "vendor" || strings.HasPrefix(path, "-") {
			return fmt.Errorf("%q is not the path of a Go module, %s", path, example)
		}
	}
	// If the first element has no dot, Go looks for the module in the standard library.
	if !strings.Contains(elements[0], ".") {
		return fmt.Errorf("%q does not begin with a domain, %s; example.com/%s will do until there is one", path, example, path)
	}
	if path == Fairlead || strings.HasPrefix(path, Fairlead+"/") && !strings.HasPrefix(path, Fairlead+"/examples/") {
		return fmt.Errorf("%q is within Fairlead itself; give the path of your own project, %s", path, example)
	}
	return nil
}
