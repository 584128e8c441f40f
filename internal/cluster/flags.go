package cluster

import (
	"path"
	"slices"
	"strings"
)

// Flags has the flags of a command line. The keys are names without the leading
// dashes.
type Flags map[string]string

// FlagsOf parses the command line of a container. It also parses a shell command,
// which has all flags in one argument.
func FlagsOf(line []string) Flags {
	var words []string
	for _, argument := range line {
		if strings.Contains(argument, " --") {
			words = append(words, strings.Fields(argument)...)
		} else {
			words = append(words, argument)
		}
	}
	all := Flags{}
	for i, word := range words {
		name, ok := strings.CutPrefix(word, "--")
		if !ok || name == "" {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		switch {
		case given:
		case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			value = words[i+1]
		default:
			value = "true"
		}
		all[strings.ReplaceAll(name, "_", "-")] = strings.Trim(value, `"'`)
	}
	return all
}

// Has reports whether the flag is set.
func (f Flags) Has(name string) bool { _, ok := f[name]; return ok }

// Is reports whether a flag of type bool is on. The second argument is the flag's
// default.
func (f Flags) Is(name string, unset bool) bool {
	value, ok := f[name]
	if !ok {
		return unset
	}
	return !slices.Contains([]string{"false", "f", "0", "False", "FALSE", "F"}, value)
}

// List returns the elements of a flag whose value is a list.
func (f Flags) List(name string) []string {
	if f[name] == "" {
		return nil
	}
	return strings.Split(f[name], ",")
}

// or returns the value of a flag. The second argument is the flag's default. The result
// ok is false if the value depends on the Pod's environment.
func (f Flags) or(name, unset string) (value string, ok bool) {
	value, found := f[name]
	if !found {
		value = unset
	}
	return value, !strings.Contains(value, "$(") && !strings.Contains(value, "${")
}

// onlyOurs has flags that exist only in cloud-controller-managers and in
// kube-controller-manager. If a program other than kube-controller-manager has
// --cloud-provider and one of these flags, it is a cloud-controller-manager, even
// if its name is unusual.
var onlyOurs = []string{
	"configure-cloud-routes", "node-status-update-frequency", "concurrent-service-syncs", "route-reconciliation-period", "allocate-node-cidrs", "concurrent-node-syncs",
}

// NamesManager reports whether a program, an image or a Lease has the name of a
// cloud-controller-manager.
func NamesManager(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "cluster-cloud-") {
		return false // OpenShift's operator, which installs a manager
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	return strings.Contains(name, cloudControllerManager) || slices.Contains(words, "ccm")
}

// isManager reports whether the container runs a cloud-controller-manager.
func isManager(c Container) bool {
	if slices.ContainsFunc(c.Line, func(argument string) bool {
		return !strings.HasPrefix(argument, "-") && path.Base(argument) == ControllerManager
	}) {
		return false
	}
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	image, _, _ = strings.Cut(image, ":")
	if NamesManager(image) || NamesManager(c.Name) || len(c.Line) > 0 && NamesManager(path.Base(c.Line[0])) {
		return true
	}
	f := FlagsOf(c.Line)
	return f.Has("cloud-provider") && slices.ContainsFunc(onlyOurs, f.Has)
}
