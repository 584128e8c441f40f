package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// workload has the fields of a Pod, of an object with a Pod template, and of a List.
type workload struct {
	Spec struct {
		corev1.PodSpec `json:",inline"` // of a Pod

		Template corev1.PodTemplateSpec `json:"template"` // of all others
	} `json:"spec"`
	Items []workload `json:"items"` // of a List
}

// containers returns the containers of the Pod, the Pod template or the listed objects.
func (m workload) containers() []corev1.Container {
	all := slices.Concat(m.Spec.Containers, m.Spec.Template.Spec.Containers)
	for _, item := range m.Items {
		all = append(all, item.containers()...)
	}
	return all
}

// commandLine finds the daemon's container in a manifest and returns its command
// line. The argument container is the name of that container. If this name is empty,
// the manifest must have only one container, or only one that names a cloud
// provider.
func commandLine(text []byte, container string) ([]string, error) {
	var all []corev1.Container
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var m workload
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m.containers()...)
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(c corev1.Container) bool { return container != "" && c.Name != container })
	if len(chosen) > 1 {
		chosen = slices.DeleteFunc(chosen, func(c corev1.Container) bool {
			return !slices.ContainsFunc(words(c), func(word string) bool { return strings.HasPrefix(word, "--cloud-provider") })
		})
	}
	if len(all) == 0 {
		return nil, errors.New("there is no container in it: give the manifest of a Deployment, a DaemonSet, a StatefulSet or a Pod")
	}
	if len(chosen) != 1 {
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
		}
		return nil, fmt.Errorf("which container is the daemon? Name it with --container: it is one of %q", names)
	}
	args := words(chosen[0])
	if len(args) > 1 && slices.Contains([]string{"sh", "bash"}, path.Base(args[0])) {
		return nil, fmt.Errorf("the container %q runs a shell: give the daemon's own command line after --", chosen[0].Name)
	}
	return args, nil
}

func words(c corev1.Container) []string { return slices.Concat(c.Command, c.Args) }
