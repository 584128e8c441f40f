package doctor

import (
	"archive/tar"
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

	"github.com/fairlead-k8s/fairlead/internal/inspect"
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
func WriteBundle(file string, v *View, r Report, waiting any) (err error) {
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

func writeBundle(to io.Writer, v *View, r Report, waiting any) error {
	zipped := gzip.NewWriter(to)
	archive := tar.NewWriter(zipped)
	files := map[string]any{
		"doctor.json": r, "nodes.json": redactNodes(v.Nodes), "services.json": redactServices(v.Services), "leases.json": redactLeases(v.Leases),
		"workloads.json": redactWorkloads(v.Workloads), "pods.json": redactPods(v.Pods), "events.json": redactEvents(v.Events),
		"requests.json": redactRequests(v.Requests), "reviews.json": v.Reviews, "missing.json": v.Missing,
		"waiting.json": waiting,
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

func redactNodes(all []corev1.Node) []corev1.Node {
	kept := make([]corev1.Node, 0, len(all))
	for i := range all {
		n := &all[i]
		status := corev1.NodeStatus{Addresses: n.Status.Addresses, Conditions: n.Status.Conditions, NodeInfo: n.Status.NodeInfo}
		spec := corev1.NodeSpec{PodCIDR: n.Spec.PodCIDR, PodCIDRs: n.Spec.PodCIDRs, ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints}
		kept = append(kept, corev1.Node{ObjectMeta: redactMeta(&n.ObjectMeta), Spec: spec, Status: status})
	}
	return kept
}

func redactServices(all []corev1.Service) []corev1.Service {
	var kept []corev1.Service
	for i := range all {
		s := &all[i]
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(s.Finalizers) == 0 {
			continue
		}
		kept = append(kept, corev1.Service{ObjectMeta: redactMeta(&s.ObjectMeta), Spec: s.Spec, Status: s.Status})
	}
	return kept
}

func redactLeases(all []coordinationv1.Lease) []coordinationv1.Lease {
	var kept []coordinationv1.Lease
	for i := range all {
		kept = append(kept, coordinationv1.Lease{ObjectMeta: redactMeta(&all[i].ObjectMeta), Spec: all[i].Spec})
	}
	return kept
}

func redactRequests(all []certificatesv1.CertificateSigningRequest) []certificatesv1.CertificateSigningRequest {
	var kept []certificatesv1.CertificateSigningRequest
	for i := range all {
		r := &all[i]
		kept = append(kept, certificatesv1.CertificateSigningRequest{
			ObjectMeta: redactMeta(&r.ObjectMeta),
			Spec:       certificatesv1.CertificateSigningRequestSpec{SignerName: r.Spec.SignerName, Username: r.Spec.Username},
		})
	}
	return kept
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

func redactEvents(all []corev1.Event) []event {
	var kept []event
	for i := range all {
		e := &all[i]
		o := e.InvolvedObject
		kept = append(kept, event{
			Object: strings.Join([]string{o.Kind, o.Namespace, o.Name}, "/"), Type: e.Type, Reason: e.Reason, Message: e.Message,
			Time: eventTime(e), Source: inspect.Source(e),
		})
	}
	return kept
}

func redactWorkloads(all []Workload) []Workload {
	kept := slices.Clone(all)
	for i := range kept {
		kept[i].Template = redactTemplate(kept[i].Template)
	}
	return kept
}

func redactPods(all []Pod) []Pod {
	kept := slices.Clone(all)
	for i := range kept {
		kept[i].Template = redactTemplate(kept[i].Template)
	}
	return kept
}

func redactTemplate(t Template) Template {
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
