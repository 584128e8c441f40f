package cloud

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/providers/static"
)

// written returns a Node in which a kubelet has written all the fields that it
// can.
func written(id string) *corev1.Node {
	n := node("n")
	n.Labels, n.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
	n.Spec.ProviderID = id
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "other"}}
	n.Status.NodeInfo.SystemUUID = "other"
	return n
}

func TestIdentityIsAskedByNameAndByID(t *testing.T) {
	var asked []*corev1.Node
	i := gateway(t, vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		asked = append(asked, n)
		return &cloudprovider.InstanceMetadata{ProviderID: "p://" + n.Name + n.Spec.ProviderID}, nil
	})}, Config{}).Instances()
	got, err := i.Identity(t.Context(), written("p://1"), "r")
	if err != nil {
		t.Fatal(err)
	}
	want := Identity{ByName: &Metadata{ProviderID: "p://n"}, ByID: &Metadata{ProviderID: "p://np://1"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Identity{}, "Asked")); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	seen := []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid-n"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid-n"}, Spec: corev1.NodeSpec{ProviderID: "p://1"}},
	}
	if diff := cmp.Diff(seen, asked); diff != "" {
		t.Errorf("the provider was shown (-want +got):\n%s", diff)
	}
	asked = nil
	if got, err := i.Identity(t.Context(), written(""), "r"); err != nil || got.ByID != nil || len(asked) != 1 {
		t.Errorf("%v, %v after %d calls for a Node without provider ID, want one by name", got, err, len(asked))
	}
}

// The provider "static" knows a machine only by labels, and a kubelet can set
// labels. So this provider confirms no machine, even if its file describes all
// Nodes.
func TestStaticIdentifiesNoMachine(t *testing.T) {
	p, err := static.New(strings.NewReader("nodes: [{selector: {}}]\nproviderID: static://home/{{name}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	instances, _ := p.InstancesV2()
	i := gateway(t, vendor{v2: instances}, Config{}).Instances()
	if got, err := i.Identity(t.Context(), written("static://home/n"), "r"); KindOf(err) != NotImplemented {
		t.Errorf("%+v, %v for a Node with a provider ID", got, err)
	}
	if got, err := i.Identity(t.Context(), written(""), "r"); err != nil || got.ByName != nil || got.ByID != nil {
		t.Errorf("%+v, %v for a Node without provider ID", got, err)
	}
}

func TestIdentityWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name         string
		byName, byID error
		kind         Kind
		named        bool
	}{
		{"Both", nil, nil, Succeeded, true},
		{"NoInstanceOfThatName", cloudprovider.InstanceNotFound, nil, NotFound, false},
		{"NoInstanceWithThatID", nil, cloudprovider.InstanceNotFound, NotFound, false},
		{"NoLookUpByName", cloudprovider.NotImplemented, nil, Succeeded, false},
		{"NameFails", errors.New("no"), nil, Failed, false},
		{"IDFails", nil, errors.New("no"), Failed, false},
		{"NoLookUpByID", nil, cloudprovider.NotImplemented, NotImplemented, false},
	} {
		i := gateway(t, vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if n.Spec.ProviderID == "" {
				return &cloudprovider.InstanceMetadata{ProviderID: "p://1"}, tt.byName
			}
			return &cloudprovider.InstanceMetadata{ProviderID: "p://1"}, tt.byID
		})}, Config{}).Instances()
		got, err := i.Identity(t.Context(), written("p://1"), "r")
		if KindOf(err) != tt.kind || (got.ByName != nil) != tt.named {
			t.Errorf("%s: by name %v, error %v, want kind %v", tt.name, got.ByName, err, tt.kind)
		}
	}
}

func TestIdentityByTheOlderInterface(t *testing.T) {
	old := &oldVendor{errs: map[string]error{}}
	i := gateway(t, vendor{v1: old}, Config{}).Instances()
	got, err := i.Identity(t.Context(), written("p://i-1"), "r")
	if err != nil || got.ByName.ProviderID != "p://i-1" || got.ByID.ProviderID != "p://i-1" {
		t.Errorf("%v, %v", got, err)
	}
	old.errs["InstanceID"] = cloudprovider.NotImplemented
	if got, err = i.Identity(t.Context(), written("p://i-1"), "r"); err != nil || got.ByName != nil {
		t.Errorf("by name %v, %v from a provider without provider IDs", got.ByName, err)
	}
}

// TestIdentityIsAskedForEachRequest shows that a request never gets the answer of a
// call that began before the request was known. That is true for a late answer,
// too.
func TestIdentityIsAskedForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		i := gateway(t, vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			calls.Add(1)
			time.Sleep(time.Minute)
			return &cloudprovider.InstanceMetadata{ProviderID: "p://1"}, nil
		})}, Config{CallerTimeout: 30 * time.Second}).Instances()
		before := time.Now()
		if _, err := i.Identity(t.Context(), written(""), "old"); KindOf(err) != Slow {
			t.Fatalf("error %v, want Slow", err)
		}
		time.Sleep(time.Second)
		if _, err := i.Identity(t.Context(), written(""), "new"); KindOf(err) != Slow || calls.Load() != 2 {
			t.Fatalf("error %v after %d calls, want a separate call", err, calls.Load())
		}
		began := before.Add(time.Minute) // when the first call has returned
		time.Sleep(time.Minute)
		for request, want := range map[string]time.Time{"old": before, "new": began} {
			if got, err := i.Identity(t.Context(), written(""), request); err != nil || !got.Asked.Equal(want) || calls.Load() != 2 {
				t.Errorf("%s: asked at %v, error %v, after %d calls", request, got.Asked, err, calls.Load())
			}
		}
	})
}

// TestIdentityQuestionsOfANodeFollowEachOther shows that the requests of one kubelet
// cause only one call at a time, and do not delay other Nodes.
func TestIdentityQuestionsOfANodeFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		i := gateway(t, vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if n.Name == "n" {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				time.Sleep(time.Second)
			}
			return &cloudprovider.InstanceMetadata{ProviderID: "p://1"}, nil
		})}, Config{CallerTimeout: 30 * time.Second}).Instances()
		began := time.Now()
		var all sync.WaitGroup
		for n := range 5 {
			all.Go(func() {
				if got, err := i.Identity(t.Context(), written(""), strconv.Itoa(n)); err != nil || got.Asked.Before(began) {
					t.Errorf("asked at %v, %v", got.Asked, err)
				}
			})
		}
		synctest.Wait()
		if _, err := i.Identity(t.Context(), node("other"), "r"); err != nil || time.Since(began) > 0 {
			t.Errorf("another Node: %v after %v", err, time.Since(began))
		}
		all.Wait()
		if most.Load() != 1 || time.Since(began) != 5*time.Second {
			t.Errorf("%d calls at a time, for %v in all", most.Load(), time.Since(began))
		}
	})
}

// TestIdentityQuestionThatWaitsEnds covers a question that has to wait because another
// question hangs. The waiting question ends when its own context ends, or when
// CallerTimeout has passed.
func TestIdentityQuestionThatWaitsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := gateway(t, vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			time.Sleep(time.Hour)
			return nil, errors.New("no")
		})}, Config{CallerTimeout: 30 * time.Second}).Instances()
		go func() { _, _ = i.Identity(t.Context(), written(""), "first") }()
		synctest.Wait()
		began := time.Now()
		if _, err := i.Identity(t.Context(), written(""), "second"); KindOf(err) != Slow || time.Since(began) != 30*time.Second {
			t.Errorf("%v after %v, want Slow after 30 s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := i.Identity(ctx, written(""), "third"); KindOf(err) != Canceled {
			t.Errorf("%v, want Canceled", err)
		}
		time.Sleep(time.Hour) // until the call returns
	})
}
