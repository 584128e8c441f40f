package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

// redacted replaces a value that is not known to be harmless.
const redacted = "xxxxx" // as printable.WithoutSecrets writes it

// harmlessAnnotations has the annotations whose values are in a bundle. For other
// annotations, a bundle has only the keys.
var harmlessAnnotations = []string{
	"alpha.kubernetes.io/provided-node-ip",
	"fairlead.dev/load-balancer-class",
	"fairlead.dev/pod-cidr-fence",
	"node.alpha.kubernetes.io/ttl",
	"volumes.kubernetes.io/controller-managed-attach-detach",
}

// harmlessFlags has the flags whose values are in a bundle. For other flags, a bundle
// has only the names.
var harmlessFlags = []string{
	"allocate-node-cidrs", "cloud-provider", "cluster-cidr", "concurrent-node-syncs", "concurrent-service-syncs", "configure-cloud-routes",
	"controllers", "kubelet-preferred-address-types", "leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline",
	"leader-elect-resource-name", "leader-elect-resource-namespace", "leader-elect-retry-period", "load-balancer-class", "node-deletion",
	"node-monitor-period", "node-status-update-frequency", "own-node-selector", "own-provider-id-schemes", "route-reconciliation-period",
	"secure-port", "service-cluster-ip-range", "use-service-account-credentials", "v",
}

// WriteBundle writes the report, the data behind the report, and the list of waiting
// objects to a new file. Only the owner can read the file. The bundle has no Secrets
// and no environment variables. It has the values of annotations and flags only if
// they are known to be harmless. In each other text, printable.WithoutSecrets hides
// what it recognises.
func WriteBundle(file string, v *cluster.View, r Report, waiting any) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user has named the file
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	return writeBundle(f, v, r, waiting)
}

func writeBundle(to io.Writer, v *cluster.View, r Report, waiting any) error {
	zipped := gzip.NewWriter(to)
	archive := tar.NewWriter(zipped)
	missing := map[cluster.Source]string{}
	for s := range v.Missing {
		missing[s] = v.Why(s)
	}
	files := map[string]any{
		"doctor.json": r, "waiting.json": waiting, "nodes.json": kept(v.Nodes, redactNode), "services.json": redactServices(v.Services),
		"leases.json": kept(v.Leases, redactLease), "workloads.json": kept(v.Workloads, redactWorkload), "pods.json": kept(v.Pods, redactPod),
		"events.json": kept(v.Events, redactEvent), "requests.json": kept(v.Requests, redactRequest), "reviews.json": v.Reviews, "missing.json": missing,
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		safe, err := redactTexts(files[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text, err := json.MarshalIndent(safe, "", "  ")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := archive.WriteHeader(&tar.Header{Name: "fairlead-doctor/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: v.Now}); err != nil {
			return err
		}
		if _, err := archive.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// redactMeta returns a part of the metadata. It leaves out the fields in
// ManagedFields, and replaces the values of annotations that are not known to be
// harmless.
func redactMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation, Labels: m.Labels,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Finalizers: m.Finalizers, Annotations: map[string]string{},
	}
	for key, value := range m.Annotations {
		if !slices.Contains(harmlessAnnotations, key) {
			value = redacted
		}
		kept.Annotations[key] = value
	}
	for _, e := range m.ManagedFields { // The names of fields can contain values, so they are left out.
		kept.ManagedFields = append(kept.ManagedFields, metav1.ManagedFieldsEntry{Manager: e.Manager, Operation: e.Operation, Time: e.Time, Subresource: e.Subresource})
	}
	return kept
}

// kept returns what a bundle has of each object.
func kept[From, To any](all []From, of func(From) To) []To {
	kept := make([]To, 0, len(all))
	for i := range all {
		kept = append(kept, of(all[i]))
	}
	return kept
}

func redactNode(n corev1.Node) corev1.Node {
	status := corev1.NodeStatus{Addresses: n.Status.Addresses, Conditions: n.Status.Conditions, NodeInfo: n.Status.NodeInfo}
	spec := corev1.NodeSpec{PodCIDR: n.Spec.PodCIDR, PodCIDRs: n.Spec.PodCIDRs, ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints}
	return corev1.Node{ObjectMeta: redactMeta(&n.ObjectMeta), Spec: spec, Status: status}
}

func redactServices(all []corev1.Service) []corev1.Service {
	all = slices.DeleteFunc(slices.Clone(all), func(s corev1.Service) bool {
		return s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(s.Finalizers) == 0
	})
	return kept(all, func(s corev1.Service) corev1.Service {
		return corev1.Service{ObjectMeta: redactMeta(&s.ObjectMeta), Spec: s.Spec, Status: s.Status}
	})
}

func redactLease(l coordinationv1.Lease) coordinationv1.Lease {
	return coordinationv1.Lease{ObjectMeta: redactMeta(&l.ObjectMeta), Spec: l.Spec}
}

func redactRequest(r certificatesv1.CertificateSigningRequest) certificatesv1.CertificateSigningRequest {
	return certificatesv1.CertificateSigningRequest{
		ObjectMeta: redactMeta(&r.ObjectMeta),
		Spec:       certificatesv1.CertificateSigningRequestSpec{SignerName: r.Spec.SignerName, Username: r.Spec.Username},
	}
}

// event has the fields of an event that a bundle contains.
type event struct {
	Object  string    `json:"object"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Time    time.Time `json:"time"`
	Source  string    `json:"source,omitempty"`
}

func redactEvent(e corev1.Event) event {
	o := e.InvolvedObject
	return event{
		Object: strings.Join([]string{o.Kind, o.Namespace, o.Name}, "/"), Type: e.Type, Reason: e.Reason, Message: e.Message,
		Time: cluster.LastTime(&e), Source: cluster.SourceOf(&e),
	}
}

func redactWorkload(w cluster.Workload) cluster.Workload {
	w.Template = redactTemplate(w.Template)
	return w
}

func redactPod(p cluster.Pod) cluster.Pod {
	p.Template = redactTemplate(p.Template)
	return p
}

func redactTemplate(t cluster.Template) cluster.Template {
	t.Containers = slices.Clone(t.Containers)
	for i := range t.Containers {
		t.Containers[i].Line = redactLine(t.Containers[i].Line)
	}
	return t
}

// redactLine keeps the name of the program, the names of flags, and the values of
// harmless flags.
func redactLine(line []string) []string {
	var kept []string
	for i, argument := range line {
		name, _, given := strings.Cut(argument, "=")
		isFlag := strings.HasPrefix(argument, "--") && !strings.ContainsAny(name, " \t\n")
		switch {
		case isFlag && (!given || slices.Contains(harmlessFlags, strings.TrimPrefix(name, "--"))):
			kept = append(kept, argument)
		case isFlag:
			kept = append(kept, name+"="+redacted)
		case i == 0 && !strings.ContainsAny(argument, " \t\n"):
			kept = append(kept, argument)
		default:
			kept = append(kept, redacted)
		}
	}
	return kept
}

// redactTexts encodes the value as JSON and decodes it again. In the result, each
// text is safe to show.
func redactTexts(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var all any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a float64 cannot have every number
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	return redactText(all), nil
}

func redactText(value any) any {
	switch value := value.(type) {
	case string:
		return cluster.Shown(value)
	case []any:
		for i := range value {
			value[i] = redactText(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = redactText(value[key])
		}
	}
	return value
}
