package volume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/testlog"
)

func TestMain(m *testing.M) { testlog.Run(m) }

// bed is the test bed: a cluster, a provider behind the gateway, and a controller. Each
// test runs in a synctest bubble.
type bed struct {
	t       *testing.T
	cluster *fake.Clientset
	running *Controller // after start
	stop    func()

	mu     sync.Mutex
	says   func(ctx context.Context, v *corev1.PersistentVolume) (map[string]string, error) // guarded by mu
	asked  []string                                                                         // guarded by mu
	events []string                                                                         // guarded by mu
}

// vendor is a provider that offers labels of volumes and nothing else.
type vendor struct {
	cloudprovider.Interface

	bed *bed
}

func (vendor) HasClusterID() bool                               { return true }
func (vendor) ProviderName() string                             { return "p" }
func (vendor) InstancesV2() (cloudprovider.InstancesV2, bool)   { return nil, false }
func (vendor) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (vendor) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (vendor) Routes() (cloudprovider.Routes, bool)             { return nil, false }

// GetLabelsForVolume implements cloudprovider.PVLabeler.
func (v vendor) GetLabelsForVolume(ctx context.Context, pv *corev1.PersistentVolume) (map[string]string, error) {
	v.bed.mu.Lock()
	v.bed.asked = append(v.bed.asked, pv.Name)
	says := v.bed.says
	v.bed.mu.Unlock()
	return says(ctx, pv)
}

// prepare returns a bed whose controller does not run yet.
func prepare(t *testing.T, volumes ...*corev1.PersistentVolume) *bed {
	t.Helper()
	var objects []runtime.Object
	for _, v := range volumes {
		v.ResourceVersion = "1"
		objects = append(objects, v)
	}
	return &bed{t: t, cluster: fake.NewClientset(objects...), says: func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
		return map[string]string{zone: "a", region: "r1"}, nil
	}}
}

// controller returns a controller that does not run, and its informers.
func (b *bed) controller(ctx context.Context) (*Controller, informers.SharedInformerFactory) {
	b.t.Helper()
	provider, err := cloud.Make(ctx, func(context.Context) (cloudprovider.Interface, error) { return vendor{bed: b}, nil })
	if err != nil {
		b.t.Fatal(err)
	}
	gateway, err := provider.Open(ctx, cloud.Config{})
	if err != nil {
		b.t.Fatal(err)
	}
	informers := kube.NewInformerFactory(b.cluster, time.Hour, nil)
	informer := informers.Core().V1().PersistentVolumes()
	return New(Deps{Volumes: kube.NewVolumes(ctx, b.cluster, informer), Informer: informer, Labeler: gateway.Volumes(), Events: b}), informers
}

func (b *bed) start() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	c, informers := b.controller(ctx)
	b.running = c
	informers.StartWithContext(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Run: %v", err)
		}
		informers.Shutdown()
	}
	time.Sleep(time.Second) // until the caches are full
}

// PersistentVolume implements recorder.
func (b *bed) PersistentVolume(v *corev1.PersistentVolume, _, reason, _ string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, v.Name+" "+reason)
}

func (b *bed) answer(f func(ctx context.Context, v *corev1.PersistentVolume) (map[string]string, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.says = f
}

// saw fails the test unless the questions and events since its last call are the wanted
// ones.
func (b *bed) saw(asked, events []string) {
	b.t.Helper()
	time.Sleep(time.Second) // The gateway delays failures that it cannot classify.
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(asked, b.asked); diff != "" {
		b.t.Errorf("asked about (-want +got):\n%s", diff)
	}
	b.recorded(events)
	b.asked = nil
}

// recorded fails the test unless the events since its last call are the wanted ones.
// The caller holds b.mu.
func (b *bed) recorded(events []string) {
	b.t.Helper()
	if diff := cmp.Diff(events, b.events); diff != "" {
		b.t.Errorf("events (-want +got):\n%s", diff)
	}
	b.events = nil
}

// shows fails the test unless the volume has the labels and the node affinity in want.
// The node affinity about a label has the key "affinity LABEL".
func (b *bed) shows(name string, want map[string]string) {
	b.t.Helper()
	synctest.Wait()
	v, err := b.cluster.CoreV1().PersistentVolumes().Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]string{}
	maps.Copy(got, v.Labels)
	if v.Spec.NodeAffinity != nil {
		for _, r := range v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions {
			got["affinity "+r.Key] = string(r.Operator) + " " + strings.Join(r.Values, ",")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("volume %s (-want +got):\n%s", name, diff)
	}
}

func named(name string, edits ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := volume(edits...)
	v.Name, v.UID = name, types.UID("u-"+name)
	return v
}

var placed = map[string]string{zone: "a", region: "r1", "affinity " + zone: "In a", "affinity " + region: "In r1"}

func none(context.Context, *corev1.PersistentVolume) (map[string]string, error) { return nil, nil }

// When the daemon starts, it labels the volumes that were made while it was down. It
// also labels a volume that is made while it runs. It asks the cloud once about each
// of them.
func TestVolumesMadeWhileTheDaemonWasDownAreLabelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("v1"), named("theirs", has(map[string]string{zone: "b"})))
		b.start()
		defer func() { b.stop() }()
		b.saw([]string{"v1"}, nil)
		b.shows("v1", placed)
		b.shows("theirs", map[string]string{zone: "b"})
		if _, err := b.cluster.CoreV1().PersistentVolumes().Create(t.Context(), named("v2"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		b.saw([]string{"v2"}, nil)
		b.shows("v2", placed)
		b.stop()
		b.start()
		time.Sleep(3 * time.Hour) // The informer lists all volumes again.
		b.saw(nil, nil)
	})
}

func TestProvidersThatDoNotAnswer(t *testing.T) {
	unknown := []string{"v VolumeTopologyUnknown"}
	for _, tt := range []struct {
		name   string
		says   func(ctx context.Context, v *corev1.PersistentVolume) (map[string]string, error)
		events []string
		again  bool // the provider is asked again
	}{
		{"Nil", none, nil, false},
		{"NotImplemented", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return nil, cloudprovider.NotImplemented
		}, nil, false},
		{"Error", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return map[string]string{zone: "a"}, errors.New("the volume does not exist")
		}, unknown, true},
		{"Empty", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return map[string]string{}, nil
		}, unknown, true},
		{"Panic", func(context.Context, *corev1.PersistentVolume) (map[string]string, error) { panic("broken") }, unknown, true},
		{"NilAfterTheDeadline", func(ctx context.Context, _ *corev1.PersistentVolume) (map[string]string, error) {
			<-ctx.Done()
			return nil, nil
		}, unknown, true}, // the kind of the error is Slow and TimedOut in turn
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := prepare(t, named("v"))
				b.answer(tt.says)
				b.start()
				defer func() { b.stop() }()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				b.mu.Lock()
				asked := len(b.asked)
				b.recorded(tt.events)
				b.mu.Unlock()
				if !tt.again && asked != 1 || asked > 12 {
					t.Errorf("asked %d times within 10 minutes", asked)
				}
				b.shows("v", map[string]string{})
				if !tt.again {
					return
				}
				b.answer(func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
					return map[string]string{zone: "a", region: "r1"}, nil
				})
				time.Sleep(longestPause + 6*time.Minute)
				b.shows("v", placed)
			})
		})
	}
}

// A provider that hangs for one volume is not asked a second time about that volume.
// The other volumes are labelled.
func TestSlowProviderDelaysNoOtherVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := prepare(t, named("slow"), named("v"))
		b.answer(func(_ context.Context, v *corev1.PersistentVolume) (map[string]string, error) {
			if v.Name == "slow" {
				<-release
			}
			return map[string]string{zone: "a", region: "r1"}, nil
		})
		b.start()
		defer func() { b.stop() }()
		time.Sleep(2 * time.Minute)
		b.shows("v", placed)
		b.shows("slow", map[string]string{})
		b.mu.Lock()
		if len(b.asked) != 2 {
			t.Errorf("asked about %v, want each once", b.asked)
		}
		b.asked = nil
		b.mu.Unlock()
		b.saw(nil, []string{"slow VolumeTopologyUnknown"})
		close(release)
		time.Sleep(3 * time.Minute)
		b.shows("slow", placed)
	})
}

// Labels that somebody removes are put back at most once in five minutes.
func TestRemovedLabelsAreNotPutBackEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("v"))
		b.start()
		defer func() { b.stop() }()
		for range 19 {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"labels": nil}})
			if _, err := b.cluster.CoreV1().PersistentVolumes().Patch(t.Context(), "v", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		b.saw([]string{"v", "v"}, nil) // at the start and after 5 minutes
		time.Sleep(showing.PutBackAfter)
		b.shows("v", placed)
	})
}

// A refused write is reported on the volume and tried again. A write that fails for
// another reason is not reported. It is tried again unless the volume is gone.
func TestRefusedWrites(t *testing.T) {
	gone := apierrors.NewNotFound(corev1.Resource("persistentvolumes"), "v")
	for _, tt := range []struct {
		name   string
		err    error
		events []string
		heals  bool
	}{
		{"Forbidden", apierrors.NewForbidden(corev1.Resource("persistentvolumes"), "v", errors.New("no")), []string{"v VolumeLabelsFailed"}, true},
		{"Stale", apierrors.NewConflict(corev1.Resource("persistentvolumes"), "v", errors.New("no")), nil, true},
		{"Broken", errors.New("connection reset"), nil, true},
		{"Gone", gone, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := prepare(t, named("v"))
				var healed atomic.Bool
				b.cluster.PrependReactor("patch", "persistentvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
					return !healed.Load(), nil, tt.err
				})
				b.start()
				defer func() { b.stop() }()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				b.mu.Lock()
				b.recorded(tt.events)
				b.mu.Unlock()
				healed.Store(true)
				time.Sleep(longestPause)
				if tt.heals {
					b.shows("v", placed)
				}
			})
		})
	}
}

// If a volume is deleted and made again, the cloud is asked about the new volume. The
// memories of deleted volumes are dropped.
func TestReplacedVolumeIsANewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t)
		b.answer(func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return nil, errors.New("no such volume")
		})
		b.start()
		defer func() { b.stop() }()
		volumes := b.cluster.CoreV1().PersistentVolumes()
		for n := range 3 {
			v := named("v")
			v.UID = types.UID(fmt.Sprint("u", n))
			if _, err := volumes.Create(t.Context(), v, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			b.saw([]string{"v"}, []string{"v VolumeTopologyUnknown"})
			if err := volumes.Delete(t.Context(), "v", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			b.saw(nil, nil)
		}
	})
}
