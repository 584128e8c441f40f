package explain

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/internal/inspect"
)

func TestObject(t *testing.T) {
	for argument, want := range map[string]Object{
		"node/worker-1":                   {Kind: "node", Key: "worker-1"},
		"Nodes/worker-1":                  {Kind: "node", Key: "worker-1"},
		"svc/web":                         {Kind: "service", Key: "here/web"},
		"service/shop/web":                {Kind: "service", Key: "shop/web"},
		"route/10.244.3.0/24":             {Kind: "route", Key: "10.244.3.0/24"},
		"route/fd00::/64":                 {Kind: "route", Key: "fd00::/64"},
		"pv/pv-1":                         {Kind: "volume", Key: "pv-1"},
		"volume/pv-1":                     {Kind: "volume", Key: "pv-1"},
		"csr/csr-1":                       {Kind: "request", Key: "csr-1"},
		"CertificateSigningRequest/csr-1": {Kind: "request", Key: "csr-1"},
	} {
		if got, err := object(argument, "here"); err != nil || got != want {
			t.Errorf("%s: %+v, error %v, want %+v", argument, got, err, want)
		}
	}
	for _, argument := range []string{"", "node", "node/", "pod/a", "node/a/b", "service/a/b/c", "route/a", "route/10.244.3.1/24", "route/10.244.3.0", "pv/a/b", "csr/"} {
		if got, err := object(argument, "here"); err == nil {
			t.Errorf("%q is taken for %+v", argument, got)
		}
	}
}

func TestArguments(t *testing.T) {
	for line, want := range map[string]string{
		"":                              "want one object, such as node/worker-1, got 0; --waiting lists all that wait; --help says more",
		"node/a node/b":                 "want one object, such as node/worker-1, got 2; --waiting lists all that wait; --help says more",
		"--waiting node/a":              "--waiting is about all objects, so name none",
		"node/a --lease x":              `--lease: "x" is not NAMESPACE/NAME`,
		"pod/a --kubeconfig=/no":        `"pod/a" is not node/NAME, service/NAMESPACE/NAME, route/CIDR, volume/NAME or request/NAME`,
		"node/a --kubeconfig=/no":       "--kubeconfig: stat /no: no such file or directory",
		"node/a --kubeconfig=/dev/null": "no cluster is named: set --kubeconfig or $KUBECONFIG to a kubeconfig file",
		"node/a -o xml":                 `invalid argument "xml" for "-o, --output" flag: want text, json or yaml`,
	} {
		c := New(all())
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(strings.Fields(line))
		if err := c.ExecuteContext(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", line, err, want)
		}
	}
}

// known returns a reader of a cluster that has these objects, and the fake client of
// that cluster.
func known(objects ...runtime.Object) (reader, *fake.Clientset) {
	client := fake.NewClientset(objects...)
	return reader{Interface: client, lease: "kube-system/cloud-controller-manager", clock: clocktesting.NewFakePassiveClock(noon)}, client
}

func TestWhatIsRead(t *testing.T) {
	n, s := aNode(), aService()
	n.Spec.PodCIDRs = []string{cidr.String(), "fd00:3::/64"}
	lease := working().lease
	lease.Namespace, lease.Name = "kube-system", "cloud-controller-manager"
	other := aService()
	other.Name, other.Spec.Type, other.Finalizers = "internal", corev1.ServiceTypeClusterIP, nil
	e := eventAt(0, corev1.EventTypeWarning, "CloudInitFailed", "CloudDenied: The cloud denies access.")
	e.Namespace, e.Name, e.InvolvedObject = "default", "e", corev1.ObjectReference{Kind: "Node", Name: n.Name}
	r, client := known(n, s, other, lease, &e)
	for _, o := range []Object{{Kind: kindNode, Key: "worker-9"}, {Kind: kindService, Key: "shop/web"}, {Kind: kindRoute, Key: "fd00:3::/64"}} {
		v, err := r.one(t.Context(), o)
		if err != nil || v.daemon.lease == nil || v.Object.Key != o.Key {
			t.Errorf("%+v: %+v, error %v", o, v, err)
		}
		switch {
		case o.Kind == kindNode && (v.of == nil || len(v.events) != 1 || v.Object.UID != "u9"),
			o.Kind == kindService && v.of == nil,
			o.Kind == kindRoute && v.owners != 1:
			t.Errorf("%+v: %+v", o, v)
		}
	}
	all, unread, err := r.everything(t.Context(), metav1.NamespaceAll)
	views := subjects(all)
	// The fake API server ignores field selectors. So the list of the Services' events also
	// has the event of the Node. That event must not be in the view of the Service.
	if err != nil || len(unread) > 0 || len(views) != 2 || len(views[0].events) == 0 || len(views[1].events) > 0 {
		t.Errorf("%d objects: %+v, error %v", len(views), views, err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" && a.GetVerb() != "list" {
			t.Errorf("request %+v", a)
		}
	}
}

// Volumes and requests belong to controllers that are off by default. So --waiting works
// without the right to read these objects. It says that they are not listed.
func TestVolumesAndRequestsAreRead(t *testing.T) {
	labelled, signed := aVolume(), aRequest()
	labelled.Name, labelled.Labels = "disk-2", map[string]string{corev1.LabelTopologyZone: ""}
	signed.Name, signed.Status.Certificate = "csr-2", []byte("c")
	old := aRequest()
	old.Name, old.CreationTimestamp = "csr-3", metav1.NewTime(noon.Add(-time.Hour))
	about := func(kind, name, text string) *corev1.Event {
		e := eventAt(time.Minute, corev1.EventTypeWarning, text, "IdentityUnproven: No. The request is csr-1.")
		e.Namespace, e.Name, e.InvolvedObject = "default", kind, corev1.ObjectReference{Kind: kind, Name: name}
		return &e
	}
	r, client := known(aVolume(), labelled, aRequest(), signed, old, about("PersistentVolume", "disk-1", "VolumeTopologyUnknown"), about("Node", "worker-9", heldRequest))
	e := &command{reasons: all()}
	for _, o := range []Object{{Kind: kindVolume, Key: "disk-1"}, {Kind: kindRequest, Key: "csr-1"}} {
		got, err := e.lookAt(t.Context(), r, o, nil)
		if err != nil || got.(Answer).State != Waits || got.(Answer).Object.UID == "" {
			t.Errorf("%+v: %+v, error %v", o, got, err)
		}
		if keys := r.keys(t.Context(), o.Kind); !slices.Contains(keys, o.Key) {
			t.Errorf("%s is completed to %q", o.Kind, keys)
		}
	}
	listed := func() (Waiting, []string) {
		t.Helper()
		got, err := e.lookAtAll(t.Context(), r, metav1.NamespaceAll)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range got.(Waiting).Items {
			names = append(names, a.name())
		}
		slices.Sort(names)
		return got.(Waiting), names
	}
	if w, names := listed(); !slices.Equal(names, []string{"request/csr-1", "volume/disk-1"}) || len(w.Unread) > 0 {
		t.Errorf("%q wait, not listed: %q", names, w.Unread)
	}
	for _, resource := range []string{"persistentvolumes", "certificatesigningrequests"} {
		client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
		})
	}
	w, names := listed()
	if len(names) > 0 || len(w.Unread) != 2 {
		t.Errorf("%q wait, not listed: %q", names, w.Unread)
	}
	if text := w.text(noon); !strings.Contains(text, "  not listed  persistentvolumes is forbidden: no\n              certificatesigningrequests is forbidden: no\n") {
		t.Error(text)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	e := &command{reasons: all()}
	r, client := known(aNode())
	if _, err := e.lookAt(t.Context(), r, Object{Kind: kindNode, Key: "gone"}, nil); err == nil || err.Error() != "there is no node gone" || inspect.Code(err) != inspect.Failed {
		t.Errorf("error %v, code %d", err, inspect.Code(err))
	}
	deny := func(verb, resource string) {
		client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
		})
	}
	deny("get", "leases")
	got, err := e.lookAt(t.Context(), r, Object{Kind: kindNode, Key: "worker-9"}, nil)
	if err != nil || !strings.Contains(got.(Answer).Daemon.Problem, "cannot be read") {
		t.Errorf("without the right to read the Lease: %+v, error %v", got, err)
	}
	client.PrependReactor("list", "certificatesigningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServerTimeout(schema.GroupResource{Resource: "certificatesigningrequests"}, "list", 1)
	})
	if _, err := e.lookAtAll(t.Context(), r, ""); inspect.Code(err) != inspect.CannotLook {
		t.Errorf("--waiting while requests cannot be listed for another reason than a right: error %v", err)
	}
	deny("list", "events")
	if _, err := e.lookAt(t.Context(), r, Object{Kind: kindNode, Key: "worker-9"}, nil); inspect.Code(err) != inspect.CannotLook {
		t.Errorf("without the right to read events: error %v", err)
	}
	if _, err := e.lookAtAll(t.Context(), r, ""); inspect.Code(err) != inspect.CannotLook {
		t.Errorf("--waiting without that right: error %v", err)
	}
}

func TestWatchPrintsOnlyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &command{reasons: all(), watch: true, output: inspect.NewOutput()}
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		c := &cobra.Command{}
		c.SetContext(ctx)
		c.SetOut(&out)
		looks := 0
		err := e.print(c, clock.RealClock{}, func(context.Context) (printed, error) {
			looks++
			a := Answer{Object: Object{Kind: "node", Key: "a", ResourceVersion: string(rune('0' + looks))}, Summary: "It waits.", Source: Offline}
			a.Daemon.Renewed = noon.AddDate(0, 0, looks)
			switch looks {
			case 3, 4:
				a.Summary = "It is initialised."
			case 5:
				cancel()
			}
			return a, nil
		})
		if err != nil {
			t.Error(err)
		}
		var seen []string
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "node/") {
				seen = append(seen, strings.TrimSpace(line))
			}
		}
		if d := cmp.Diff([]string{"node/a: It waits.", "node/a: It is initialised."}, seen); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}
