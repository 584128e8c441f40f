package doctor

import (
	"path"
	"slices"
	"strings"
)

// flags has the flags of a command line. The keys are names without the leading
// dashes.
type flags map[string]string

// flagsOf parses the command line of a container. It also parses a shell command,
// which has all flags in one argument.
func flagsOf(line []string) flags {
	var words []string
	for _, argument := range line {
		if strings.Contains(argument, " --") {
			words = append(words, strings.Fields(argument)...)
		} else {
			words = append(words, argument)
		}
	}
	all := flags{}
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

// has reports whether the flag is set.
func (f flags) has(name string) bool { _, ok := f[name]; return ok }

// is reports whether a flag of type bool is on. The second argument is the flag's
// default.
func (f flags) is(name string, unset bool) bool {
	value, ok := f[name]
	if !ok {
		return unset
	}
	return !slices.Contains([]string{"false", "f", "0", "False", "FALSE", "F"}, value)
}

// list returns the elements of a flag whose value is a list.
func (f flags) list(name string) []string {
	if f[name] == "" {
		return nil
	}
	return strings.Split(f[name], ",")
}

// or returns the value of a flag. The second argument is the flag's default. The result
// ok is false if the value depends on the Pod's environment.
func (f flags) or(name, unset string) (value string, ok bool) {
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
var onlyOurs = []string{"configure-cloud-routes", "node-status-update-frequency", "concurrent-service-syncs", "route-reconciliation-period", "allocate-node-cidrs", "concurrent-node-syncs"}

// namesManager reports whether a program, an image or a Lease has the name of a
// cloud-controller-manager.
func namesManager(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "cluster-cloud-") {
		return false // OpenShift's operator, which installs a manager
	}
	return strings.Contains(name, "cloud-controller-manager") || slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }), "ccm")
}

// program returns the name of an image, without registry and tag.
func program(image string) string {
	name, _, _ := strings.Cut(path.Base(image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// isManager reports whether the container runs a cloud-controller-manager.
func isManager(c Container) bool {
	if slices.ContainsFunc(c.Line, func(argument string) bool {
		return !strings.HasPrefix(argument, "-") && path.Base(argument) == "kube-controller-manager"
	}) {
		return false
	}
	if namesManager(program(c.Image)) || namesManager(c.Name) {
		return true
	}
	if len(c.Line) > 0 && namesManager(path.Base(c.Line[0])) {
		return true
	}
	f := flagsOf(c.Line)
	return f.has("cloud-provider") && slices.ContainsFunc(onlyOurs, f.has)
}
