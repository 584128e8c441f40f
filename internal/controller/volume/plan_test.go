package volume

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Plan returns one step for a volume, and writes nothing. Each call returns the same
// step.
func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("bare"), named("labelled", has(map[string]string{zone: "a", region: "r1"})))
		b.answer(func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return map[string]string{zone: "a"}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		c, informers := b.controller(ctx)
		known, stop, err := c.Follow(ctx)
		if err != nil {
			t.Fatal(err)
		}
		informers.StartWithContext(ctx)
		cache.WaitForCacheSync(ctx.Done(), known)
		keys := c.Keys()
		slices.Sort(keys)
		if diff := cmp.Diff([]string{"bare", "labelled"}, keys); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		for range 2 {
			for name, want := range map[string]step.Step{
				"bare":     {Object: "volume/bare", Effect: step.Update, Do: string(write), Writes: []string{"label " + zone + `: "a"`, "node affinity added"}},
				"labelled": {Object: "volume/labelled", Effect: step.None, Do: string(leave)},
			} {
				got, err := c.Plan(ctx, name)
				if err != nil || len(got) != 1 || got[0].Why == "" {
					t.Fatalf("%s: steps %+v, error %v", name, got, err)
				}
				if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(step.Step{}, "Why", "After")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		}
		if got, err := c.Plan(ctx, "gone"); len(got) > 0 || err != nil {
			t.Errorf("a volume that does not exist: %+v, error %v", got, err)
		}
		for _, a := range b.cluster.Actions() {
			if !slices.Contains([]string{"list", "watch"}, a.GetVerb()) {
				t.Errorf("the API server got %s", a.GetVerb())
			}
		}
		b.answer(func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return nil, errors.New("the quota is used up")
		})
		b.asked = nil
		for range 600 { // a plan each second
			if _, err := c.Plan(ctx, "bare"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if n := len(b.asked); n < 2 || n > 20 {
			t.Errorf("%d calls of the cloud in 10 minutes, want growing pauses", n)
		}
		cancel()
		// The synctest bubble ends only after the queue's goroutines. Run ends them at
		// once, because ctx has ended.
		_ = c.Loop.Run(ctx)
		stop()
		informers.Shutdown()
	})
}
